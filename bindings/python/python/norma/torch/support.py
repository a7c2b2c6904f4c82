"""Decides for which calls Norma has kernels.

Each function takes the arguments of the op of its name, and returns the reason why there is no kernel for it, as the text of an error,
or ``None`` if there is one. Nothing is computed, so a tracer may run these functions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_LABELS = (torch.int64, torch.int32)


def _is_on_gpu(tensor: Tensor) -> bool:
    return tensor.is_cuda


def _tensor(name: str, tensor: Tensor, input: Tensor | None = None) -> str | None:
    if not _is_on_gpu(tensor):
        return f"expected {name} on a GPU, got it on {tensor.device}"
    if tensor.dtype not in _FLOATS:
        return f"expected {name} to be float32, float16 or bfloat16, got {tensor.dtype}"
    if input is not None and tensor.get_device() != input.get_device():
        return f"expected {name} on {input.device}, where input is, got it on {tensor.device}"
    return None


def not_normalized(input: Tensor, shape: tuple[int, ...]) -> str:
    return f"expected input's last dims to be {shape}, got {tuple(input.shape)}"


def _normalized(input: Tensor, normalized_shape: Sequence[int], operands: dict[str, Tensor | None]) -> str | None:
    shape = tuple(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape:
        return not_normalized(input, shape)
    if 0 in shape:
        return f"expected rows of at least one element, got normalized_shape {shape}"
    for name, operand in operands.items():
        if operand is None:
            continue
        if operand.shape != shape:
            return f"expected {name} to have shape {shape}, got {tuple(operand.shape)}"
        if reason := _tensor(name, operand, input):
            return reason
    return None


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, weight_offset: float) -> str | None:
    if weight is None and weight_offset != 0:
        return f"expected a weight for weight_offset {weight_offset}, got none"
    return _tensor("input", input) or _normalized(input, normalized_shape, {"weight": weight})


def add_rms_norm(
    input: Tensor,
    residual: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    weight_offset: float,
) -> str | None:
    if residual.dtype != input.dtype or residual.shape != input.shape:
        expected, got = (f"{tensor.dtype} {tuple(tensor.shape)}" for tensor in (input, residual))
        return f"expected residual to be {expected} as input is, got {got}"
    return _tensor("residual", residual, input) or rms_norm(input, normalized_shape, weight, weight_offset)


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None
) -> str | None:
    operands = {"weight": weight, "bias": bias}
    return _tensor("input", input) or _normalized(input, normalized_shape, operands)


def softmax(input: Tensor, dim: int | None, dtype: torch.dtype | None) -> str | None:
    if dim is None:
        return "expected a dim, got none"
    if not -input.dim() <= dim < input.dim():
        return f"expected a dim of an input of {input.dim()} dims, got {dim}"
    if input.shape[dim] == 0:
        return f"expected rows of at least one element, got {tuple(input.shape)}"
    if dtype is not None and dtype not in _FLOATS:
        return f"expected a result of float32, float16 or bfloat16, got {dtype}"
    return _tensor("input", input)


#: The largest number of elements that the op finds: each takes a pass over the row.
MOST_OF_TOP_K = 64


def top_k(input: Tensor, k: int, dim: int, largest: bool) -> str | None:
    if not largest:
        return "expected the largest, got largest=False"
    if not -input.dim() <= dim < input.dim():
        return f"expected a dim of an input of {input.dim()} dims, got {dim}"
    most = min(MOST_OF_TOP_K, input.shape[dim])
    if not 1 <= k <= most:
        return f"expected k between 1 and {most} of rows of {input.shape[dim]}, got {k}"
    return _tensor("input", input)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
    label_smoothing: float,
    z_loss: float,
    softcap: float,
) -> str | None:
    if size_average is not None or reduce is not None:
        return "expected reduction in place of size_average and reduce, which torch has deprecated"
    if reduction not in ("none", "sum", "mean"):
        return f"expected reduction 'none', 'sum' or 'mean', got '{reduction}'"
    if not 0 <= label_smoothing <= 1:
        return f"expected label_smoothing between 0 and 1, got {label_smoothing}"
    if not (z_loss >= 0 and softcap >= 0):
        return f"expected z_loss and softcap to be at least 0, got {z_loss} and {softcap}"
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
        if tuple(weight.shape) != (input.shape[classes],):
            return f"expected weight to have shape {(input.shape[classes],)}, got {tuple(weight.shape)}"
        if weight.requires_grad:
            return "expected a weight without gradients, which its kernels do not compute"
        if reason := _tensor("weight", weight, input):
            return reason
    return _tensor("input", input)


# The same checks on an op's tensors and options, in the form in which `norma.torch.launches` passes them.


def _row(x: Tensor, row_dims: int) -> tuple[int, ...]:
    return tuple(x.shape[x.dim() - row_dims :])


def of_rms_norm(row_dims: int, options: tuple, x: Tensor, residual: Tensor | None, weight: Tensor | None) -> str | None:
    _, weight_offset, *_ = options
    if residual is None:
        return rms_norm(x, _row(x, row_dims), weight, weight_offset)
    return add_rms_norm(x, residual, _row(x, row_dims), weight, weight_offset)


def of_layer_norm(row_dims: int, _: tuple, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> str | None:
    return layer_norm(x, _row(x, row_dims), weight, bias)


def of_softmax(row_dims: int, options: tuple, x: Tensor) -> str | None:
    _, dtype = options
    return softmax(x, x.dim() - row_dims, dtype)


def of_top_k(_: int, options: tuple, x: Tensor) -> str | None:
    (k,) = options
    return top_k(x, k, -1, True)


def of_cross_entropy(
    _: int, options: tuple, logits: Tensor, labels: Tensor, weight: Tensor | None
) -> str | None:
    reduction, _, _, label_smoothing, z_loss, softcap, _ = options
    return cross_entropy(logits, labels, weight, None, None, reduction, label_smoothing, z_loss, softcap)
