"""Drop-in replacements for functions of ``torch.nn.functional``: the same arguments, results and types.

Whether there is a kernel is checked here before a tracer records an op, and otherwise by :class:`norma.torch.kernels.Op` at the first
call of a kind. Only properties that the op does not see are checked at each call.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from norma.errors import UnsupportedError
from norma.torch import gradients, launches, library, support
from norma.torch.gradients import is_plain


def _supported(reason: str | None) -> None:
    if reason is not None:
        raise UnsupportedError(reason)


def _records(*tensors: Tensor | None) -> bool:
    """Whether autograd records an op on these tensors."""
    if torch.is_grad_enabled():
        for tensor in tensors:
            if tensor is not None and tensor.requires_grad:
                return True
    return False


def _wide_under_autocast(dtype: torch.dtype) -> torch.dtype | None:
    """float32 where torch's autocast would return it for a result of type ``dtype``; ``None`` if the type does not change."""
    return torch.float32 if dtype != torch.float32 and torch.is_autocast_enabled("cuda") else None


def _row_dims(input: Tensor, normalized_shape: Sequence[int]) -> int:
    """The number of dims at the end of the input that are normalized."""
    shape = tuple(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape:
        raise UnsupportedError(support.not_normalized(input, shape))
    return len(shape)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
    *,
    weight_offset: float = 0.0,
) -> Tensor:
    """``input / sqrt(mean(input²) + eps) * (weight + weight_offset)`` over the last dims, as ``torch.nn.functional.rms_norm``.

    The default of ``eps`` is that of float32, the type of the arithmetic. ``weight_offset`` is 1 for models whose weights are stored
    as differences from 1.
    """
    options = _row_dims(input, normalized_shape), _eps(eps), float(weight_offset), None
    if not is_plain(input):
        _supported(support.rms_norm(input, normalized_shape, weight, weight_offset))
        return library.rms_norm(input, weight, *options)[0]
    if _records(input, weight):
        return gradients.rms_norm(input, weight, options)
    return launches.rms_norm(input, None, weight, *options, False)[0]


def add_rms_norm(
    input: Tensor,
    residual: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
    *,
    weight_offset: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """:func:`rms_norm` of ``input + residual``, and the sum, in one kernel."""
    options = _row_dims(input, normalized_shape), _eps(eps), float(weight_offset), None
    if not is_plain(input):
        _supported(support.add_rms_norm(input, residual, normalized_shape, weight, weight_offset))
        return library.add_rms_norm(input, residual, weight, *options)[:2]
    if _records(input, residual, weight):
        return gradients.add_rms_norm(input, residual, weight, options)
    return launches.rms_norm(input, residual, weight, *options, False)


_FLOAT32_EPS = torch.finfo(torch.float32).eps


def _eps(eps: float | None) -> float:
    return _FLOAT32_EPS if eps is None else float(eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``torch.nn.functional.layer_norm``."""
    options = _row_dims(input, normalized_shape), float(eps), _wide_under_autocast(input.dtype)
    if not is_plain(input):
        _supported(support.layer_norm(input, normalized_shape, weight, bias))
        return library.layer_norm(input, weight, bias, *options)[0]
    if _records(input, weight, bias):
        return gradients.layer_norm(input, weight, bias, options)
    return launches.layer_norm(input, weight, bias, *options, False)[0]


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """``torch.nn.functional.softmax``; ``dim`` is required."""
    return _softmax("softmax", input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> Tensor:
    """``torch.nn.functional.log_softmax``; ``dim`` is required."""
    return _softmax("log_softmax", input, dim, dtype)


def _softmax(op: str, input: Tensor, dim: int | None, dtype: torch.dtype | None) -> Tensor:
    rank, plain = input.dim(), is_plain(input)
    if not plain or dtype is not None or dim is None or not -rank <= dim < rank:
        _supported(support.softmax(input, dim, dtype))
    if dtype is None:
        dtype = _wide_under_autocast(input.dtype)
    elif dtype != torch.float32:
        # Torch rounds the input to this type before it takes exponentials.
        input, dtype = input.to(dtype), None
    dim %= rank
    if not plain:
        return getattr(library, op)(input, dim, dtype)
    if _records(input):
        return getattr(gradients, op)(input, dim, dtype)
    return launches.softmax(op, input, dim, dtype)


def top_k(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """``torch.topk``: the k largest elements along a dim, up to 64, and their indices.

    They are always sorted, equal ones by their indices and NaN first, so that the result is the same in every
    run. The time grows with k. Along a dim other than the last one, rows are first copied to be contiguous.
    """
    rank, plain = input.dim(), is_plain(input)
    if not plain or not largest or not -rank <= dim < rank:
        _supported(support.top_k(input, k, dim, largest))
    is_last = dim % rank == rank - 1
    rows = input if is_last else input.movedim(dim, -1)
    if not plain:
        found = library.top_k(rows, k)
    elif _records(rows):
        found = gradients.top_k(rows, k)
    else:
        found = launches.top_k(rows, k)
    values, indices = found
    return (values, indices) if is_last else (values.movedim(-1, dim), indices.movedim(-1, dim))


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    z_loss: float = 0.0,
    softcap: float = 0.0,
) -> Tensor:
    """``torch.nn.functional.cross_entropy`` of labels.

    Each row's loss is increased by ``z_loss`` times the square of the row's logarithm of the sum of exponentials. Unless ``softcap`` is 0,
    logits are first capped as ``softcap * tanh(input / softcap)``. Losses are summed in float32.
    """
    plain = is_plain(input)
    is_deprecated = size_average is not None or reduce is not None
    if not plain or input.dim() != 2 or is_deprecated or (weight is not None and weight.requires_grad):
        _supported(
            support.cross_entropy(
                input, target, weight, size_average, reduce, reduction, label_smoothing, z_loss, softcap
            )
        )
    dtype = _wide_under_autocast(input.dtype)
    options = reduction, dtype, int(ignore_index), float(label_smoothing), float(z_loss), float(softcap)
    if not plain:
        return library.cross_entropy(input, target, weight, *options)[0]
    if _records(input):
        return gradients.cross_entropy(input, target, weight, options)
    return launches.cross_entropy(input, target, weight, *options, False)[0]
