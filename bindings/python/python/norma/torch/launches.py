"""The ops on plain tensors: kernels are launched on new results, and no gradients are recorded.

These functions run in eager mode and implement the custom ops of :mod:`norma.torch.library`. ``dims`` is the number of dims at the end
that are normalized. Docstrings list the results; those in brackets are only returned if asked for.
"""

import math

from torch import Tensor
import torch

from norma.torch import programs, support
from norma.torch.kernels import Op
from norma.torch.quantization import PACKED, Quantization

_RMS_NORM = Op(programs.rms_norm, support.of_rms_norm, has_gradients=True)
_RMS_NORM_GRAD = Op(programs.rms_norm_grad)
_LAYER_NORM = Op(programs.layer_norm, support.of_layer_norm, has_gradients=True)
_LAYER_NORM_GRAD = Op(programs.layer_norm_grad)
_SOFTMAX = Op(programs.softmax, support.of_softmax)
_SOFTMAX_GRAD = Op(programs.softmax_grad)
_TOP_K = Op(programs.top_k, support.of_top_k)
_TOP_K_GRAD = Op(programs.top_k_grad)
_CROSS_ENTROPY = Op(programs.cross_entropy, support.of_cross_entropy, has_gradients=True)
_CROSS_ENTROPY_GRAD = Op(programs.cross_entropy_grad)
_QUANTIZE = Op(programs.quantize, support.of_quantize)
_DEQUANTIZE = Op(programs.dequantize, support.of_dequantize)
_RMS_NORM_QUANTIZE = Op(programs.rms_norm_quantize, support.of_rms_norm_quantize)
_ROUTER = Op(programs.router, support.of_router)


def rms_norm(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor | None,
    dims: int,
    eps: float,
    weight_offset: float,
    dtype: torch.dtype | None,
    with_rstd: bool,
) -> tuple[Tensor, ...]:
    """y, [h], [rstd]; with a residual, the sum h = x + residual is normalized."""
    return _RMS_NORM(dims, (eps, weight_offset, dtype, with_rstd), x, residual, weight)


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
) -> tuple[Tensor, ...]:
    """dx, [dweight]"""
    return _RMS_NORM_GRAD(dims, (eps, weight_offset, with_dweight), x, dy, weight, rstd, residual)


def layer_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    dims: int,
    eps: float,
    dtype: torch.dtype | None,
    with_statistics: bool,
) -> tuple[Tensor, ...]:
    """y, [mean], [rstd]"""
    return _LAYER_NORM(dims, (eps, dtype, with_statistics), x, weight, bias)


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
) -> tuple[Tensor, ...]:
    """dx, [dweight], [dbias]; ``dweight`` and ``dbias`` are the types of the last two, or ``None``."""
    return _LAYER_NORM_GRAD(dims, (eps, dweight, dbias), x, dy, weight, mean, rstd)


def _along(x: Tensor, dim: int) -> tuple[int, tuple[int, ...] | None]:
    """How a program views rows of x along ``dim``: the number of dims at the end that belong to a row, and the shape with which it views x,
    unless that is x's own. All dims after ``dim`` are merged into one."""
    behind = x.dim() - dim - 1
    if behind == 0:
        return 1, None
    count = math.prod(x.shape[dim + 1 :])
    if count == 1 or behind == 1 == dim:
        return behind + 1, None
    return 2, (math.prod(x.shape[:dim]), x.shape[dim], count)


def softmax(op: str, x: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
    """y of softmax or log_softmax, along ``dim``, which must not be negative."""
    row_dims, seen = _along(x, dim)
    if seen is None:
        return _SOFTMAX(row_dims, (op, dtype), x)[0]
    return _SOFTMAX(row_dims, (op, dtype), x.reshape(seen))[0].view(x.shape)


def softmax_grad(op: str, dy: Tensor, y: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    """dx, of type ``dtype``."""
    row_dims, seen = _along(y, dim)
    if seen is None:
        return _SOFTMAX_GRAD(row_dims, (op, dtype), y, dy)[0]
    return _SOFTMAX_GRAD(row_dims, (op, dtype), y.reshape(seen), dy.reshape(seen))[0].view(y.shape)


def top_k(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The values and indices of the k largest elements along the last dim, sorted."""
    return _TOP_K(1, (k,), x)


def top_k_grad(dvalues: Tensor, indices: Tensor, elements: int, dtype: torch.dtype) -> Tensor:
    """dx, of type ``dtype``, with ``elements`` elements along the last dim."""
    return _TOP_K_GRAD(1, (elements, dtype), dvalues, indices)[0]


def class_dim(logits: Tensor) -> int:
    """The dim of classes: 0 if there is only one dim, otherwise 1."""
    return 0 if logits.dim() == 1 else 1


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
    for_gradients: bool,
) -> tuple[Tensor, ...]:
    """The loss, reduced by ``reduction``; for gradients also each row's logarithm of the sum of exponentials, and the divisor of a mean."""
    options = reduction, dtype, ignore_index, label_smoothing, z_loss, softcap, for_gradients
    row_dims, seen = _along(logits, class_dim(logits))
    if seen is None:
        return _CROSS_ENTROPY(row_dims, options, logits, labels, weight)
    of_rows = labels.reshape(seen[0], seen[2])
    results = _CROSS_ENTROPY(row_dims, options, logits.reshape(seen), of_rows, weight)
    return tuple(result.view(labels.shape) if result.dim() else result for result in results)


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
    """dlogits; ``dloss`` is the gradient of each row's loss, or of the sum or mean. A mean was divided by ``total``."""
    options = reduction, ignore_index, label_smoothing, z_loss, softcap
    row_dims, seen = _along(logits, class_dim(logits))
    if seen is None:
        return _CROSS_ENTROPY_GRAD(row_dims, options, logits, labels, dloss, total, lse, weight)[0]
    labels, dloss, lse = (
        operand.reshape(seen[0], seen[2]) if operand.dim() else operand for operand in (labels, dloss, lse)
    )
    operands = logits.reshape(seen), labels, dloss, total, lse, weight
    return _CROSS_ENTROPY_GRAD(row_dims, options, *operands)[0].view(logits.shape)


def _as_matrices(x: Tensor, quantization: Quantization) -> tuple[Tensor, bool]:
    """How a program views x, and whether that is a batch of matrices: blocks of several rows need rows that are not merged with the
    dims before them, all of which are one dim."""
    if not quantization.needs_matrices or x.dim() <= 2:
        return x, False
    return (x if x.dim() == 3 else x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])), True


def quantize(
    x: Tensor, scale: Tensor | None, tensor_scale: Tensor | None, quantization: Quantization
) -> tuple[Tensor, ...]:
    """q, [scale]; the scale as a kernel stores it, unless it is given."""
    seen, is_batched = _as_matrices(x, quantization)
    is_reshaped = seen is not x
    if is_reshaped and scale is not None:
        scale = scale.reshape(seen.shape[0], *scale.shape[-2:])
    q, *computed = _QUANTIZE(1, (quantization, is_batched), seen, scale, tensor_scale)
    if is_reshaped:
        q = q.view(quantization.packed(x.shape))
        computed = [scale.view(quantization.stored(x.shape)) for scale in computed]
    return q.view(PACKED) if quantization.is_packed else q, *computed


def dequantize(
    q: Tensor, scale: Tensor, tensor_scale: Tensor | None, quantization: Quantization, dtype: torch.dtype
) -> Tensor:
    """y, of type ``dtype``."""
    seen, is_batched = _as_matrices(q, quantization)
    is_reshaped = seen is not q
    if is_reshaped:
        scale = scale.reshape(seen.shape[0], *scale.shape[-2:])
    if quantization.is_packed:
        seen = seen.view(torch.int8)
    (y,) = _DEQUANTIZE(1, (quantization, dtype, is_batched), seen, scale, tensor_scale)
    return y.view(quantization.unpacked(q.shape)) if is_reshaped else y


def rms_norm_quantize(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor | None,
    scale: Tensor | None,
    tensor_scale: Tensor | None,
    dims: int,
    eps: float,
    weight_offset: float,
    quantization: Quantization,
    dtype: torch.dtype | None,
) -> tuple[Tensor, ...]:
    """q, [scale], [h], [y]; with a residual, the sum h = x + residual is normalized, and y, of type ``dtype``, is what is quantized."""
    options = eps, weight_offset, quantization, dtype
    q, *others = _RMS_NORM_QUANTIZE(dims, options, x, residual, weight, scale, tensor_scale)
    if quantization.is_packed:
        q = q.view(quantization.packed(x.shape)).view(PACKED)
    return q, *others


def router(
    logits: Tensor, bias: Tensor | None, k: int, scoring: str, renormalize: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """weights, indices"""
    return _ROUTER(1, (k, scoring, renormalize, scale), logits, bias)
