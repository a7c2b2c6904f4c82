"""Drop-ins for functions of ``torch.nn.functional``: the same arguments, results and types."""

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
    """Whether an op on these is one that gradients go through."""
    if not torch.is_grad_enabled():
        return False
    return any(tensor is not None and tensor.requires_grad for tensor in tensors)


def _wide_under_autocast(dtype: torch.dtype) -> torch.dtype | None:
    """The type of a result that torch's autocast has in float32; ``None`` where that is ``dtype`` itself."""
    return torch.float32 if dtype != torch.float32 and torch.is_autocast_enabled("cuda") else None


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
    *,
    weight_offset: float = 0.0,
) -> Tensor:
    """``input / sqrt(mean(input²) + eps) * (weight + weight_offset)`` over the last dims, as ``torch.nn.functional.rms_norm``.

    Without ``eps`` it is that of float32, in which the arithmetic is. ``weight_offset`` is 1 in models whose weights are stored
    around 0.
    """
    _supported(support.rms_norm(input, normalized_shape, weight, weight_offset))
    options = len(normalized_shape), _eps(eps), float(weight_offset), None
    if not is_plain(input):
        return library.rms_norm(input, weight, *options)[0]
    if _records(input, weight):
        return gradients.RMSNorm.apply(input, weight, *options)[0]
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
    """:func:`rms_norm` of ``input + residual``, and that sum, in one kernel."""
    _supported(support.add_rms_norm(input, residual, normalized_shape, weight, weight_offset))
    options = len(normalized_shape), _eps(eps), float(weight_offset), None
    if not is_plain(input):
        return library.add_rms_norm(input, residual, weight, *options)[:2]
    if _records(input, residual, weight):
        return gradients.AddRMSNorm.apply(input, residual, weight, *options)[:2]
    return launches.rms_norm(input, residual, weight, *options, False)[:2]


def _eps(eps: float | None) -> float:
    return torch.finfo(torch.float32).eps if eps is None else float(eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``torch.nn.functional.layer_norm``."""
    _supported(support.layer_norm(input, normalized_shape, weight, bias))
    options = len(normalized_shape), float(eps), _wide_under_autocast(input.dtype)
    if not is_plain(input):
        return library.layer_norm(input, weight, bias, *options)[0]
    if _records(input, weight, bias):
        return gradients.LayerNorm.apply(input, weight, bias, *options)[0]
    return launches.layer_norm(input, weight, bias, *options, False)[0]


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """``torch.nn.functional.softmax``; ``dim`` has to be given."""
    _supported(support.softmax(input, dim, dtype))
    return _softmax("softmax", input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> Tensor:
    """``torch.nn.functional.log_softmax``; ``dim`` has to be given."""
    _supported(support.softmax(input, dim, dtype))
    return _softmax("log_softmax", input, dim, dtype)


def _softmax(op: str, input: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
    if dtype is None:
        dtype = _wide_under_autocast(input.dtype)
    elif dtype != torch.float32:
        # Torch rounds to the type before it takes exponentials.
        input, dtype = input.to(dtype), None
    dim %= input.dim()
    if not is_plain(input):
        return getattr(library, op)(input, dim, dtype)
    if _records(input):
        function = gradients.Softmax if op == "softmax" else gradients.LogSoftmax
        return function.apply(input, dim, dtype)
    return launches.softmax(op, input, dim, dtype)


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

    ``z_loss`` times the square of each row's logarithm of the sum of exponentials is added to its loss, and logits are first
    capped as ``softcap * tanh(input / softcap)``, unless these are 0. Losses are summed in float32.
    """
    _supported(
        support.cross_entropy(input, target, weight, size_average, reduce, reduction, label_smoothing, z_loss, softcap)
    )
    options = int(ignore_index), float(label_smoothing), float(z_loss), float(softcap)
    if not is_plain(input):
        loss, _ = library.cross_entropy(input, target, weight, *options)
    elif _records(input):
        loss, _ = gradients.CrossEntropy.apply(input, target, weight, *options)
    else:
        loss, _ = launches.cross_entropy(input, target, weight, *options)
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        loss = loss.sum() / _total_weight(target, weight, ignore_index)
    return loss.to(_wide_under_autocast(input.dtype) or input.dtype)


def _total_weight(target: Tensor, weight: Tensor | None, ignore_index: int) -> Tensor:
    """What a mean divides by: the labels that are not ignored, by their weights."""
    counts = target != ignore_index
    if weight is None:
        return counts.sum()
    weights = weight.float().index_select(0, torch.where(counts, target, 0).reshape(-1))
    return (weights * counts.reshape(-1)).sum()
