"""The gradients of the ops, for eager mode and for graphs.

Each class is torch's ``autograd.Function`` for eager mode, where it costs the host less than an op of the dispatcher. Its
``keep`` and ``backward`` are also registered with the custom op of the same name. ``keep`` is not called ``setup_context``, because
torch would then read the signature of ``forward`` at each call, which takes a fifth of a millisecond. In eager mode the options are one
argument, because each argument of its own costs time in both directions. A backward gets what was saved as its second argument, and calls
a gradient's launch if tensors are plain, and its op if something traces.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

from norma.errors import UnsupportedError
from norma.torch import launches, library, support
from norma.torch.kernels import PLAIN

_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_transforms_active = torch._C._are_functorch_transforms_active
_is_traced = torch._C._is_tracing
_is_included = torch._C._dispatch_tls_is_dispatch_key_included
_PRE_DISPATCH = torch._C.DispatchKey.PreDispatch


def is_plain(x: object) -> bool:
    """Whether an op on x runs immediately: nothing traces, transforms or replaces tensors, and none has a derivative of its own."""
    return (
        type(x) in PLAIN
        and not torch.compiler.is_compiling()
        and _dispatch_modes() == 0
        and not _transforms_active()
        and not _is_traced()
        # A tracer before dispatch also has a mode of functions, whose number costs the host less than the question for the key.
        and (_function_modes() == 0 or not _is_included(_PRE_DISPATCH))
        and forward_ad._current_level < 0
    )


def _once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a backward whose results cannot be differentiated.

    Torch's ``once_differentiable`` only looks at the incoming gradients. Those of a loss that comes last do not require grad, although the
    results depend on what was saved, whose derivatives would then be zero without an error.
    """

    def run(ctx, saved, gradients):
        try:
            return backward(ctx, saved, *gradients)
        except Exception as error:
            if reason := support.batched(*gradients):
                raise UnsupportedError(reason) from error
            raise

    def chosen(ctx, *gradients):
        # Read once, as torch's checkpoints demand.
        saved = ctx.saved_tensors
        if not torch.is_grad_enabled():
            return run(ctx, saved, gradients)
        with torch.no_grad():
            results = run(ctx, saved, gradients)
        sources = [tensor for tensor in (*gradients, *saved) if tensor is not None and tensor.requires_grad]
        return _without_derivatives(results, sources) if sources else results

    return staticmethod(chosen)


class _Failing(Function):
    """number, results, sources -> results, of which derivatives by the sources are an error.

    The node that torch's ``once_differentiable`` makes is not connected to the sources. Autograd leaves it out, and takes derivatives for
    zero, if it is asked for those by given inputs, as ``torch.autograd.functional.hessian`` does.
    """

    @staticmethod
    def forward(ctx, number, *tensors):
        # Detached, because a result may be an incoming gradient, which is left as it is.
        return tuple(tensor.detach() for tensor in tensors[:number])

    @staticmethod
    def backward(ctx, *_):
        raise UnsupportedError(support.WITHOUT_SECOND_DERIVATIVES)


def _without_derivatives(results: Any, sources: list[Tensor]) -> Any:
    """The results of a backward, which raise an error where they are differentiated by what they depend on."""
    results = results if isinstance(results, tuple) else (results,)
    tensors = [result for result in results if isinstance(result, Tensor)]
    failing = iter(_Failing.apply(len(tensors), *tensors, *sources))
    return tuple(next(failing) if isinstance(result, Tensor) else result for result in results)


class RMSNorm(Function):
    """x, weight, (dims, eps, weight_offset, dtype) -> y"""

    @staticmethod
    def forward(ctx, x, weight, options):
        y, rstd = launches.rms_norm(x, None, weight, *options, True)
        RMSNorm.keep(ctx, (x, weight, *options), (y, rstd))
        return y

    @staticmethod
    def keep(ctx, inputs, output):
        x, weight, *ctx.options, _ = inputs
        ctx.save_for_backward(x, weight, output[1])
        ctx.set_materialize_grads(False)

    @_once
    def backward(ctx, saved, dy, *_):
        if dy is None:
            return None, None, None, None, None, None
        x, weight, rstd = saved
        with_dweight = ctx.needs_input_grad[1]
        op = launches.rms_norm_grad if is_plain(dy) else library.rms_norm_grad
        dx, *dweight = op(dy, x, weight, rstd, None, *ctx.options, with_dweight)
        return dx, dweight[0] if with_dweight else None, None, None, None, None


class AddRMSNorm(Function):
    """x, residual, weight, (dims, eps, weight_offset, dtype) -> y, h"""

    @staticmethod
    def forward(ctx, x, residual, weight, options):
        output = launches.rms_norm(x, residual, weight, *options, True)
        AddRMSNorm.keep(ctx, (x, residual, weight, *options), output)
        return output[:2]

    @staticmethod
    def keep(ctx, inputs, output):
        _, _, weight, *ctx.options, _ = inputs
        ctx.save_for_backward(output[1], weight, output[2])
        ctx.set_materialize_grads(False)

    @_once
    def backward(ctx, saved, dy, dh, *_):
        if dy is None:
            return dh, dh, None, None, None, None, None
        h, weight, rstd = saved
        with_dweight = ctx.needs_input_grad[2]
        op = launches.rms_norm_grad if is_plain(dy) else library.rms_norm_grad
        dx, *dweight = op(dy, h, weight, rstd, dh, *ctx.options, with_dweight)
        return dx, dx, dweight[0] if with_dweight else None, None, None, None, None


class LayerNorm(Function):
    """x, weight, bias, (dims, eps, dtype) -> y"""

    @staticmethod
    def forward(ctx, x, weight, bias, options):
        output = launches.layer_norm(x, weight, bias, *options, True)
        LayerNorm.keep(ctx, (x, weight, bias, *options), output)
        return output[0]

    @staticmethod
    def keep(ctx, inputs, output):
        x, weight, bias, *ctx.options, _ = inputs
        ctx.types = tuple(None if operand is None else operand.dtype for operand in (weight, bias))
        ctx.save_for_backward(x, weight, output[1], output[2])
        ctx.set_materialize_grads(False)

    @_once
    def backward(ctx, saved, dy, *_):
        if dy is None:
            return None, None, None, None, None, None
        _, with_dweight, with_dbias, *_ = ctx.needs_input_grad
        of_weight, of_bias = ctx.types
        wanted = of_weight if with_dweight else None, of_bias if with_dbias else None
        op = launches.layer_norm_grad if is_plain(dy) else library.layer_norm_grad
        dx, *others = op(dy, *saved, *ctx.options, *wanted)
        dweight = others[0] if with_dweight else None
        return dx, dweight, others[-1] if with_dbias else None, None, None, None


def _keep_result(ctx, inputs, output):
    x, ctx.dim, _ = inputs
    ctx.dtype = x.dtype
    ctx.save_for_backward(output)


class Softmax(Function):
    """x, dim, dtype -> y"""

    keep = staticmethod(_keep_result)

    @staticmethod
    def forward(ctx, *inputs):
        output = launches.softmax("softmax", *inputs)
        _keep_result(ctx, inputs, output)
        return output

    @_once
    def backward(ctx, saved, dy):
        (y,) = saved
        if is_plain(dy):
            return launches.softmax_grad("softmax", dy, y, ctx.dim, ctx.dtype), None, None
        return library.softmax_grad(dy, y, ctx.dim, ctx.dtype), None, None


class LogSoftmax(Function):
    """x, dim, dtype -> y"""

    keep = staticmethod(_keep_result)

    @staticmethod
    def forward(ctx, *inputs):
        output = launches.softmax("log_softmax", *inputs)
        _keep_result(ctx, inputs, output)
        return output

    @_once
    def backward(ctx, saved, dy):
        (y,) = saved
        if is_plain(dy):
            return launches.softmax_grad("log_softmax", dy, y, ctx.dim, ctx.dtype), None, None
        return library.log_softmax_grad(dy, y, ctx.dim, ctx.dtype), None, None


class TopK(Function):
    """x, k -> values, indices"""

    @staticmethod
    def forward(ctx, x, k):
        output = launches.top_k(x, k)
        TopK.keep(ctx, (x, k), output)
        return output

    @staticmethod
    def keep(ctx, inputs, output):
        x, _ = inputs
        ctx.elements, ctx.dtype = x.shape[-1], x.dtype
        _, indices = output
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.set_materialize_grads(False)

    @_once
    def backward(ctx, saved, dvalues, _):
        if dvalues is None:
            return None, None
        (indices,) = saved
        op = launches.top_k_grad if is_plain(dvalues) else library.top_k_grad
        return op(dvalues, indices, ctx.elements, ctx.dtype), None


class CrossEntropy(Function):
    """logits, labels, weight, (reduction, dtype, ignore_index, label_smoothing, z_loss, softcap) -> loss"""

    @staticmethod
    def forward(ctx, logits, labels, weight, options):
        loss, lse, *total = launches.cross_entropy(logits, labels, weight, *options, True)
        CrossEntropy.keep(ctx, (logits, labels, weight, *options), (loss, lse, total[0] if total else None))
        return loss

    @staticmethod
    def keep(ctx, inputs, output):
        logits, labels, weight, reduction, _, *options = inputs
        ctx.options = reduction, *options
        _, lse, total = output
        ctx.save_for_backward(logits, labels, lse, total if reduction == "mean" else None, weight)
        ctx.set_materialize_grads(False)

    @_once
    def backward(ctx, saved, dloss, *_):
        if dloss is None:
            return None, None, None, None, None, None, None, None, None
        op = launches.cross_entropy_grad if is_plain(dloss) else library.cross_entropy_grad
        dlogits = op(dloss, *saved, *ctx.options)
        return dlogits, None, None, None, None, None, None, None, None


def _recorded(function: type[Function]) -> Callable[..., Any]:
    """``function.apply`` without the work that torch does in Python for its transforms, which are not active here."""
    return super(Function, function).apply


rms_norm = _recorded(RMSNorm)
add_rms_norm = _recorded(AddRMSNorm)
layer_norm = _recorded(LayerNorm)
softmax = _recorded(Softmax)
log_softmax = _recorded(LogSoftmax)
top_k = _recorded(TopK)
cross_entropy = _recorded(CrossEntropy)

for _op, _function in (
    (library.rms_norm, RMSNorm),
    (library.add_rms_norm, AddRMSNorm),
    (library.layer_norm, LayerNorm),
    (library.softmax, Softmax),
    (library.log_softmax, LogSoftmax),
    (library.top_k, TopK),
    (library.cross_entropy, CrossEntropy),
):
    _op.register_autograd(_function.backward, setup_context=_function.keep)
