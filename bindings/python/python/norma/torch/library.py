"""The ops as torch sees them, ``torch.ops.norma.*``: tracing records them, and traced graphs call them.

Each op is functional and has a fake implementation that returns empty results, so that a graph keeps it as one node. Gradients
are ops as well; :mod:`norma.torch.gradients` connects them to the ops.
"""

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.library import custom_op

from norma.errors import UnsupportedError
from norma.torch import launches, support
from norma.torch.quantization import Quantization, rows_of


#: What each op runs on a GPU, by the op's name.
IMPLEMENTATIONS: dict[str, Callable[..., Tensor | tuple[Tensor, ...]]] = {}


def _op(function):
    name = function.__name__
    IMPLEMENTATIONS[name] = function

    @functools.wraps(function)
    def run(*arguments):
        # Torch calls an op that has no rule for derivatives in forward mode as if its results had none.
        if reason := support.dual(name, *arguments):
            raise UnsupportedError(reason)
        return function(*arguments)

    return custom_op(f"norma::{name}", mutates_args=(), device_types="cuda")(run)


def _like(x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """A new dense tensor with x's shape."""
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


def _rows(x: Tensor, dims: int) -> Tensor:
    """A new float32 tensor with an element for each row."""
    return x.new_empty(x.shape[: x.dim() - dims], dtype=torch.float32)


def _nothing(x: Tensor) -> Tensor:
    """Stands for a result that is not computed, because ops cannot have optional results."""
    return x.new_empty((0,))


def _or_nothing(x: Tensor, result: tuple[Tensor, ...]) -> Tensor:
    return result[0] if result else _nothing(x)


@_op
def rms_norm(
    x: Tensor, weight: Tensor | None, dims: int, eps: float, weight_offset: float, dtype: torch.dtype | None
) -> tuple[Tensor, Tensor]:
    return launches.rms_norm(x, None, weight, dims, eps, weight_offset, dtype, True)


@rms_norm.register_fake
def _(x, weight, dims, eps, weight_offset, dtype):
    return _like(x, dtype), _rows(x, dims)


@_op
def add_rms_norm(
    x: Tensor,
    residual: Tensor,
    weight: Tensor | None,
    dims: int,
    eps: float,
    weight_offset: float,
    dtype: torch.dtype | None,
) -> tuple[Tensor, Tensor, Tensor]:
    return launches.rms_norm(x, residual, weight, dims, eps, weight_offset, dtype, True)


@add_rms_norm.register_fake
def _(x, residual, weight, dims, eps, weight_offset, dtype):
    return _like(x, dtype), _like(x), _rows(x, dims)


@_op
def rms_norm_grad(
    dy: Tensor,
    x: Tensor,
    weight: Tensor | None,
    rstd: Tensor,
    residual: Tensor | None,
    dims: int,
    eps: float,
    weight_offset: float,
    with_dweight: bool,
) -> tuple[Tensor, Tensor]:
    dx, *dweight = launches.rms_norm_grad(dy, x, weight, rstd, residual, dims, eps, weight_offset, with_dweight)
    return dx, _or_nothing(x, dweight)


@rms_norm_grad.register_fake
def _(dy, x, weight, rstd, residual, dims, eps, weight_offset, with_dweight):
    return _like(x), _like(weight) if with_dweight and weight is not None else _nothing(x)


@_op
def layer_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    dims: int,
    eps: float,
    dtype: torch.dtype | None,
) -> tuple[Tensor, Tensor, Tensor]:
    return launches.layer_norm(x, weight, bias, dims, eps, dtype, True)


@layer_norm.register_fake
def _(x, weight, bias, dims, eps, dtype):
    return _like(x, dtype), _rows(x, dims), _rows(x, dims)


@_op
def layer_norm_grad(
    dy: Tensor,
    x: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    dims: int,
    eps: float,
    dweight: torch.dtype | None,
    dbias: torch.dtype | None,
) -> tuple[Tensor, Tensor, Tensor]:
    dx, *others = launches.layer_norm_grad(dy, x, weight, mean, rstd, dims, eps, dweight, dbias)
    return dx, _or_nothing(x, others[:1] if dweight else ()), _or_nothing(x, others[-1:] if dbias else ())


@layer_norm_grad.register_fake
def _(dy, x, weight, mean, rstd, dims, eps, dweight, dbias):
    row = x.shape[x.dim() - dims :]
    dparameters = (x.new_empty(row, dtype=dtype) if dtype else _nothing(x) for dtype in (dweight, dbias))
    return _like(x), *dparameters


@_op
def softmax(x: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
    return launches.softmax("softmax", x, dim, dtype)


@_op
def log_softmax(x: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
    return launches.softmax("log_softmax", x, dim, dtype)


@softmax.register_fake
@log_softmax.register_fake
def _(x, dim, dtype):
    return _like(x, dtype)


@_op
def softmax_grad(dy: Tensor, y: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    return launches.softmax_grad("softmax", dy, y, dim, dtype)


@_op
def log_softmax_grad(dy: Tensor, y: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    return launches.softmax_grad("log_softmax", dy, y, dim, dtype)


@softmax_grad.register_fake
@log_softmax_grad.register_fake
def _(dy, y, dim, dtype):
    return _like(y, dtype)


@_op
def top_k(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    return launches.top_k(x, k)


@top_k.register_fake
def _(x, k):
    shape = (*x.shape[:-1], k)
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


@_op
def top_k_grad(dvalues: Tensor, indices: Tensor, elements: int, dtype: torch.dtype) -> Tensor:
    return launches.top_k_grad(dvalues, indices, elements, dtype)


@top_k_grad.register_fake
def _(dvalues, indices, elements, dtype):
    return dvalues.new_empty((*dvalues.shape[:-1], elements), dtype=dtype)


@_op
def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    weight: Tensor | None,
    reduction: str,
    dtype: torch.dtype | None,
    ignore_index: int,
    label_smoothing: float,
    z_loss: float,
    softcap: float,
) -> tuple[Tensor, Tensor, Tensor]:
    options = reduction, dtype, ignore_index, label_smoothing, z_loss, softcap
    loss, lse, *total = launches.cross_entropy(logits, labels, weight, *options, True)
    return loss, lse, _or_nothing(lse, total)


@cross_entropy.register_fake
def _(logits, labels, weight, reduction, dtype, ignore_index, label_smoothing, z_loss, softcap):
    rows = list(logits.shape)
    del rows[launches.class_dim(logits)]
    loss = logits.new_empty(rows if reduction == "none" else (), dtype=dtype or logits.dtype)
    lse = logits.new_empty(rows, dtype=torch.float32)
    return loss, lse, lse.new_empty(() if reduction == "mean" else (0,))


@_op
def cross_entropy_grad(
    dloss: Tensor,
    logits: Tensor,
    labels: Tensor,
    lse: Tensor,
    total: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    z_loss: float,
    softcap: float,
) -> Tensor:
    options = reduction, ignore_index, label_smoothing, z_loss, softcap
    return launches.cross_entropy_grad(dloss, logits, labels, lse, total, weight, *options)


@cross_entropy_grad.register_fake
def _(dloss, logits, labels, lse, total, weight, reduction, ignore_index, label_smoothing, z_loss, softcap):
    return _like(logits)


def _quantized(x: Tensor, shape: tuple[int, ...], scale: Tensor | None, quantization: Quantization):
    """New tensors for the elements, and for the scales of a tensor of this shape unless they are given."""
    q = x.new_empty(quantization.packed(x.shape), dtype=quantization.dtype)
    if scale is not None:
        return q, _nothing(x)
    return q, x.new_empty(quantization.stored(shape), dtype=quantization.scale_dtype)


@_op
def quantize(
    x: Tensor,
    scale: Tensor | None,
    tensor_scale: Tensor | None,
    block: Sequence[int],
    dtype: torch.dtype,
    scale_dtype: torch.dtype,
    layout: str,
    power_of_two: bool,
    round_down: bool,
) -> tuple[Tensor, Tensor]:
    quantization = Quantization(tuple(block), dtype, scale_dtype, layout, power_of_two, round_down)
    q, *computed = launches.quantize(x, scale, tensor_scale, quantization)
    return q, _or_nothing(x, computed)


@quantize.register_fake
def _(x, scale, tensor_scale, block, dtype, scale_dtype, layout, power_of_two, round_down):
    return _quantized(x, x.shape, scale, Quantization(tuple(block), dtype, scale_dtype, layout))


@_op
def dequantize(
    q: Tensor,
    scale: Tensor,
    tensor_scale: Tensor | None,
    block: Sequence[int],
    layout: str,
    dtype: torch.dtype,
) -> Tensor:
    return launches.dequantize(q, scale, tensor_scale, Quantization(tuple(block), q.dtype, scale.dtype, layout), dtype)


@dequantize.register_fake
def _(q, scale, tensor_scale, block, layout, dtype):
    quantization = Quantization(tuple(block), q.dtype, scale.dtype, layout)
    return q.new_empty(quantization.unpacked(q.shape), dtype=dtype)


@_op
def rms_norm_quantize(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor | None,
    scale: Tensor | None,
    tensor_scale: Tensor | None,
    dims: int,
    eps: float,
    weight_offset: float,
    block: Sequence[int],
    dtype: torch.dtype,
    scale_dtype: torch.dtype,
    layout: str,
    power_of_two: bool,
    round_down: bool,
    output_dtype: torch.dtype | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    quantization = Quantization(tuple(block), dtype, scale_dtype, layout, power_of_two, round_down)
    operands = x, residual, weight, scale, tensor_scale
    made = iter(launches.rms_norm_quantize(*operands, dims, eps, weight_offset, quantization, output_dtype))
    present = True, scale is None, residual is not None, output_dtype is not None
    q, computed, h, y = (next(made) if is_there else _nothing(x) for is_there in present)
    return q, computed, h, y


@rms_norm_quantize.register_fake
def _(
    x,
    residual,
    weight,
    scale,
    tensor_scale,
    dims,
    eps,
    weight_offset,
    block,
    dtype,
    scale_dtype,
    layout,
    power_of_two,
    round_down,
    output_dtype,
):
    quantization = Quantization(tuple(block), dtype, scale_dtype, layout)
    q, computed = _quantized(x, rows_of(x.shape, dims), scale, quantization)
    h = _nothing(x) if residual is None else _like(x)
    return q, computed, h, _nothing(x) if output_dtype is None else _like(x, output_dtype)


@_op
def router(
    logits: Tensor, bias: Tensor | None, k: int, scoring: str, renormalize: bool, scale: float
) -> tuple[Tensor, Tensor]:
    return launches.router(logits, bias, k, scoring, renormalize, scale)


@router.register_fake
def _(logits, bias, k, scoring, renormalize, scale):
    shape = (*logits.shape[:-1], k)
    return logits.new_empty(shape, dtype=torch.float32), logits.new_empty(shape, dtype=torch.int32)
