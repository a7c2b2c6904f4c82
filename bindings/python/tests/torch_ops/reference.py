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
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E5M2": torch.float8_e5m2,
    "f8E8M0FNU": torch.float8_e8m0fnu,
    "i64": torch.int64,
    "i32": torch.int32,
    "i8": torch.int8,
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
            attributes = statement["attributes"]
            if statement["op"] == "quantize":
                attributes = attributes | {"types": {of: values[at].dtype for of, at in statement["results"].items()}}
            computed = NAMED[statement["op"]](**operands, **attributes)
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
        rows, row = first.shape[: first.dim() - self.row_dims], first.shape[first.dim() - self.row_dims :]
        inputs = [described["shape"] for described in function.described["inputs"]]
        outputs = []
        for described in function.described["outputs"]:
            shape = described["shape"]
            if shape in inputs:
                shape = present[inputs.index(shape)].shape
            elif not any(isinstance(extent, str) for extent in shape):
                shape = row if shape and math.prod(shape) == math.prod(row) else shape
            elif shape[0] == inputs[0][0] and not any(isinstance(extent, str) for extent in shape[1:]):
                shape = (*rows, *shape[1:])
            else:
                shape = self._computed(described, inputs, present)
            outputs.append(torch.empty(shape, dtype=DTYPES[described["dtype"]]))
        function.launch(*present, *outputs)
        return tuple(outputs)

    @staticmethod
    def _computed(described, inputs, present):
        """The shape of an output with sizes that follow from those of the inputs: the least ones that its accesses allow."""
        sizes = {}
        for shape, tensor in zip(inputs, present, strict=True):
            if len(shape) != tensor.dim():
                constant = math.prod(extent for extent in shape if isinstance(extent, int))
                tensor = torch.empty(
                    [e if isinstance(e, int) else tensor.numel() // constant for e in shape], device="meta"
                )
            sizes |= {symbol: extent for symbol, extent in zip(shape, tensor.shape) if isinstance(symbol, str)}
        functions = {"floordiv": lambda a, b: a // b, "ceildiv": lambda a, b: -(-a // b), "max": max, "min": min}
        least = described.get("shape_minimums", described["shape"])
        return [
            extent if isinstance(extent, int) else eval(str(sizes.get(extent, minimum)), functions, sizes)
            for extent, minimum in zip(described["shape"], least, strict=True)
        ]


#: The ops of programs, computed in float64; their results are rounded when they are written.
OPS = {
    "arith.addf": torch.add,
    "arith.mulf": torch.mul,
    "arith.divf": torch.div,
    "arith.negf": torch.neg,
    "arith.extf": lambda x: x,
    "arith.truncf": lambda x: x,
    "arith.index_cast": lambda x: x,
    "arith.select": lambda condition, x, y: torch.where(condition, x, y),
    "math.exp": torch.exp,
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
        elif step["kind"] == "constant":
            results.append(torch.full([1] * len(extents), step["value"], dtype=torch.float64))
        elif step["kind"] == "index":
            dim = step["dim"]
            along = [extent if dim == at else 1 for at, extent in enumerate(extents)]
            results.append(torch.arange(extents[dim], dtype=torch.float64).reshape(along))
        elif step.get("name") == "arith.cmpi":
            assert step["predicate"] == "eq"
            results.append(torch.eq(*(results[operand] for operand in step["operands"])))
        elif step["kind"] == "op":
            results.append(OPS[step["name"]](*(results[operand] for operand in step["operands"])))
        elif step["kind"] == "reduce":
            assert step["combiner"] == "add"
            (operand,) = step["operands"]
            value, over = results[operand], step["over"]
            whole = value.broadcast_to(
                [extent if dim in over else value.shape[dim] for dim, extent in enumerate(extents)]
            )
            results.append(whole.sum(over, keepdim=True))
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


#: The magnitudes of floats of 4 bits, by their codes.
E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], dtype=torch.float64)


def _to_e2m1(x):
    """The codes of the nearest floats of 4 bits, ties to even codes."""
    middles = (E2M1[1:] + E2M1[:-1]) / 2
    magnitude = x.abs().contiguous()
    code = torch.searchsorted(middles, magnitude)
    is_tie = magnitude == middles[code.clamp(max=6)]
    code = torch.where(is_tie & (code % 2 == 1), code + 1, code)
    return code + 8 * torch.signbit(x)


def _blocks(x, block):
    """The largest magnitude of each block, with a dim for each of x's."""
    block = block or [0] * x.dim()
    for dim, size in enumerate(block):
        extent = x.shape[dim]
        if extent:
            x = torch.stack([part.abs().amax(dim) for part in x.split(size or extent, dim)], dim)
    return x


def _spread(scale, block, shape):
    """The scale of each element; ``scale`` has a dim for each of the tensor's."""
    for dim, extent in enumerate(shape):
        size = (block[dim] if block else 0) or extent
        scale = scale.repeat_interleave(size, dim).narrow(dim, 0, extent)
    return scale


def _from_layout(scale, layout, rows, columns):
    if layout == "column_major":
        return scale.mT
    if layout == "swizzled_128x4":
        return scale.permute(0, 3, 2, 1, 4).reshape(scale.shape[0] * 128, -1)[:rows, :columns]
    return scale


def _to_layout(scale, layout):
    if layout == "column_major":
        return scale.mT
    if layout == "swizzled_128x4":
        rows, columns = scale.shape
        padded = F.pad(scale, (0, -columns % 4, 0, -rows % 128))
        return padded.reshape(-(-rows // 128), 4, 32, -(-columns // 4), 4).permute(0, 3, 2, 1, 4)
    return scale


def _with_all_dims(scale, block, rank):
    """Adds a dim for each along which a block has all elements."""
    for dim in range(rank):
        if not block or block[dim] == 0:
            scale = scale.unsqueeze(dim)
    return scale


def quantize(
    x,
    block,
    scale_layout,
    types,
    static_scale=None,
    tensor_scale=None,
    power_of_two=False,
    round_down=False,
    e2m1=False,
):
    limit = 6.0 if e2m1 else 127.0 if types["q"] == torch.int8 else torch.finfo(types["q"]).max
    if static_scale is not None:
        scale = divisor = _with_all_dims(static_scale, block, x.dim())
    else:
        of_scale, amax = types["scale"], _blocks(x, block)
        if round_down:
            # frexp's exponent of a power of two is one more than its logarithm.
            scale = torch.ldexp(torch.ones_like(amax), torch.frexp(amax)[1] - 1 - math.floor(math.log2(limit)))
            scale = torch.where(amax > 0, scale, 0.0)
        elif power_of_two or of_scale == torch.float8_e8m0fnu:
            scale = torch.where(amax > 0, 2.0 ** torch.ceil(torch.log2(amax / limit)), 0.0)
        else:
            scale = amax / limit
        if of_scale == torch.float8_e4m3fn:
            scale = (scale / (1.0 if tensor_scale is None else tensor_scale)).clamp(2.0**-9, 448.0)
        else:
            scale = scale.clamp(min=2.0**-126)
        scale = scale.to(of_scale).double()
        divisor = scale if tensor_scale is None else scale * tensor_scale
    q = x / _spread(divisor, block, x.shape)
    if e2m1:
        codes = _to_e2m1(q).unflatten(-1, (-1, 2))
        q = (codes[..., 0] + 16 * codes[..., 1]).to(torch.uint8).view(torch.int8)
    elif types["q"] == torch.int8:
        q = q.round().clamp(-128, 127)
    else:
        q = q.clamp(-limit, limit)
    kept = [slice(None) if block and block[dim] else 0 for dim in range(x.dim())]
    return {"q": q, "scale": _to_layout(scale[tuple(kept)], scale_layout)}


def dequantize(q, scale, block, scale_layout, tensor_scale=1.0, e2m1=False):
    if e2m1:
        codes = torch.stack([q.to(torch.int64) & 15, (q.to(torch.int64) >> 4) & 15], -1).flatten(-2)
        q = E2M1[codes % 8] * torch.where(codes < 8, 1.0, -1.0)
    if block:
        columns = -(-q.shape[-1] // block[-1]) if block[-1] else 1
        scale = _from_layout(scale, scale_layout, q.shape[-2], columns)
    scale = _with_all_dims(scale, block, q.dim())
    return {"y": q * _spread(scale, block, q.shape) * tensor_scale}


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
    "quantize": quantize,
    "dequantize": dequantize,
}
