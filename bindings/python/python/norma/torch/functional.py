"""Drop-in replacements for functions of ``torch.nn.functional``: the same arguments, results and types.

Whether there is a kernel is checked here before a tracer records an op, and otherwise by :class:`norma.torch.kernels.Op` at the first
call of a kind. Only properties that the op does not see are checked at each call.
"""

from collections.abc import Sequence
from operator import index
from typing import NamedTuple

import torch
from torch import Tensor

from norma.errors import UnsupportedError
from norma.torch import gradients, launches, library, support
from norma.torch.gradients import is_plain
from norma.torch.kernels import PLAIN
from norma.torch.quantization import LINEAR, Quantization, rows_of


def _supported(reason: str | None) -> None:
    if reason is not None:
        raise UnsupportedError(reason)


def _records(*tensors: Tensor | None) -> bool:
    """Whether autograd records an op on these tensors."""
    if torch.is_grad_enabled():
        for tensor in tensors:
            # What is no tensor is refused where its name is known.
            if tensor is not None and getattr(tensor, "requires_grad", False):
                return True
    return False


def _wide_under_autocast(dtype: torch.dtype) -> torch.dtype | None:
    """float32 where torch's autocast would return it for a result of type ``dtype``; ``None`` if the type does not change."""
    return torch.float32 if dtype != torch.float32 and torch.is_autocast_enabled("cuda") else None


def _is_plain(name: str, input: Tensor) -> bool:
    """:func:`is_plain`, of what is a tensor that ops take."""
    if is_plain(input):
        return True
    _supported(support.kind(name, input))
    return False


def _residual(residual: Tensor) -> None:
    """Refuses a residual that is absent, which ops take for a norm without one."""
    if residual is None:
        _supported(support.kind("residual", residual))


def _row_dims(input: Tensor, normalized_shape: Sequence[int]) -> int:
    """The number of dims at the end of the input that are normalized."""
    try:
        shape = tuple(normalized_shape)
    except TypeError:
        raise UnsupportedError(support.not_a_shape(normalized_shape)) from None
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
    plain = _is_plain("input", input)
    options = _row_dims(input, normalized_shape), _eps(eps), float(weight_offset), None
    if not plain:
        _supported(support.rms_norm(input, normalized_shape, weight, *options[1:3]))
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
    plain = _is_plain("input", input)
    _residual(residual)
    options = _row_dims(input, normalized_shape), _eps(eps), float(weight_offset), None
    if not plain:
        _supported(support.add_rms_norm(input, residual, normalized_shape, weight, *options[1:3]))
        return library.add_rms_norm(input, residual, weight, *options)[:2]
    if _records(input, residual, weight):
        return gradients.add_rms_norm(input, residual, weight, options)
    return launches.rms_norm(input, residual, weight, *options, False)


#: The default of ``eps`` in norms without a mean.
FLOAT32_EPS = torch.finfo(torch.float32).eps


def _eps(eps: float | None) -> float:
    return FLOAT32_EPS if eps is None else float(eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``torch.nn.functional.layer_norm``."""
    plain = _is_plain("input", input)
    options = _row_dims(input, normalized_shape), float(eps), _wide_under_autocast(input.dtype)
    if not plain:
        _supported(support.layer_norm(input, normalized_shape, weight, bias, eps))
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
    plain = _is_plain("input", input)
    rank = input.dim()
    if not plain or dtype is not None or type(dim) is not int or not -rank <= dim < rank:
        _supported(support.softmax(op, input, dim, dtype))
    if dtype is None:
        dtype = _wide_under_autocast(input.dtype)
    elif dtype != torch.float32:
        # Torch rounds the input to this type before it takes exponentials.
        input, dtype = input.to(dtype), None
    # That it is an integer was checked.
    dim = index(dim) % rank  # type: ignore[arg-type]
    if not plain:
        return getattr(library, op)(input, dim, dtype)
    if _records(input):
        return getattr(gradients, op)(input, dim, dtype)
    return launches.softmax(op, input, dim, dtype)


class TopK(NamedTuple):
    """What :func:`top_k` returns, with the names that ``torch.topk`` gives its results."""

    values: Tensor
    indices: Tensor


def top_k(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> TopK:
    """``torch.topk``: the k largest elements along a dim, up to 128, and their indices.

    They are always sorted, equal ones by their indices and NaN first, so that the result is the same in every
    run. The time grows with k. Along a dim other than the last one, rows are first copied to be contiguous.
    """
    plain = _is_plain("input", input)
    rank = input.dim()
    if not plain or not largest or type(dim) is not int or type(k) is not int or not -rank <= dim < rank:
        _supported(support.top_k(input, k, dim, largest))
    dim, k = index(dim), index(k)
    is_last = dim % rank == rank - 1
    rows = input if is_last else input.movedim(dim, -1)
    if not plain:
        found = library.top_k(rows, k)
    elif _records(rows):
        found = gradients.top_k(rows, k)
    else:
        found = launches.top_k(rows, k)
    values, indices = found
    return TopK(values, indices) if is_last else TopK(values.movedim(-1, dim), indices.movedim(-1, dim))


def _without_gradients(*tensors: Tensor | None) -> None:
    if _records(*tensors):
        raise UnsupportedError(support.WITHOUT_GRADIENTS)


def _quantization(
    block: Sequence[int],
    dtype: torch.dtype,
    scale_dtype: torch.dtype,
    scale_layout: str,
    power_of_two: bool = False,
    round_down: bool = False,
) -> Quantization:
    try:
        extents = tuple(index(extent) for extent in block)
    except TypeError:
        raise UnsupportedError(support.not_a_block(block)) from None
    return Quantization(extents, dtype, scale_dtype, scale_layout, bool(power_of_two), bool(round_down))


def quantize(
    input: Tensor,
    block: Sequence[int],
    dtype: torch.dtype = torch.float8_e4m3fn,
    *,
    scale: Tensor | None = None,
    tensor_scale: Tensor | None = None,
    scale_dtype: torch.dtype = torch.float32,
    scale_layout: str = "linear",
    power_of_two: bool = False,
    round_down: bool = False,
) -> tuple[Tensor, Tensor]:
    """``input / scale``, rounded to ``dtype`` and saturated, and the scale of each block, which maps the block's largest magnitude to the
    largest number of the type.

    ``block`` is the number of rows and columns that share a scale: ``(1, 128)`` and ``(128, 128)`` are blocks of 128 and squares,
    ``(1, 0)`` gives each row a scale, and ``()`` the whole tensor one, which must be given. The last block of an axis may be shorter.
    Scales have the shape of the blocks; in a block of one row, all dims but the last are rows. With ``scale``, of float32, nothing is
    reduced, and that tensor is returned.

    ``dtype`` is float8_e4m3fn, float8_e5m2, int8 or float4_e2m1fn_x2, and ``scale_dtype`` float32, float8_e8m0fnu or float8_e4m3fn; the
    last is multiplied by ``tensor_scale``, one number. ``power_of_two`` makes scales of float32 powers of two, as those of
    float8_e8m0fnu always are. They are rounded up, so that nothing saturates, or with ``round_down`` as the Microscaling
    Formats specify. MXFP8 has blocks of 32 with scales of float8_e8m0fnu, and so has MXFP4, with elements of float4_e2m1fn_x2; NVFP4 has
    blocks of 16 with scales of float8_e4m3fn.

    ``scale_layout`` is the order of scales in memory. With ``"column_major"`` those of a column of blocks are adjacent; the shape is the
    same. ``"swizzled_128x4"`` is the order that tensor cores read, for scales of 8 bits, as a tensor of
    ``(rows / 128, columns / 4, 32, 4, 4)``, rounded up: what belongs to no row is not written.

    The result has no gradient.
    """
    quantization = _quantization(block, dtype, scale_dtype, scale_layout, power_of_two, round_down)
    plain = _is_plain("input", input)
    _without_gradients(input, scale, tensor_scale)
    if not plain or (quantization.needs_matrices and input.dim() > 3):
        _supported(support.quantize(input, quantization, scale, tensor_scale))
    if plain:
        q, *computed = launches.quantize(input, scale, tensor_scale, quantization)
    else:
        q, *computed = library.quantize(input, scale, tensor_scale, *quantization)
    return q, quantization.show(computed[0], input.shape) if scale is None else scale


def dequantize(
    input: Tensor,
    scale: Tensor,
    block: Sequence[int],
    dtype: torch.dtype = torch.bfloat16,
    *,
    tensor_scale: Tensor | None = None,
    scale_layout: str = "linear",
) -> Tensor:
    """``input * scale`` of type ``dtype``, for results of :func:`quantize` with the same ``block``, ``tensor_scale`` and ``scale_layout``.
    It has no gradient."""
    plain = _is_plain("input", input)
    _supported(None if is_plain(scale) else support.kind("scale", scale))
    quantization = _quantization(block, input.dtype, scale.dtype, scale_layout)
    _without_gradients(input, scale, tensor_scale)
    # The op sees scales in the order of memory, whose shape does not tell that of the blocks.
    if not plain or scale_layout != LINEAR or (quantization.needs_matrices and input.dim() > 3):
        _supported(support.dequantize(input, quantization, scale, tensor_scale, dtype))
    stored = quantization.hide(scale)
    if plain:
        return launches.dequantize(input, stored, tensor_scale, quantization, dtype)
    return library.dequantize(input, stored, tensor_scale, quantization.block, scale_layout, dtype)


def rms_norm_quantize(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
    *,
    weight_offset: float = 0.0,
    block: Sequence[int],
    dtype: torch.dtype = torch.float8_e4m3fn,
    scale: Tensor | None = None,
    tensor_scale: Tensor | None = None,
    scale_dtype: torch.dtype = torch.float32,
    scale_layout: str = "linear",
    power_of_two: bool = False,
    round_down: bool = False,
    output_dtype: torch.dtype | None = None,
) -> tuple[Tensor, ...]:
    """:func:`quantize` of :func:`rms_norm`, in one kernel: the quantized elements and the scales, of blocks of one row, and with
    ``output_dtype`` also what is quantized, rounded to that type.

    It is quantized as float32, before it is rounded to another type. The normalized dims are one row of columns.
    """
    quantization = _quantization(block, dtype, scale_dtype, scale_layout, power_of_two, round_down)
    plain = _is_plain("input", input)
    options = _row_dims(input, normalized_shape), _eps(eps), float(weight_offset)
    return _rms_norm_quantize(plain, input, None, weight, scale, tensor_scale, options, quantization, output_dtype)


def add_rms_norm_quantize(
    input: Tensor,
    residual: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
    *,
    weight_offset: float = 0.0,
    block: Sequence[int],
    dtype: torch.dtype = torch.float8_e4m3fn,
    scale: Tensor | None = None,
    tensor_scale: Tensor | None = None,
    scale_dtype: torch.dtype = torch.float32,
    scale_layout: str = "linear",
    power_of_two: bool = False,
    round_down: bool = False,
    output_dtype: torch.dtype | None = None,
) -> tuple[Tensor, ...]:
    """:func:`rms_norm_quantize` of ``input + residual``, in one kernel: the quantized elements, the scales, the sum, and with
    ``output_dtype`` also what is quantized."""
    quantization = _quantization(block, dtype, scale_dtype, scale_layout, power_of_two, round_down)
    plain = _is_plain("input", input)
    _residual(residual)
    options = _row_dims(input, normalized_shape), _eps(eps), float(weight_offset)
    return _rms_norm_quantize(plain, input, residual, weight, scale, tensor_scale, options, quantization, output_dtype)


def _rms_norm_quantize(
    plain: bool,
    input: Tensor,
    residual: Tensor | None,
    weight: Tensor | None,
    scale: Tensor | None,
    tensor_scale: Tensor | None,
    options: tuple[int, float, float],
    quantization: Quantization,
    output_dtype: torch.dtype | None,
) -> tuple[Tensor, ...]:
    _without_gradients(input, residual, weight, scale, tensor_scale)
    dims, eps, weight_offset = options
    operands = input, residual, weight, scale, tensor_scale
    if plain:
        q, *others = launches.rms_norm_quantize(*operands, *options, quantization, output_dtype)
    else:
        row = input.shape[input.dim() - dims :]
        reason = support.rms_norm_quantize(
            input, residual, row, weight, eps, weight_offset, quantization, scale, tensor_scale, output_dtype
        )
        _supported(reason)
        q, computed, h, y = library.rms_norm_quantize(*operands, *options, *quantization, output_dtype)
        present = (computed, scale is None), (h, residual is not None), (y, output_dtype is not None)
        others = [result for result, is_there in present if is_there]
    if scale is None:
        computed, *others = others
        scale = quantization.show(computed, rows_of(input.shape, dims))
    return q, scale, *others


def router(
    logits: Tensor,
    k: int,
    *,
    scoring: str = "softmax",
    bias: Tensor | None = None,
    renormalize: bool = True,
    scale: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """The k experts, up to 128, that each token of a mixture of experts goes to: their weights, of float32, and their indices, of int32.

    A token's scores are the softmax or the sigmoid of its logits, which are its last dim. The experts are those with the largest
    scores, sorted by score, and equal ones by their indices. With ``bias``, a number for each expert, they are those with the largest
    sums of score and bias, sorted by these; weights are of the scores alone. The weights of a token are divided by their sum if
    ``renormalize``, and multiplied by ``scale``. They have no gradients.
    """
    plain = _is_plain("logits", logits)
    _without_gradients(logits, bias)
    _supported(support.integer("k", k))
    options = index(k), scoring, bool(renormalize), float(scale)
    if plain:
        return launches.router(logits, bias, *options)
    _supported(support.router(logits, k, scoring, bias, scale))
    return library.router(logits, bias, *options)


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
    plain = _is_plain("input", input)
    is_deprecated = size_average is not None or reduce is not None
    is_checked = plain and type(ignore_index) is int and type(target) in PLAIN and input.dim() == 2
    if not is_checked or is_deprecated or (weight is not None and weight.requires_grad):
        numbers = label_smoothing, z_loss, softcap
        _supported(
            support.cross_entropy(input, target, weight, size_average, reduce, ignore_index, reduction, *numbers)
        )
    dtype = _wide_under_autocast(input.dtype)
    options = reduction, dtype, index(ignore_index), float(label_smoothing), float(z_loss), float(softcap)
    if not plain:
        return library.cross_entropy(input, target, weight, *options)[0]
    if _records(input):
        return gradients.cross_entropy(input, target, weight, options)
    return launches.cross_entropy(input, target, weight, *options, False)[0]
