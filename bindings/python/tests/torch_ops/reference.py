"""Evaluates functions by the definitions in their manifests, in float64 on the host.

The compiler reads the source and writes the manifest, so a test of an op also tests the text of its program: operands in
another order, a missing option, or a result of another type change what is evaluated here. The formulas are those of
`dialects/norm/norm.md`.
"""

import functools
import json
import math
import types

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
    request = Request(source.text, ("sm_90a",), source.schedules)
    return Compiler.find().run(request, "<source>")["manifest.json"]


class Reference:
    """Has the interface of `norma.Function`, for dense tensors of the host."""

    def __init__(self, source):
        (self.described,) = json.loads(_manifest(source))["functions"]
        self.name = self.described["name"]
        self.calls = 0

    @property
    def inputs(self):
        return [types.SimpleNamespace(align=1) for _ in self.described["inputs"]]

    def launch(self, *tensors):
        """Evaluates the function on its inputs and writes its outputs."""
        described = self.described["inputs"] + self.described["outputs"]
        if len(tensors) != len(described):
            raise ArgumentError(f"expected {len(described)} tensors, got {len(tensors)}")
        sizes, values = {}, {}
        for tensor, expected in zip(tensors, described, strict=True):
            values[expected["name"]] = self._viewed(tensor, expected, sizes)
        definition = self.described["definition"]
        dtypes = {made["name"]: DTYPES[made["dtype"]] for made in definition.get("intermediates", [])}
        for statement in definition["statements"]:
            if statement["kind"] == "program":
                run_program(statement, values, dtypes)
                continue
            operands = {name: values[tensor].double() for name, tensor in statement["operands"].items()}
            computed = NAMED[statement["op"]](**operands, **statement["attributes"])
            for name, tensor in statement["results"].items():
                if tensor in dtypes:
                    values[tensor] = computed[name].to(dtypes[tensor])
                else:
                    values[tensor].copy_(computed[name])
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


class ReferenceCache:
    """A `norma._runtime.SignatureCache` for references; its signatures contain whole shapes."""

    def __init__(self, _framework, row_dims):
        self.row_dims = row_dims
        self.known = {}

    @staticmethod
    def _signature(tensors):
        return tuple(tensor if tensor is None else (tensor.dtype, tensor.shape) for tensor in tensors)

    def call(self, *tensors):
        function = self.known.get(self._signature(tensors))
        is_dense = all(tensor is None or tensor.is_contiguous() for tensor in tensors)
        return self._launch(function, tensors) if function and is_dense else None

    def add(self, function, *tensors):
        results = self._launch(function, tensors)
        self.known[self._signature(tensors)] = function
        return results

    def _launch(self, function, tensors):
        present = [tensor for tensor in tensors if tensor is not None]
        first = present[0]
        rows = first.dim() - self.row_dims
        inputs = [described["shape"] for described in function.described["inputs"]]
        outputs = []
        for described in function.described["outputs"]:
            shape = described["shape"]
            if shape in inputs:
                shape = present[inputs.index(shape)].shape
            elif shape and isinstance(shape[0], str):
                shape = (*first.shape[:rows], *(extent for extent in shape if isinstance(extent, int)))
            elif shape:
                shape = first.shape[rows:]
            outputs.append(torch.empty(shape, dtype=DTYPES[described["dtype"]]))
        function.launch(*present, *outputs)
        return tuple(outputs)


#: The ops of programs, computed in float64; their results are rounded when they are written.
OPS = {
    "arith.addf": torch.add,
    "arith.divf": torch.div,
    "arith.extf": lambda x: x,
    "arith.truncf": lambda x: x,
}


def run_program(program, values, dtypes):
    """Runs a program of sums and elementwise ops whose accesses consist of dims in order and constants."""
    reads = [step for step in program["steps"] if step["kind"] == "read"]
    extents = [1] * len(program["space"])
    for step in reads:
        for dim, axis in _dims(step["access"]):
            extents[dim] = values[step["tensor"]].shape[axis]
    results = []
    for step in program["steps"]:
        if step["kind"] == "read":
            read = values[step["tensor"]][_index(step["access"])].double()
            dims = [dim for dim, _ in _dims(step["access"])]
            results.append(read.reshape([extent if dim in dims else 1 for dim, extent in enumerate(extents)]))
        elif step["kind"] == "op":
            results.append(OPS[step["name"]](*(results[operand] for operand in step["operands"])))
        elif step["kind"] == "reduce":
            assert step["combiner"] == "add"
            (operand,) = step["operands"]
            whole = results[operand].broadcast_to(extents)
            results.append(whole.sum(step["over"], keepdim=True))
        else:
            assert step["kind"] == "write"
            name, access = step["tensor"], step["access"]
            dims = dict(_dims(access))
            if name not in values:
                behind = [extents[int(place[1:])] if _is_dim(place) else 2 for place in access]
                values[name] = torch.empty(behind, dtype=dtypes[name])
            written = results[step["value"]].broadcast_to(
                [extent if dim in dims else 1 for dim, extent in enumerate(extents)]
            )
            values[name][_index(access)] = written.reshape([extents[dim] for dim in dims]).to(values[name].dtype)


def _is_dim(place):
    return isinstance(place, str) and place.startswith("d")


def _dims(access):
    return [(int(place[1:]), axis) for axis, place in enumerate(access) if _is_dim(place)]


def _index(access):
    return tuple(slice(None) if _is_dim(place) else int(place) for place in access)


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


def top_k(x, k, axis):
    assert axis == -1
    # A stable sort keeps equal elements in the order of their positions.
    values, indices = torch.sort(x, dim=axis, descending=True, stable=True)
    return {"values": values[..., :k], "indices": indices[..., :k]}


def top_k_grad(dvalues, indices, elements, axis):
    assert axis == -1
    dx = torch.zeros((*dvalues.shape[:-1], elements), dtype=dvalues.dtype)
    return {"dx": dx.scatter_add(axis, indices.long(), dvalues)}


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


def cross_entropy(logits, labels, axis, ignore_index, softcap, reduction, weight=None, **options):
    assert reduction == "none"
    lse = torch.logsumexp(_capped(logits, softcap), axis)
    loss = _losses(logits, labels, lse, axis, ignore_index, softcap=softcap, weight=weight, **options)
    weight = torch.ones(logits.shape[axis], dtype=logits.dtype) if weight is None else weight
    is_ignored = labels == ignore_index
    row_weight = torch.where(is_ignored, 0.0, weight[torch.where(is_ignored, 0, labels.long())])
    return {"loss": loss, "lse": lse, "row_weight": row_weight}


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
    "top_k": top_k,
    "top_k_grad": top_k_grad,
    "cross_entropy": cross_entropy,
    "cross_entropy_grad": cross_entropy_grad,
}
