"""The ops on tensors as they are: outputs allocated, kernels launched, no gradients recorded.

These run in eager mode and behind the custom ops of :mod:`norma.torch.library`. Arguments have been checked. ``dims`` is how many
dims at the end are normalized. What a result is not asked for is an empty tensor, as ops have no optional results.
"""

import math

import torch
from torch import Tensor

from norma.torch import programs
from norma.torch.kernels import kernel, launch


def _width(x: Tensor, dims: int) -> int:
    return x.shape[-1] if dims == 1 else math.prod(x.shape[-dims:])


def _dense(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def rows_like(x: Tensor, dims: int) -> Tensor:
    """A float32 for each row."""
    return x.new_empty(x.shape[: x.dim() - dims], dtype=torch.float32)


def dense_like(x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """A new dense tensor of x's shape."""
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


def nothing(x: Tensor) -> Tensor:
    """The result that is not asked for."""
    return x.new_empty((0,))


def rms_norm(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor | None,
    dims: int,
    eps: float,
    weight_offset: float,
    dtype: torch.dtype | None,
    with_rstd: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """y, h and rstd."""
    x = _dense(x)
    function = kernel(
        x.get_device(),
        programs.rms_norm,
        _width(x, dims),
        x.dtype,
        dtype or x.dtype,
        None if weight is None else weight.dtype,
        eps,
        weight_offset,
        with_rstd,
        residual is not None,
    )
    y = dense_like(x, dtype)
    tensors, outputs = [x], [y]
    h = rstd = y
    if residual is not None:
        tensors.append(_dense(residual))
        outputs.append(h := dense_like(x))
    if weight is not None:
        tensors.append(_dense(weight))
    if with_rstd:
        outputs.append(rstd := rows_like(x, dims))
    launch(function, *tensors, *outputs)
    return y, h, rstd


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
    """dx and dweight."""
    x, dy = _dense(x), _dense(dy)
    function = kernel(
        x.get_device(),
        programs.rms_norm_grad,
        _width(x, dims),
        x.dtype,
        dy.dtype,
        None if weight is None else weight.dtype,
        eps,
        weight_offset,
        residual is not None,
        with_dweight,
    )
    tensors, outputs = [x, dy], [dense_like(x)]
    if weight is not None:
        tensors.append(_dense(weight))
    tensors.append(_dense(rstd))
    if residual is not None:
        tensors.append(_dense(residual))
    if weight is not None and with_dweight:
        outputs.append(dense_like(weight))
    launch(function, *tensors, *outputs)
    return outputs[0], outputs[1] if len(outputs) > 1 else nothing(x)


def layer_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    dims: int,
    eps: float,
    dtype: torch.dtype | None,
    with_statistics: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """y, mean and rstd."""
    x = _dense(x)
    function = kernel(
        x.get_device(),
        programs.layer_norm,
        _width(x, dims),
        x.dtype,
        dtype or x.dtype,
        None if weight is None else weight.dtype,
        None if bias is None else bias.dtype,
        eps,
        with_statistics,
    )
    y = dense_like(x, dtype)
    tensors, outputs = [x], [y]
    tensors += [_dense(operand) for operand in (weight, bias) if operand is not None]
    if with_statistics:
        outputs += [rows_like(x, dims), rows_like(x, dims)]
    launch(function, *tensors, *outputs)
    return y, outputs[-2] if with_statistics else y, outputs[-1]


def layer_norm_grad(
    dy: Tensor,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    dims: int,
    eps: float,
    with_dweight: bool,
    with_dbias: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """dx, dweight and dbias."""
    x, dy = _dense(x), _dense(dy)
    function = kernel(
        x.get_device(),
        programs.layer_norm_grad,
        _width(x, dims),
        x.dtype,
        dy.dtype,
        None if weight is None else weight.dtype,
        None if bias is None else bias.dtype,
        eps,
        with_dweight,
        with_dbias,
    )
    tensors, outputs = [x, dy], [dense_like(x)]
    if weight is not None:
        tensors.append(_dense(weight))
    tensors += [_dense(mean), _dense(rstd)]
    # Two, as results of an op must not be one tensor.
    dweight, dbias = nothing(x), nothing(x)
    if weight is not None and with_dweight:
        outputs.append(dweight := dense_like(weight))
    if bias is not None and with_dbias:
        outputs.append(dbias := dense_like(bias))
    launch(function, *tensors, *outputs)
    return outputs[0], dweight, dbias


def _is_last(x: Tensor, dim: int) -> bool:
    return dim == x.dim() - 1 or math.prod(x.shape[dim + 1 :]) == 1


def _seen_along(tensor: Tensor, dim: int, is_last: bool) -> Tensor:
    """The tensor as a program sees it whose rows lie along ``dim``: where that is not the last, between two other dims."""
    tensor = _dense(tensor)
    if is_last:
        return tensor
    return tensor.view(math.prod(tensor.shape[:dim]), tensor.shape[dim], -1)


def softmax(op: str, x: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
    """y of softmax or log_softmax, along ``dim``, which is not negative."""
    is_last = _is_last(x, dim)
    y = dense_like(x, dtype)
    function = kernel(x.get_device(), programs.softmax, op, x.shape[dim], is_last, x.dtype, y.dtype)
    if x.numel() > 0:
        launch(function, _seen_along(x, dim, is_last), _seen_along(y, dim, is_last))
    return y


def softmax_grad(op: str, dy: Tensor, y: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    """dx, of type ``dtype``."""
    is_last = _is_last(y, dim)
    dx = dense_like(y, dtype)
    function = kernel(y.get_device(), programs.softmax_grad, op, y.shape[dim], is_last, dtype, y.dtype, dy.dtype)
    if y.numel() > 0:
        launch(function, *(_seen_along(tensor, dim, is_last) for tensor in (y, dy, dx)))
    return dx


def class_dim(logits: Tensor) -> int:
    """The dim of classes: the only one, or the second."""
    return 0 if logits.dim() == 1 else 1


def loss_rows(logits: Tensor) -> Tensor:
    """A float32 for each of the rows that have a label."""
    shape = list(logits.shape)
    del shape[class_dim(logits)]
    return logits.new_empty(shape, dtype=torch.float32)


def _beside_classes(tensor: Tensor, logits: Tensor, is_last: bool) -> Tensor:
    """Labels or losses as a program sees them: of rows, or of what lies before and behind the classes."""
    tensor = _dense(tensor)
    return tensor if is_last else tensor.view(logits.shape[0], -1)


def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    z_loss: float,
    softcap: float,
) -> tuple[Tensor, Tensor]:
    """The loss of each row and the logarithm of its sum of exponentials."""
    dim = class_dim(logits)
    is_last = _is_last(logits, dim)
    function = kernel(
        logits.get_device(),
        programs.cross_entropy,
        logits.shape[dim],
        is_last,
        logits.dtype,
        labels.dtype,
        None if weight is None else weight.dtype,
        ignore_index,
        label_smoothing,
        z_loss,
        softcap,
    )
    loss, lse = loss_rows(logits), loss_rows(logits)
    if loss.numel() > 0:
        tensors = [_seen_along(logits, dim, is_last), _beside_classes(labels, logits, is_last)]
        if weight is not None:
            tensors.append(_dense(weight))
        tensors += [_beside_classes(result, logits, is_last) for result in (loss, lse)]
        launch(function, *tensors)
    return loss, lse


def cross_entropy_grad(
    dloss: Tensor,
    logits: Tensor,
    labels: Tensor,
    lse: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    z_loss: float,
    softcap: float,
) -> Tensor:
    """dlogits."""
    dim = class_dim(logits)
    is_last = _is_last(logits, dim)
    function = kernel(
        logits.get_device(),
        programs.cross_entropy_grad,
        logits.shape[dim],
        is_last,
        logits.dtype,
        labels.dtype,
        None if weight is None else weight.dtype,
        ignore_index,
        label_smoothing,
        z_loss,
        softcap,
    )
    dlogits = dense_like(logits)
    if logits.numel() > 0:
        of_rows = [_beside_classes(operand, logits, is_last) for operand in (labels, dloss, lse)]
        tensors = [_seen_along(logits, dim, is_last), *of_rows]
        if weight is not None:
            tensors.append(_dense(weight))
        launch(function, *tensors, _seen_along(dlogits, dim, is_last))
    return dlogits
