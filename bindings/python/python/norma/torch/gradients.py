"""Which op is the gradient of which, and on what: for eager mode and for graphs at once.

Each class is torch's ``autograd.Function`` for eager mode, where it costs the host less than an op of the dispatcher does; its
``keep`` and ``backward`` are also what the custom op of the same name is registered with. ``keep`` is not called ``setup_context``, as
torch then reads the signature of ``forward`` at each call, which takes a fifth of a millisecond. Gradients call an op's launch where
tensors are plain, and the op where something traces.
"""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import Parameter

from norma.torch import launches, library

_dispatch_modes = torch._C._len_torch_dispatch_stack
_transforms_active = torch._C._are_functorch_transforms_active
_PLAIN = (Tensor, Parameter)


def is_plain(x: Tensor) -> bool:
    """Whether an op on x runs now: nothing traces, transforms or replaces tensors."""
    return (
        type(x) in _PLAIN and not torch.compiler.is_compiling() and _dispatch_modes() == 0 and not _transforms_active()
    )


def _call(name: str, probe: Tensor, *arguments):
    """The launch of an op, or the op where something traces."""
    return getattr(launches if is_plain(probe) else library, name)(*arguments)


class RMSNorm(Function):
    """x, weight, dims, eps, weight_offset, dtype -> y, rstd"""

    @staticmethod
    def forward(ctx, *inputs):
        x, *others = inputs
        y, _, rstd = launches.rms_norm(x, None, *others, True)
        RMSNorm.keep(ctx, inputs, (y, rstd))
        return y, rstd

    @staticmethod
    def keep(ctx, inputs, output):
        x, weight, *ctx.options, _ = inputs
        ctx.save_for_backward(x, weight, output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, _):
        if dy is None:
            return None, None, None, None, None, None
        x, weight, rstd = ctx.saved_tensors
        with_dweight = ctx.needs_input_grad[1]
        dx, dweight = _call("rms_norm_grad", dy, dy, x, weight, rstd, None, *ctx.options, with_dweight)
        return dx, dweight if with_dweight else None, None, None, None, None


class AddRMSNorm(Function):
    """x, residual, weight, dims, eps, weight_offset, dtype -> y, h, rstd"""

    @staticmethod
    def forward(ctx, *inputs):
        output = launches.rms_norm(*inputs, True)
        AddRMSNorm.keep(ctx, inputs, output)
        return output

    @staticmethod
    def keep(ctx, inputs, output):
        _, _, weight, *ctx.options, _ = inputs
        ctx.save_for_backward(output[1], weight, output[2])
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, dh, _):
        if dy is None:
            return dh, dh, None, None, None, None, None
        h, weight, rstd = ctx.saved_tensors
        with_dweight = ctx.needs_input_grad[2]
        dx, dweight = _call("rms_norm_grad", dy, dy, h, weight, rstd, dh, *ctx.options, with_dweight)
        return dx, dx, dweight if with_dweight else None, None, None, None, None


class LayerNorm(Function):
    """x, weight, bias, dims, eps, dtype -> y, mean, rstd"""

    @staticmethod
    def forward(ctx, *inputs):
        output = launches.layer_norm(*inputs, True)
        LayerNorm.keep(ctx, inputs, output)
        return output

    @staticmethod
    def keep(ctx, inputs, output):
        x, weight, bias, *ctx.options, _ = inputs
        ctx.save_for_backward(x, weight, bias, output[1], output[2])
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, _, __):
        if dy is None:
            return None, None, None, None, None, None
        _, with_dweight, with_dbias, *_ = ctx.needs_input_grad
        wanted = with_dweight, with_dbias
        dx, dweight, dbias = _call("layer_norm_grad", dy, dy, *ctx.saved_tensors, *ctx.options, *wanted)
        return dx, dweight if with_dweight else None, dbias if with_dbias else None, None, None, None


def _keep_result(ctx, inputs, output):
    x, ctx.dim, _ = inputs
    ctx.dtype = x.dtype
    ctx.save_for_backward(output)


def _softmax_backward(op: str, ctx, dy):
    (y,) = ctx.saved_tensors
    if is_plain(dy):
        return launches.softmax_grad(op, dy, y, ctx.dim, ctx.dtype), None, None
    return getattr(library, f"{op}_grad")(dy, y, ctx.dim, ctx.dtype), None, None


class Softmax(Function):
    """x, dim, dtype -> y"""

    keep = staticmethod(_keep_result)

    @staticmethod
    def forward(ctx, *inputs):
        output = launches.softmax("softmax", *inputs)
        _keep_result(ctx, inputs, output)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        return _softmax_backward("softmax", ctx, dy)


class LogSoftmax(Function):
    """x, dim, dtype -> y"""

    keep = staticmethod(_keep_result)

    @staticmethod
    def forward(ctx, *inputs):
        output = launches.softmax("log_softmax", *inputs)
        _keep_result(ctx, inputs, output)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        return _softmax_backward("log_softmax", ctx, dy)


class CrossEntropy(Function):
    """logits, labels, weight, ignore_index, label_smoothing, z_loss, softcap -> loss, lse"""

    @staticmethod
    def forward(ctx, *inputs):
        output = launches.cross_entropy(*inputs)
        CrossEntropy.keep(ctx, inputs, output)
        return output

    @staticmethod
    def keep(ctx, inputs, output):
        logits, labels, weight, *ctx.options = inputs
        ctx.save_for_backward(logits, labels, output[1], weight)
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx, dloss, _):
        if dloss is None:
            return None, None, None, None, None, None, None
        dlogits = _call("cross_entropy_grad", dloss, dloss, *ctx.saved_tensors, *ctx.options)
        return dlogits, None, None, None, None, None, None


for _op, _function in (
    (library.rms_norm, RMSNorm),
    (library.add_rms_norm, AddRMSNorm),
    (library.layer_norm, LayerNorm),
    (library.softmax, Softmax),
    (library.log_softmax, LogSoftmax),
    (library.cross_entropy, CrossEntropy),
):
    _op.register_autograd(_function.backward, setup_context=_function.keep)
