"""Functions evaluated by what their manifests say that they compute, in float64 and on the host.

The compiler reads the source and writes the manifest, so that a test of an op's program is also one of its spelling: operands in
another order, an option that is lost, or a result of another type change what is evaluated here. The formulas are those of
`dialects/norm/norm.md`.
"""

import functools
import json
import math

import torch
import torch.nn.functional as F

from norma import ArgumentError
from norma.compiler import Compiler, Request

DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
}


@functools.cache
def _manifest(source):
    return Compiler.find().run(Request(source, ("sm_90a",)), "<source>")["manifest.json"]


class Reference:
    """A function of `norma.Function`'s shape, on dense tensors of the host."""

    def __init__(self, source):
        (self.described,) = json.loads(_manifest(source))["functions"]
        self.name = self.described["name"]
        self.calls = 0

    @property
    def inputs(self):
        return []

    def launch_viewed(self, *tensors):
        described = self.described["inputs"] + self.described["outputs"]
        if len(tensors) != len(described):
            raise ArgumentError(f"expected {len(described)} tensors, got {len(tensors)}")
        sizes, values = {}, {}
        for tensor, expected in zip(tensors, described, strict=True):
            values[expected["name"]] = self._viewed(tensor, expected, sizes)
        for statement in self.described["definition"]["statements"]:
            if statement["kind"] == "program":
                results = _sum_of_two(statement, values)
            else:
                operands = {name: values[tensor].double() for name, tensor in statement["operands"].items()}
                computed = NAMED[statement["op"]](**operands, **statement["attributes"])
                results = {tensor: computed[name] for name, tensor in statement["results"].items()}
            for tensor, value in results.items():
                values[tensor].copy_(value)
        self.calls += 1

    @staticmethod
    def _viewed(tensor, expected, sizes):
        name = expected["name"]
        if tensor.dtype != DTYPES[expected["dtype"]] or not tensor.is_contiguous():
            raise ArgumentError(f"expected '{name}' to be dense, of {expected['dtype']}, got {tensor.dtype}")
        shape = expected["shape"]
        if sum(isinstance(extent, str) for extent in shape) < 2:
            constant = math.prod(extent for extent in shape if isinstance(extent, int))
            shape = [extent if isinstance(extent, int) else tensor.numel() // constant for extent in shape]
            tensor = tensor.view(shape)
        for extent, symbol in zip(tensor.shape, expected["shape"], strict=True):
            if sizes.setdefault(symbol, extent if isinstance(symbol, str) else symbol) != extent:
                raise ArgumentError(f"expected '{name}' to be {expected['shape']}, got {tuple(tensor.shape)}")
        return tensor


def _sum_of_two(statement, values):
    """The one program that ops here have: the sum of a residual, rounded."""
    first, second, added, written = statement["steps"]
    assert (first["kind"], second["kind"], added["name"], written["kind"]) == ("read", "read", "arith.addf", "write")
    return {written["tensor"]: values[first["tensor"]] + values[second["tensor"]]}


def _rstd(x, eps):
    return ((x * x).mean(-1) + eps).rsqrt()


def rms_norm(x, axes, eps, weight_offset, weight=1.0):
    assert axes == [-1]
    rstd = _rstd(x, eps)
    return {"y": x * rstd[:, None] * (weight + weight_offset), "rstd": rstd}


def rms_norm_grad(x, dy, rstd, axes, eps, weight_offset, weight=1.0, residual=0.0):
    assert axes == [-1] and torch.allclose(rstd, _rstd(x, eps), rtol=1e-5)
    h = x * rstd[:, None]
    g = dy * (weight + weight_offset)
    dx = (g - h * (g * h).mean(-1, keepdim=True)) * rstd[:, None] + residual
    return {"dx": dx, "dweight": (dy * h).sum(0)}


def layer_norm(x, axes, eps, weight_offset, weight=1.0, bias=0.0):
    assert axes == [-1] and weight_offset == 0
    mean = x.mean(-1)
    centred = x - mean[:, None]
    rstd = _rstd(centred, eps)
    return {"y": centred * rstd[:, None] * weight + bias, "mean": mean, "rstd": rstd}


def layer_norm_grad(x, dy, mean, rstd, axes, eps, weight_offset, weight=1.0):
    assert axes == [-1] and torch.allclose(mean, x.mean(-1), rtol=1e-5, atol=1e-6)
    h = (x - mean[:, None]) * rstd[:, None]
    assert torch.allclose(rstd, _rstd(x - mean[:, None], eps), rtol=1e-5)
    g = dy * weight
    dx = (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True)) * rstd[:, None]
    return {"dx": dx, "dweight": (dy * h).sum(0), "dbias": dy.sum(0)}


def softmax(x, axes, **options):
    (axis,) = axes
    return {"y": torch.exp(log_softmax(x, axes, **options)["y"])}


def log_softmax(x, axes, scale, softcap, causal):
    assert (scale, softcap, causal) == (1, 0, [])
    (axis,) = axes
    return {"y": x - torch.logsumexp(x, axis, keepdim=True)}


def softmax_grad(y, dy, axes, scale):
    assert scale == 1
    (axis,) = axes
    return {"dx": y * (dy - (y * dy).sum(axis, keepdim=True))}


def log_softmax_grad(y, dy, axes, scale):
    assert scale == 1
    (axis,) = axes
    return {"dx": dy - y.exp() * dy.sum(axis, keepdim=True)}


def _capped(logits, softcap):
    return softcap * torch.tanh(logits / softcap) if softcap else logits


def _losses(logits, labels, lse, axis, ignore_index, label_smoothing, z_loss, softcap, weight):
    s = _capped(logits, softcap).movedim(axis, -1)
    classes = s.shape[-1]
    weight = torch.ones(classes, dtype=s.dtype) if weight is None else weight
    labels = labels.long()
    is_ignored = labels == ignore_index
    label = torch.where(is_ignored, 0, labels)
    of_label = weight[label] * (lse - s.gather(-1, label[..., None])[..., 0])
    of_all = (weight * (lse[..., None] - s)).sum(-1) / classes
    loss = (1 - label_smoothing) * of_label + label_smoothing * of_all + z_loss * lse**2
    return torch.where(is_ignored, 0.0, loss)


def cross_entropy(logits, labels, axis, softcap, reduction, weight=None, **options):
    assert reduction == "none"
    lse = torch.logsumexp(_capped(logits, softcap), axis)
    return {"loss": _losses(logits, labels, lse, axis, softcap=softcap, weight=weight, **options), "lse": lse}


def cross_entropy_grad(logits, labels, dloss, lse, axis, ignore_index, label_smoothing, z_loss, softcap, weight=None):
    s = _capped(logits, softcap).movedim(axis, -1)
    assert torch.allclose(lse, torch.logsumexp(s, -1), rtol=1e-5)
    classes = s.shape[-1]
    weight = torch.ones(classes, dtype=s.dtype) if weight is None else weight
    labels = labels.long()
    is_ignored = labels == ignore_index
    label = torch.where(is_ignored, 0, labels)
    p = torch.exp(s - lse[..., None])
    ds = (1 - label_smoothing) * weight[label][..., None] * (p - F.one_hot(label, classes))
    ds += label_smoothing / classes * (p * weight.sum() - weight) + 2 * z_loss * lse[..., None] * p
    if softcap:
        ds *= 1 - (s / softcap) ** 2
    dlogits = torch.where(is_ignored[..., None], 0.0, dloss[..., None] * ds)
    return {"dlogits": dlogits.movedim(-1, axis)}


NAMED = {
    "rms_norm": rms_norm,
    "rms_norm_grad": rms_norm_grad,
    "layer_norm": layer_norm,
    "layer_norm_grad": layer_norm_grad,
    "softmax": softmax,
    "softmax_grad": softmax_grad,
    "log_softmax": log_softmax,
    "log_softmax_grad": log_softmax_grad,
    "cross_entropy": cross_entropy,
    "cross_entropy_grad": cross_entropy_grad,
}
