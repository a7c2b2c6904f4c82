"""Decides for which calls Norma has kernels.

Each function takes the arguments of the op of its name, and returns the reason why there is no kernel for it, as the text of an error,
or ``None`` if there is one. Nothing is computed, so a tracer may run these functions.
"""

import sys
from collections.abc import Sequence

import torch
from torch import Tensor
from torch._C._functorch import TransformType
from torch._functorch.pyfunctorch import retrieve_all_functorch_interpreters
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.autograd import forward_ad
from torch.nn import Parameter

from norma.torch.quantization import LAYOUTS, LINEAR, PACKED, Quantization, rows_of

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_LABELS = (torch.int64, torch.int32)


#: How many contexts of :func:`norma.torch.prebuild` are active; tensors of the device ``meta`` then count as tensors of a GPU.
prebuilding = 0


def _is_on_gpu(tensor: Tensor) -> bool:
    return tensor.is_cuda or (prebuilding > 0 and tensor.is_meta)


#: The types of tensors that are memory with a shape, or that a tracer uses in their place.
_KINDS = (Tensor, Parameter, FakeTensor, FunctionalTensor)


def _is_awaited(kind: type) -> bool:
    """Whether tensors of this type are those that torch's collectives return, which any op waits for."""
    collectives = sys.modules.get("torch.distributed._functional_collectives")
    return collectives is not None and kind is collectives.AsyncCollectiveTensor


def kind(name: str, tensor: object) -> str | None:
    """Why this is no tensor that ops take: one of another type, such as a ``DTensor``, has rules of its own for each op."""
    of = type(tensor)
    if not isinstance(tensor, Tensor):
        return f"expected {name} to be a tensor of torch, got {'None' if tensor is None else f'{of.__module__}.{of.__qualname__}'}"
    if of not in _KINDS and not _is_awaited(of):
        return f"expected {name} to be a plain tensor, got one of type {of.__name__}"
    if tensor.is_nested or tensor.layout != torch.strided:
        return f"expected {name} to be a dense tensor, got {'a nested one' if tensor.is_nested else tensor.layout}"
    # A tracer cannot ask, and torch's own has no names.
    if not torch.compiler.is_compiling() and tensor.has_names():
        return f"expected {name} without names of its dims, got {tensor.names}"
    return None


def _transforms() -> set[TransformType]:
    """The transforms of ``torch.func`` that are active."""
    if not torch._C._are_functorch_transforms_active():
        return set()
    return {interpreter.key() for interpreter in retrieve_all_functorch_interpreters()}


def _is_transformed() -> bool:
    """Whether a transform that takes derivatives is active."""
    return bool(_transforms() & {TransformType.Grad, TransformType.Jvp})


# torch.compile traces with the same transforms, and takes the result for a constant of the trace, as
# `torch.compiler.assume_constant_result` says, which would import all of its tracer.
_is_transformed._dynamo_marked_constant = True  # type: ignore[attr-defined]


def dual(op: str, *tensors: object) -> str | None:
    """Why an op has no result with a derivative in forward mode: Norma has no rules for these, and without rules torch would return a
    derivative of zero."""
    if forward_ad._current_level < 0:
        return None
    for tensor in tensors:
        if isinstance(tensor, Tensor) and forward_ad.unpack_dual(tensor).tangent is not None:
            return (
                f"expected tensors without derivatives in forward mode, which {op} does not compute, got a dual tensor"
            )
    return None


def underivable(op: str, *tensors: Tensor | None) -> str | None:
    """Why the derivative that torch is about to take of an op on these tensors is none that there are kernels for."""
    if _is_transformed():
        return f"expected gradients by autograd, as {op} has no others, got a transform of torch.func that takes derivatives"
    return None if torch.compiler.is_compiling() else dual(op, *tensors)


def batched(*gradients: Tensor | None) -> str | None:
    """Why a backward failed, if these incoming gradients are not of one result."""
    if any(gradient is not None and torch._C._functorch.is_legacy_batchedtensor(gradient) for gradient in gradients):
        return "expected one gradient in a backward of norma.torch, got a batch of them, as by is_grads_batched"
    if _is_transformed():
        return "expected a backward outside of transforms of torch.func, got one within"
    return None


#: What autograd says where a gradient is differentiated.
WITHOUT_SECOND_DERIVATIVES = (
    "expected first derivatives of functions of norma.torch, whose gradients have none, got a second one"
)


def integer(name: str, value: object) -> str | None:
    """Tracers' integers count, and truth values do not."""
    if type(value) is int or (not isinstance(value, bool) and hasattr(value, "__index__")):
        return None
    return f"expected {name} to be an integer, got {value!r}"


_LARGEST = torch.finfo(torch.float32).max


def _number(name: str, value: float, least: float = -_LARGEST) -> str | None:
    """Programs compute in float32. A tracer can compare numbers, but has no ``math.isfinite``."""
    if least <= value <= _LARGEST:
        return None
    return f"expected {name} to be {'' if least else 'at least 0 and '}finite in float32, got {value}"


def _tensor(name: str, tensor: Tensor, input: Tensor | None = None) -> str | None:
    if reason := kind(name, tensor):
        return reason
    if not _is_on_gpu(tensor):
        return f"expected {name} on a GPU, got it on {tensor.device}"
    if tensor.dtype not in _FLOATS:
        return f"expected {name} to be float32, float16 or bfloat16, got {tensor.dtype}"
    if input is not None and tensor.get_device() != input.get_device():
        return f"expected {name} on {input.device}, where input is, got it on {tensor.device}"
    return None


def not_normalized(input: Tensor, shape: tuple[int, ...]) -> str:
    return f"expected input's last dims to be {shape}, got {tuple(input.shape)}"


def not_a_shape(normalized_shape: object) -> str:
    return f"expected normalized_shape to be a sequence of extents, got {normalized_shape!r}"


def _normalized(input: Tensor, normalized_shape: Sequence[int], operands: dict[str, Tensor | None]) -> str | None:
    try:
        shape = tuple(normalized_shape)
    except TypeError:
        return not_a_shape(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape:
        return not_normalized(input, shape)
    if 0 in shape:
        return f"expected rows of at least one element, got normalized_shape {shape}"
    for name, operand in operands.items():
        if operand is None:
            continue
        if reason := kind(name, operand):
            return reason
        if operand.shape != shape:
            return f"expected {name} to have shape {shape}, got {tuple(operand.shape)}"
        if reason := _tensor(name, operand, input):
            return reason
    return None


def _epsilon(eps: float) -> str | None:
    return _number("eps", eps, 0)


def _offset(weight: Tensor | None, weight_offset: float) -> str | None:
    if weight is None and weight_offset != 0:
        return f"expected a weight for weight_offset {weight_offset}, got none"
    return _number("weight_offset", weight_offset)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    eps: float,
    weight_offset: float,
) -> str | None:
    return (
        _tensor("input", input)
        or _normalized(input, normalized_shape, {"weight": weight})
        or _epsilon(eps)
        or _offset(weight, weight_offset)
        or underivable("rms_norm", input, weight)
    )


def add_rms_norm(
    input: Tensor,
    residual: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    eps: float,
    weight_offset: float,
) -> str | None:
    if reason := kind("input", input) or kind("residual", residual):
        return reason
    if residual.dtype != input.dtype or residual.shape != input.shape:
        expected, got = (f"{tensor.dtype} {tuple(tensor.shape)}" for tensor in (input, residual))
        return f"expected residual to be {expected} as input is, got {got}"
    return (
        _tensor("residual", residual, input)
        or underivable("add_rms_norm", input, residual, weight)
        or rms_norm(input, normalized_shape, weight, eps, weight_offset)
    )


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> str | None:
    operands = {"weight": weight, "bias": bias}
    return (
        _tensor("input", input)
        or _normalized(input, normalized_shape, operands)
        or _epsilon(eps)
        or underivable("layer_norm", input, weight, bias)
    )


def softmax(op: str, input: Tensor, dim: int | None, dtype: torch.dtype | None) -> str | None:
    if dim is None:
        return "expected a dim, got none"
    if reason := kind("input", input) or integer("dim", dim):
        return reason
    if not -input.dim() <= dim < input.dim():
        return f"expected a dim of an input of {input.dim()} dims, got {dim}"
    if input.shape[dim] == 0:
        return f"expected rows of at least one element, got {tuple(input.shape)}"
    if dtype is not None and dtype not in _FLOATS:
        return f"expected a result of float32, float16 or bfloat16, got {dtype}"
    return _tensor("input", input) or underivable(op, input)


#: The largest number of elements that the op finds: each takes a pass over the row.
MOST_OF_TOP_K = 128


def top_k(input: Tensor, k: int, dim: int, largest: bool) -> str | None:
    if not largest:
        return "expected the largest, got largest=False"
    if reason := kind("input", input) or integer("dim", dim) or integer("k", k):
        return reason
    if not -input.dim() <= dim < input.dim():
        return f"expected a dim of an input of {input.dim()} dims, got {dim}"
    most = min(MOST_OF_TOP_K, input.shape[dim])
    if not 1 <= k <= most:
        return f"expected k between 1 and {most} of rows of {input.shape[dim]}, got {k}"
    return _tensor("input", input) or underivable("top_k", input)


#: The types of quantized elements and of their scales.
_QUANTIZED = (torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, PACKED)
_SCALES = (torch.float32, torch.float8_e8m0fnu, torch.float8_e4m3fn)


def _one_of(name: str, value: object, known: Sequence[object]) -> str | None:
    if value in known:
        return None
    *others, last = (repr(each) if isinstance(each, str) else str(each) for each in known)
    return f"expected {name} to be {', '.join(others)} or {last}, got {value!r}"


def _operand(name: str, tensor: Tensor, dtype: torch.dtype, shape: tuple[int, ...], input: Tensor) -> str | None:
    if reason := kind(name, tensor):
        return reason
    if not _is_on_gpu(tensor):
        return f"expected {name} on a GPU, got it on {tensor.device}"
    if tensor.dtype != dtype:
        return f"expected {name} to be {dtype}, got {tensor.dtype}"
    if tensor.get_device() != input.get_device():
        return f"expected {name} on {input.device}, where input is, got it on {tensor.device}"
    if tuple(tensor.shape) != shape and not (shape == () and tensor.numel() == 1):
        return f"expected {name} to have shape {shape}, got {tuple(tensor.shape)}"
    return None


def _quantization(
    shape: tuple[int, ...],
    quantization: Quantization,
    tensor_scale: Tensor | None,
    input: Tensor,
    names: tuple[str, str] = ("dtype", "scale_dtype"),
) -> str | None:
    """Whether a tensor of this shape can be quantized so, and scaled back; ``names`` are those of the two types."""
    block, dtype, scale_dtype, layout, power_of_two, round_down = quantization
    if block and not (len(block) == 2 and block[0] >= 1 and block[1] >= 0):
        return not_a_block(block)
    for name, value, known in (
        (names[0], dtype, _QUANTIZED),
        (names[1], scale_dtype, _SCALES),
        ("scale_layout", layout, LAYOUTS),
    ):
        if reason := _one_of(name, value, known):
            return reason
    if not shape or shape[-1] == 0:
        return f"expected rows of at least one element, got {shape}"
    if quantization.needs_matrices and len(shape) < 2:
        return f"expected at least 2 dims for blocks of {block[0]} rows, got {shape}"
    if quantization.is_packed and (shape[-1] % 2 or (block and block[1] % 2)):
        return f"expected rows and blocks of an even number of columns for {dtype}, got {shape} and {block}"
    if power_of_two and scale_dtype != torch.float32:
        return f"expected scales of torch.float32 for power_of_two, got {scale_dtype}"
    if round_down and not (power_of_two or scale_dtype == torch.float8_e8m0fnu):
        return f"expected scales that are powers of two for round_down, got {scale_dtype} without power_of_two"
    if tensor_scale is not None:
        if scale_dtype != torch.float8_e4m3fn:
            return f"expected scales of torch.float8_e4m3fn for tensor_scale, got {scale_dtype}"
        if reason := _operand("tensor_scale", tensor_scale, torch.float32, (), input):
            return reason
    if layout == LINEAR:
        return None
    if not block or block[1] == 0:
        return f"expected blocks of several columns for scale_layout {layout!r}, got block {block}"
    if quantization.is_swizzled and scale_dtype == torch.float32:
        return f"expected scales of 8 bits for scale_layout {layout!r}, got {scale_dtype}"
    if quantization.is_swizzled and quantization.needs_matrices:
        return f"expected blocks of 1 row for scale_layout {layout!r}, got block {block}"
    return None


def _quantized(
    input: Tensor,
    shape: tuple[int, ...],
    quantization: Quantization,
    scale: Tensor | None,
    tensor_scale: Tensor | None,
) -> str | None:
    """Whether a tensor of this shape, computed from the input, can be quantized so."""
    if reason := _quantization(shape, quantization, tensor_scale, input):
        return reason
    block, _, scale_dtype, layout, power_of_two, _ = quantization
    if scale is not None:
        if scale_dtype != torch.float32 or layout != LINEAR or power_of_two:
            got = f"{scale_dtype}, {layout!r} and {power_of_two}"
            return f"expected scale_dtype, scale_layout and power_of_two only for scales that are computed, got {got} with scale"
        return _operand("scale", scale, torch.float32, quantization.blocks(shape), input)
    if not block:
        return "expected a scale for a block of the whole tensor, got none"
    blocks = quantization.blocks(shape)
    if quantization.is_swizzled and blocks[-1] % 4:
        return f"expected a multiple of 4 blocks in a row, as padding is not written, got {blocks[-1]}"
    return None


def not_a_block(block: object) -> str:
    return f"expected block to be () or (rows, columns), of at least 1 row, with 0 for all columns, got {block!r}"


def quantize(
    input: Tensor, quantization: Quantization, scale: Tensor | None, tensor_scale: Tensor | None
) -> str | None:
    return (
        _tensor("input", input)
        or _quantized(input, tuple(input.shape), quantization, scale, tensor_scale)
        or underivable("quantize", input, scale, tensor_scale)
    )


def dequantize(
    input: Tensor,
    quantization: Quantization,
    scale: Tensor,
    tensor_scale: Tensor | None,
    dtype: torch.dtype,
    is_stored: bool = False,
) -> str | None:
    """``is_stored`` is whether the scales have the shape in which a kernel reads them."""
    if reason := kind("input", input):
        return reason
    if not _is_on_gpu(input):
        return f"expected input on a GPU, got it on {input.device}"
    if reason := _one_of("dtype", dtype, _FLOATS):
        return reason
    shape = quantization.unpacked(tuple(input.shape)) if input.dim() else ()
    names = "the type of input", "the type of scale"
    if reason := _quantization(shape, quantization, tensor_scale, input, names):
        return reason
    expected = quantization.stored(shape) if is_stored else quantization.shown(shape)
    return _operand("scale", scale, scale.dtype, expected, input) or underivable("dequantize", input, scale)


def rms_norm_quantize(
    input: Tensor,
    residual: Tensor | None,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    eps: float,
    weight_offset: float,
    quantization: Quantization,
    scale: Tensor | None,
    tensor_scale: Tensor | None,
    output_dtype: torch.dtype | None,
) -> str | None:
    reason = (
        rms_norm(input, normalized_shape, weight, eps, weight_offset)
        if residual is None
        else add_rms_norm(input, residual, normalized_shape, weight, eps, weight_offset)
    )
    if reason:
        return reason
    if quantization.needs_matrices and len(quantization.block) == 2:
        return f"expected blocks of 1 row of what is normalized, got block {quantization.block}"
    if output_dtype is not None and (reason := _one_of("output_dtype", output_dtype, _FLOATS)):
        return reason
    if quantization.is_packed and input.shape[-1] % 2:
        return f"expected a last dim of even extent for {quantization.dtype}, got {tuple(input.shape)}"
    rows = rows_of(tuple(input.shape), len(tuple(normalized_shape)))
    return _quantized(input, rows, quantization, scale, tensor_scale)


_SCORINGS = ("softmax", "sigmoid")


def router(logits: Tensor, k: int, scoring: str, bias: Tensor | None, scale: float) -> str | None:
    if reason := kind("logits", logits) or _one_of("scoring", scoring, _SCORINGS):
        return reason
    if logits.dim() == 0:
        return "expected logits to have a dim of experts, got a number"
    experts = logits.shape[-1]
    most = min(MOST_OF_TOP_K, experts)
    if not 1 <= k <= most:
        return f"expected k between 1 and {most} of {experts} experts, got {k}"
    if reason := _number("scale", scale):
        return reason
    if bias is not None:
        if reason := kind("bias", bias):
            return reason
        if tuple(bias.shape) != (experts,):
            return f"expected bias to have shape {(experts,)}, got {tuple(bias.shape)}"
        if reason := _tensor("bias", bias, logits):
            return reason
    return _tensor("logits", logits) or underivable("router", logits, bias)


#: Why there is no kernel for a tensor whose gradient is wanted, without its name.
WITHOUT_GRADIENTS = (
    "expected tensors without gradients, which this function does not compute, got one that requires grad"
)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    size_average: bool | None,
    reduce: bool | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    z_loss: float,
    softcap: float,
) -> str | None:
    if reason := kind("input", input) or kind("target", target) or integer("ignore_index", ignore_index):
        return reason
    if not -(2**63) <= ignore_index < 2**63:
        return f"expected ignore_index to be a number of 64 bits, got {ignore_index}"
    if size_average is not None or reduce is not None:
        return "expected reduction in place of size_average and reduce, which torch has deprecated"
    if reduction not in ("none", "sum", "mean"):
        return f"expected reduction 'none', 'sum' or 'mean', got '{reduction}'"
    if not 0 <= label_smoothing <= 1:
        return f"expected label_smoothing between 0 and 1, got {label_smoothing}"
    if reason := _number("z_loss", z_loss, 0) or _number("softcap", softcap, 0):
        return reason
    if target.dtype not in _LABELS:
        return f"expected target to hold labels of int64 or int32, got {target.dtype}"
    if input.dim() == 0:
        return "expected input to have a dim of classes, got a number"
    classes = 0 if input.dim() == 1 else 1
    rows = (*input.shape[:classes], *input.shape[classes + 1 :])
    if tuple(target.shape) != rows:
        return f"expected target to have shape {rows}, got {tuple(target.shape)}"
    if input.shape[classes] == 0:
        return f"expected at least one class, got {tuple(input.shape)}"
    if target.device != input.device:
        return f"expected target on {input.device}, where input is, got it on {target.device}"
    if weight is not None:
        if reason := kind("weight", weight):
            return reason
        if tuple(weight.shape) != (input.shape[classes],):
            return f"expected weight to have shape {(input.shape[classes],)}, got {tuple(weight.shape)}"
        if weight.requires_grad:
            return "expected a weight without gradients, which its kernels do not compute"
        if reason := _tensor("weight", weight, input):
            return reason
    return _tensor("input", input) or underivable("cross_entropy", input, weight)


# The same checks on an op's tensors and options, in the form in which `norma.torch.launches` passes them.


def _row(x: Tensor, row_dims: int) -> tuple[int, ...]:
    return tuple(x.shape[x.dim() - row_dims :])


def of_rms_norm(row_dims: int, options: tuple, x: Tensor, residual: Tensor | None, weight: Tensor | None) -> str | None:
    eps, weight_offset, *_ = options
    if residual is None:
        return rms_norm(x, _row(x, row_dims), weight, eps, weight_offset)
    return add_rms_norm(x, residual, _row(x, row_dims), weight, eps, weight_offset)


def of_layer_norm(row_dims: int, options: tuple, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> str | None:
    eps, *_ = options
    return layer_norm(x, _row(x, row_dims), weight, bias, eps)


def of_softmax(row_dims: int, options: tuple, x: Tensor) -> str | None:
    op, dtype = options
    return softmax(op, x, x.dim() - row_dims, dtype)


def of_top_k(_: int, options: tuple, x: Tensor) -> str | None:
    (k,) = options
    return top_k(x, k, -1, True)


def of_quantize(_: int, options: tuple, x: Tensor, scale: Tensor | None, tensor_scale: Tensor | None) -> str | None:
    quantization, _ = options
    return quantize(x, quantization, scale, tensor_scale)


def of_dequantize(_: int, options: tuple, q: Tensor, scale: Tensor, tensor_scale: Tensor | None) -> str | None:
    quantization, dtype, _ = options
    return dequantize(q, quantization, scale, tensor_scale, dtype, is_stored=True)


def of_rms_norm_quantize(
    row_dims: int,
    options: tuple,
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor | None,
    scale: Tensor | None,
    tensor_scale: Tensor | None,
) -> str | None:
    eps, weight_offset, quantization, dtype = options
    row = _row(x, row_dims)
    return rms_norm_quantize(x, residual, row, weight, eps, weight_offset, quantization, scale, tensor_scale, dtype)


def of_router(_: int, options: tuple, logits: Tensor, bias: Tensor | None) -> str | None:
    k, scoring, _, scale = options
    return router(logits, k, scoring, bias, scale)


def of_cross_entropy(_: int, options: tuple, logits: Tensor, labels: Tensor, weight: Tensor | None) -> str | None:
    reduction, _, ignore_index, label_smoothing, z_loss, softcap, _ = options
    numbers = label_smoothing, z_loss, softcap
    return cross_entropy(logits, labels, weight, None, None, ignore_index, reduction, *numbers)
