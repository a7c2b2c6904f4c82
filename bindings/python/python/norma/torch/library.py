"""The ops as torch knows them, ``torch.ops.norma.*``: what tracing sees, and what a traced graph calls.

Each op is functional and says by a fake implementation what its results look like, so that a graph keeps it whole. Gradients of ops
are ops as well; the formulas that tie them together are in :mod:`norma.torch.gradients`.
"""

from torch import Tensor
import torch
from torch.library import custom_op

from norma.torch import launches


def _op(function):
    return custom_op(f"norma::{function.__name__}", mutates_args=(), device_types="cuda")(function)


@_op
def rms_norm(
    x: Tensor, weight: Tensor | None, dims: int, eps: float, weight_offset: float, dtype: torch.dtype | None
) -> tuple[Tensor, Tensor]:
    y, _, rstd = launches.rms_norm(x, None, weight, dims, eps, weight_offset, dtype, True)
    return y, rstd


@rms_norm.register_fake
def _(x, weight, dims, eps, weight_offset, dtype):
    return launches.dense_like(x, dtype), launches.rows_like(x, dims)


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
    return launches.dense_like(x, dtype), launches.dense_like(x), launches.rows_like(x, dims)


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
    return launches.rms_norm_grad(dy, x, weight, rstd, residual, dims, eps, weight_offset, with_dweight)


@rms_norm_grad.register_fake
def _(dy, x, weight, rstd, residual, dims, eps, weight_offset, with_dweight):
    return launches.dense_like(x), _gradient_of(weight, with_dweight, x)


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
    return launches.dense_like(x, dtype), launches.rows_like(x, dims), launches.rows_like(x, dims)


@_op
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
    return launches.layer_norm_grad(dy, x, weight, bias, mean, rstd, dims, eps, with_dweight, with_dbias)


@layer_norm_grad.register_fake
def _(dy, x, weight, bias, mean, rstd, dims, eps, with_dweight, with_dbias):
    return launches.dense_like(x), _gradient_of(weight, with_dweight, x), _gradient_of(bias, with_dbias, x)


@_op
def softmax(x: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
    return launches.softmax("softmax", x, dim, dtype)


@_op
def log_softmax(x: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
    return launches.softmax("log_softmax", x, dim, dtype)


@softmax.register_fake
@log_softmax.register_fake
def _(x, dim, dtype):
    return launches.dense_like(x, dtype)


@_op
def softmax_grad(dy: Tensor, y: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    return launches.softmax_grad("softmax", dy, y, dim, dtype)


@_op
def log_softmax_grad(dy: Tensor, y: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    return launches.softmax_grad("log_softmax", dy, y, dim, dtype)


@softmax_grad.register_fake
@log_softmax_grad.register_fake
def _(dy, y, dim, dtype):
    return launches.dense_like(y, dtype)


@_op
def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    z_loss: float,
    softcap: float,
) -> tuple[Tensor, Tensor]:
    return launches.cross_entropy(logits, labels, weight, ignore_index, label_smoothing, z_loss, softcap)


@cross_entropy.register_fake
def _(logits, labels, weight, ignore_index, label_smoothing, z_loss, softcap):
    return launches.loss_rows(logits), launches.loss_rows(logits)


@_op
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
    return launches.cross_entropy_grad(
        dloss, logits, labels, lse, weight, ignore_index, label_smoothing, z_loss, softcap
    )


@cross_entropy_grad.register_fake
def _(dloss, logits, labels, lse, weight, ignore_index, label_smoothing, z_loss, softcap):
    return launches.dense_like(logits)


def _gradient_of(operand: Tensor | None, is_wanted: bool, x: Tensor) -> Tensor:
    return launches.nothing(x) if operand is None or not is_wanted else launches.dense_like(operand)
