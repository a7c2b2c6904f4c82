"""Writes the ops' programs in MLIR, for the rows and types that they are compiled for.

Each function takes the extents of a row, the types of an op's tensors (``None`` for an absent one), and the op's options. The number of
rows is dynamic: a program serves any number of them. A program's tensors have the names of the op's operands and
results.
"""

import math
from typing import NamedTuple

import torch

from norma.torch.quantization import LINEAR, Quantization

#: MLIR's names of the types that kernels accept.
TYPES = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2",
    torch.float8_e8m0fnu: "f8E8M0FNU",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int8: "i8",
}


class Source(NamedTuple):
    """A program with one function, and schedules that replace the compiler's choice for some of its kernels."""

    text: str
    schedules: tuple[str, ...] = ()


class _Program:
    """Builds the text of a function with one or several ops."""

    def __init__(self, name: str):
        self._name = name
        self._inputs: list[str] = []
        self._results: list[tuple[str, str]] = []
        self._lines: list[str] = []

    def input(self, name: str, type_: str) -> str:
        """Adds an argument and returns its value."""
        self._inputs.append(f'%{name}: {type_} {{norm.name = "{name}"}}')
        return f"%{name}"

    def operand(self, name: str, type_: str) -> str:
        """Adds an argument and returns it as a named operand of an op."""
        return f" {name}({self.input(name, type_)} : {type_})"

    def result(self, name: str, type_: str) -> str:
        """Adds a result and returns its type."""
        self._results.append((name, type_))
        return type_

    def line(self, text: str) -> None:
        self._lines.append(text)

    def source(self, *schedules: str) -> Source:
        names = ", ".join(f"%{name}" for name, _ in self._results)
        types = ", ".join(type_ for _, type_ in self._results)
        results = ", ".join(f'{type_} {{norm.name = "{name}"}}' for name, type_ in self._results)
        body = "".join(f"  {line}\n" for line in [*self._lines, f"return {names} : {types}"])
        text = f"func.func @{self._name}({', '.join(self._inputs)}) -> ({results}) {{\n{body}}}\n"
        return Source(text, schedules)


def _tensor(dtype: torch.dtype, *extents: int | None) -> str:
    shape = "".join(f"{'?' if extent is None else extent}x" for extent in extents)
    return f"tensor<{shape}{TYPES[dtype]}>"


def _f32(value: float) -> str:
    # MLIR parses a number with a decimal point as a float, whatever its exponent.
    return f"{value:.17e} : f32"


#: The value of an attribute that says something by being there.
_UNIT = "unit"


def _attributes(**values: str | None) -> str:
    given = ", ".join(f"{name} = {value}" for name, value in values.items() if value is not None)
    return f" {{{given}}}" if given else ""


def _offset(weight_offset: float) -> str | None:
    return _f32(weight_offset) if weight_offset else None


def _sum(program: _Program, rows: str, residual: torch.dtype | None) -> str:
    """Takes x and, where there is one, the residual; what is normalized, which is then their sum h."""
    x = program.input("x", rows)
    if not residual:
        return x
    added = program.input("residual", rows)
    program.line(f"%h = arith.addf {x}, {added} : {rows}")
    return "%h"


def rms_norm(
    row: tuple[int, ...],
    x: torch.dtype,
    residual: torch.dtype | None,
    weight: torch.dtype | None,
    eps: float,
    weight_offset: float,
    dtype: torch.dtype | None,
    with_rstd: bool,
) -> Source:
    """``x, [residual], [weight] -> y, [h], [rstd]``; with a residual, the sum h = x + residual is normalized."""
    program = _Program("add_rms_norm" if residual else "rms_norm")
    width = math.prod(row)
    rows = _tensor(x, None, width)
    normalized = _sum(program, rows, residual)
    operands = program.operand("weight", _tensor(weight, width)) if weight else ""
    types = program.result("y", _tensor(dtype or x, None, width))
    values = "%y"
    if residual:
        program.result("h", rows)
    if with_rstd:
        values += ", %rstd"
        types += f", {program.result('rstd', _tensor(torch.float32, None))}"
    attributes = _attributes(eps=_f32(eps), weight_offset=_offset(weight_offset))
    program.line(f"{values} = norm.rms_norm {normalized}{operands}{attributes} : {rows} -> {types}")
    return program.source()


def rms_norm_grad(
    row: tuple[int, ...],
    x: torch.dtype,
    dy: torch.dtype,
    weight: torch.dtype | None,
    rstd: torch.dtype,
    residual: torch.dtype | None,
    eps: float,
    weight_offset: float,
    with_dweight: bool,
) -> Source:
    """``x, dy, [weight], rstd, [residual] -> dx, [dweight]``; ``residual`` is a gradient that reaches x by another path."""
    program = _Program("rms_norm_grad")
    width = math.prod(row)
    rows = _tensor(x, None, width)
    value = program.input("x", rows)
    operands = program.operand("dy", _tensor(dy, None, width))
    if weight:
        operands += program.operand("weight", _tensor(weight, width))
    operands += program.operand("rstd", _tensor(rstd, None))
    if residual:
        operands += program.operand("residual", _tensor(residual, None, width))
    types, values = program.result("dx", rows), "%dx"
    if with_dweight and weight:
        values += ", %dweight"
        types += f" dweight({program.result('dweight', _tensor(weight, width))})"
    attributes = _attributes(eps=_f32(eps), weight_offset=_offset(weight_offset))
    program.line(f"{values} = norm.rms_norm_grad {value}{operands}{attributes} : {rows} -> {types}")
    return program.source()


def layer_norm(
    row: tuple[int, ...],
    x: torch.dtype,
    weight: torch.dtype | None,
    bias: torch.dtype | None,
    eps: float,
    dtype: torch.dtype | None,
    with_statistics: bool,
) -> Source:
    """``x, [weight], [bias] -> y, [mean, rstd]``"""
    program = _Program("layer_norm")
    width = math.prod(row)
    rows = _tensor(x, None, width)
    value = program.input("x", rows)
    operands = program.operand("weight", _tensor(weight, width)) if weight else ""
    operands += program.operand("bias", _tensor(bias, width)) if bias else ""
    types, values = program.result("y", _tensor(dtype or x, None, width)), "%y"
    if with_statistics:
        values += ", %mean, %rstd"
        statistic = _tensor(torch.float32, None)
        types += f", {program.result('mean', statistic)}, {program.result('rstd', statistic)}"
    program.line(f"{values} = norm.layer_norm {value}{operands}{_attributes(eps=_f32(eps))} : {rows} -> {types}")
    return program.source()


def layer_norm_grad(
    row: tuple[int, ...],
    x: torch.dtype,
    dy: torch.dtype,
    weight: torch.dtype | None,
    mean: torch.dtype,
    rstd: torch.dtype,
    eps: float,
    dweight: torch.dtype | None,
    dbias: torch.dtype | None,
) -> Source:
    """``x, dy, [weight], mean, rstd -> dx, [dweight], [dbias]``"""
    program = _Program("layer_norm_grad")
    width = math.prod(row)
    rows = _tensor(x, None, width)
    value = program.input("x", rows)
    operands = program.operand("dy", _tensor(dy, None, width))
    if weight:
        operands += program.operand("weight", _tensor(weight, width))
    operands += program.operand("mean", _tensor(mean, None)) + program.operand("rstd", _tensor(rstd, None))
    types, values = program.result("dx", rows), "%dx"
    for name, dtype in (("dweight", dweight), ("dbias", dbias)):
        if dtype:
            values += f", %{name}"
            types += f" {name}({program.result(name, _tensor(dtype, width))})"
    program.line(f"{values} = norm.layer_norm_grad {value}{operands}{_attributes(eps=_f32(eps))} : {rows} -> {types}")
    return program.source()


def _is_innermost(row: tuple[int, ...]) -> bool:
    """Whether a row's first dim is the innermost one, so that its elements are adjacent in memory."""
    return math.prod(row[1:]) == 1


def _along_rows(dtype: torch.dtype, row: tuple[int, ...]) -> str:
    """The type of rows along the last of two dims, or along the middle one of three."""
    return _tensor(dtype, None, row[0]) if _is_innermost(row) else _tensor(dtype, None, row[0], None)


def _of_rows(dtype: torch.dtype, row: tuple[int, ...]) -> str:
    """The type of a tensor with an element for each row."""
    return _tensor(dtype, None) if _is_innermost(row) else _tensor(dtype, None, None)


def softmax(row: tuple[int, ...], x: torch.dtype, op: str, dtype: torch.dtype | None) -> Source:
    """``x -> y`` of ``op``, softmax or log_softmax, along the first dim of a row."""
    program = _Program(op)
    rows = _along_rows(x, row)
    value = program.input("x", rows)
    result = program.result("y", _along_rows(dtype or x, row))
    attributes = _attributes(axes=None if _is_innermost(row) else "array<i64: 1>")
    program.line(f"%y = norm.{op} {value}{attributes} : {rows} -> {result}")
    return program.source()


def softmax_grad(row: tuple[int, ...], y: torch.dtype, dy: torch.dtype, op: str, dtype: torch.dtype) -> Source:
    """``y, dy -> dx`` of ``op``, along the same dim as :func:`softmax`."""
    program = _Program(f"{op}_grad")
    rows = _along_rows(y, row)
    value = program.input("y", rows)
    operands = program.operand("dy", _along_rows(dy, row))
    result = program.result("dx", _along_rows(dtype, row))
    attributes = _attributes(axes=None if _is_innermost(row) else "array<i64: 1>")
    program.line(f"%dx = norm.{op}_grad {value}{operands}{attributes} : {rows} -> {result}")
    return program.source()


def top_k(row: tuple[int, ...], x: torch.dtype, k: int) -> Source:
    """``x -> values, indices`` of the k largest elements of a row, sorted."""
    program = _Program("top_k")
    (width,) = row
    rows = _tensor(x, None, width)
    value = program.input("x", rows)
    values = program.result("values", _tensor(x, None, k))
    indices = program.result("indices", _tensor(torch.int64, None, k))
    attributes = _attributes(k=f"{k} : i64")
    program.line(f"%values, %indices = norm.top_k {value}{attributes} : {rows} -> {values}, {indices}")
    return program.source()


def top_k_grad(
    row: tuple[int, ...], dvalues: torch.dtype, indices: torch.dtype, elements: int, dtype: torch.dtype
) -> Source:
    """``dvalues, indices -> dx``, with rows of ``elements`` elements."""
    program = _Program("top_k_grad")
    (k,) = row
    rows = _tensor(dvalues, None, k)
    value = program.input("dvalues", rows)
    operands = program.operand("indices", _tensor(indices, None, k))
    result = program.result("dx", _tensor(dtype, None, elements))
    attributes = _attributes(elements=f"{elements} : i64")
    program.line(f"%dx = norm.top_k_grad {value}{operands}{attributes} : {rows} -> {result}")
    return program.source()


def _loss_attributes(
    row: tuple[int, ...], ignore_index: int, label_smoothing: float, z_loss: float, softcap: float
) -> str:
    def unless_zero(value: float) -> str | None:
        return _f32(value) if value else None

    return _attributes(
        axis=None if _is_innermost(row) else "1 : i64",
        ignore_index=f"{ignore_index} : i64",
        label_smoothing=unless_zero(label_smoothing),
        z_loss=unless_zero(z_loss),
        softcap=unless_zero(softcap),
    )


#: The schedule that sums the losses of rows: one CTA is enough, because they are few bytes compared to the logits read
#: before.
_BY_ONE_CTA = "cross_entropy_1=#norm.schedule<spread = [[loop, register(4), warp(32), lane(32)]]>"


def cross_entropy(
    row: tuple[int, ...],
    logits: torch.dtype,
    labels: torch.dtype,
    weight: torch.dtype | None,
    reduction: str,
    dtype: torch.dtype | None,
    ignore_index: int,
    label_smoothing: float,
    z_loss: float,
    softcap: float,
    for_gradients: bool,
) -> Source:
    """``logits, labels, [weight] -> loss, [lse], [total]``: the loss of each row, or one loss as ``reduction`` says; the logarithm of each
    row's sum of exponentials; and the divisor of a mean."""
    program = _Program("cross_entropy")
    rows, of_rows = _along_rows(logits, row), _of_rows(torch.float32, row)
    value = program.input("logits", rows)
    operands = program.operand("labels", _of_rows(labels, row))
    operands += program.operand("weight", _tensor(weight, row[0])) if weight else ""
    attributes = _loss_attributes(row, ignore_index, label_smoothing, z_loss, softcap)
    is_reduced = reduction != "none"
    types = of_rows if is_reduced else program.result("loss", _of_rows(dtype or logits, row))
    values = "%row_loss" if is_reduced else "%loss"
    if is_reduced:
        program.result("loss", _tensor(dtype or logits))
    if for_gradients:
        values += ", %lse"
        types += f" lse({program.result('lse', of_rows)})"
    if is_reduced:
        values += ", %row_weight"
        types += f" row_weight({of_rows})"
    program.line(f"{values} = norm.cross_entropy {value}{operands}{attributes} : {rows} -> {types}")
    if not is_reduced:
        return program.source()
    total = reduction == "mean" and for_gradients
    if total:
        program.result("total", _tensor(torch.float32))
    for line in _reduced(row, reduction == "mean", total, dtype or logits):
        program.line(line)
    return program.source(*([_BY_ONE_CTA] if _is_innermost(row) else []))


def _reduced(row: tuple[int, ...], is_mean: bool, with_total: bool, dtype: torch.dtype) -> list[str]:
    """``%row_loss, %row_weight -> %loss, [%total]``

    Both are stored to memory side by side as pairs. A tensor that several ops write is not fused with its reader, so the kernel of the rows
    does not also sum over rows: it would then have to walk over them, which takes half as long again for rows of 32768 classes.
    """
    of_rows = _of_rows(torch.float32, row)
    dims = ["%m"] if _is_innermost(row) else ["%m", "%k"]
    space = ", ".join(f"{dim} = dim(%a, {axis})" for axis, dim in enumerate(dims))
    at = ", ".join(dims)
    pairs = _tensor(torch.float32, *(None for _ in dims), 2)
    narrow = TYPES[dtype]
    lines = [
        f"%pairs = norm.compute(%a = %row_loss : {of_rows}, %b = %row_weight : {of_rows}) -> (%o : {pairs}) space({space}) {{",
        f"  %0 = norm.read %a[{at}] : {of_rows}",
        f"  %1 = norm.read %b[{at}] : {of_rows}",
        f"  norm.write %0, %o[{at}, 0] : {pairs}",
        f"  norm.write %1, %o[{at}, 1] : {pairs}",
        "}",
    ]
    names, results = ("%loss, %total", ", %t : tensor<f32>") if with_total else ("%loss", "")
    lines += [
        f"{names} = norm.compute(%a = %pairs : {pairs}) -> (%o : tensor<{narrow}>{results}) space({space}) {{",
        f"  %0 = norm.read %a[{at}, 0] : {pairs}",
        f"  %loss = norm.reduce add %0 over({at}) : f32",
    ]
    value = "%loss"
    if is_mean:
        lines += [
            f"  %1 = norm.read %a[{at}, 1] : {pairs}",
            f"  %total = norm.reduce add %1 over({at}) : f32",
            "  %mean = arith.divf %loss, %total : f32",
        ]
        value = "%mean"
    if dtype != torch.float32:
        lines.append(f"  %narrow = arith.truncf {value} : f32 to {narrow}")
        value = "%narrow"
    lines.append(f"  norm.write {value}, %o[] : tensor<{narrow}>")
    if with_total:
        lines.append("  norm.write %total, %t[] : tensor<f32>")
    return [*lines, "}"]


def cross_entropy_grad(
    row: tuple[int, ...],
    logits: torch.dtype,
    labels: torch.dtype,
    dloss: torch.dtype,
    total: torch.dtype | None,
    lse: torch.dtype,
    weight: torch.dtype | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    z_loss: float,
    softcap: float,
) -> Source:
    """``logits, labels, dloss, [total], lse, [weight] -> dlogits``; with ``total``, ``dloss`` is divided by it."""
    program = _Program("cross_entropy_grad")
    rows = _along_rows(logits, row)
    value = program.input("logits", rows)
    operands = program.operand("labels", _of_rows(labels, row))
    of_loss = _of_rows(dloss, row) if reduction == "none" else _tensor(dloss)
    scale = program.input("dloss", of_loss)
    if total:
        divisor = program.input("total", _tensor(total))
        if dloss != torch.float32:
            program.line(f"%wide = arith.extf {scale} : {of_loss} to tensor<f32>")
            scale, of_loss = "%wide", "tensor<f32>"
        program.line(f"%scale = arith.divf {scale}, {divisor} : tensor<f32>")
        scale = "%scale"
    operands += f" dloss({scale} : {of_loss})"
    operands += program.operand("lse", _of_rows(lse, row))
    operands += program.operand("weight", _tensor(weight, row[0])) if weight else ""
    result = program.result("dlogits", rows)
    attributes = _loss_attributes(row, ignore_index, label_smoothing, z_loss, softcap)
    program.line(f"%dlogits = norm.cross_entropy_grad {value}{operands}{attributes} : {rows} -> {result}")
    return program.source()


def _elements(quantization: Quantization) -> torch.dtype:
    """The type of a program's quantized elements. MLIR has no type for two in a byte, whose bytes are integers there."""
    return torch.int8 if quantization.is_packed else quantization.dtype


def _block(quantization: Quantization, is_batched: bool) -> str | None:
    """The attribute ``block`` for rows, or for matrices in a batch."""
    extents = [1] * is_batched + list(quantization.block)
    return f"array<i64: {', '.join(map(str, extents))}>" if quantization.block else None


def _scales(quantization: Quantization, columns: int, is_batched: bool) -> str:
    """The type of the scales of rows with so many columns, as a program reads or writes them."""
    batch = [None] * is_batched
    if not quantization.block:
        extents = []
    elif quantization.layout == LINEAR:
        extents = [*batch, None, *quantization.blocks((1, columns))[1:]]
    elif quantization.is_swizzled:
        extents = [*batch, None, *quantization.stored((1, columns))[1:]]
    else:
        extents = [*batch, quantization.stored((1, columns))[0], None]
    return _tensor(quantization.scale_dtype, *extents)


def _layout(quantization: Quantization) -> str:
    return "" if quantization.layout == LINEAR else f" scale_layout({quantization.layout})"


def _quantize(
    program: _Program,
    value: str,
    type_: str,
    columns: int,
    scale: torch.dtype | None,
    tensor_scale: torch.dtype | None,
    quantization: Quantization,
    is_batched: bool = False,
) -> None:
    """Adds ``value, [scale], [tensor_scale] -> q, [scale]``; rows of ``value`` have so many columns."""
    batch = [None] * is_batched
    scales = _scales(quantization, columns, is_batched)
    operands = ""
    if scale:
        operands += f" static_scale({program.input('scale', scales)} : {scales})"
    if tensor_scale:
        operands += program.operand("tensor_scale", _tensor(tensor_scale))
    elements = quantization.packed((columns,))
    types, values = program.result("q", _tensor(_elements(quantization), *batch, None, *elements)), "%q"
    if not scale:
        types += f" scale({program.result('scale', scales)})"
        values += ", %scale"
    attributes = _attributes(
        block=_block(quantization, is_batched),
        power_of_two=_UNIT if quantization.power_of_two else None,
        round_down=_UNIT if quantization.round_down else None,
        e2m1=_UNIT if quantization.is_packed else None,
    )
    line = f"{values} = norm.quantize {value}{operands}{_layout(quantization)}{attributes} : {type_} -> {types}"
    program.line(line)


def quantize(
    row: tuple[int, ...],
    x: torch.dtype,
    scale: torch.dtype | None,
    tensor_scale: torch.dtype | None,
    quantization: Quantization,
    is_batched: bool,
) -> Source:
    """``x, [scale], [tensor_scale] -> q, [scale]``; x has rows, or matrices if ``is_batched``."""
    program = _Program("quantize")
    (columns,) = row
    rows = _tensor(x, *[None] * is_batched, None, columns)
    value = program.input("x", rows)
    _quantize(program, value, rows, columns, scale, tensor_scale, quantization, is_batched)
    return program.source()


def dequantize(
    row: tuple[int, ...],
    q: torch.dtype,
    scale: torch.dtype,
    tensor_scale: torch.dtype | None,
    quantization: Quantization,
    dtype: torch.dtype,
    is_batched: bool,
) -> Source:
    """``q, scale, [tensor_scale] -> y``; q has rows, or matrices if ``is_batched``."""
    program = _Program("dequantize")
    batch = [None] * is_batched
    elements = _tensor(q, *batch, None, *row)
    (columns,) = quantization.unpacked(row)
    value = program.input("q", elements)
    operands = program.operand("scale", _scales(quantization, columns, is_batched))
    operands += program.operand("tensor_scale", _tensor(tensor_scale)) if tensor_scale else ""
    result = program.result("y", _tensor(dtype, *batch, None, columns))
    attributes = _attributes(block=_block(quantization, is_batched), e2m1=_UNIT if quantization.is_packed else None)
    line = f"%y = norm.dequantize {value}{operands}{_layout(quantization)}{attributes} : {elements} -> {result}"
    program.line(line)
    return program.source()


def rms_norm_quantize(
    row: tuple[int, ...],
    x: torch.dtype,
    residual: torch.dtype | None,
    weight: torch.dtype | None,
    scale: torch.dtype | None,
    tensor_scale: torch.dtype | None,
    eps: float,
    weight_offset: float,
    quantization: Quantization,
    dtype: torch.dtype | None,
) -> Source:
    """``x, [residual], [weight], [scale], [tensor_scale] -> q, [scale], [h], [y]``; with a residual, the sum h = x + residual is
    normalized. y is the normalized rows, rounded to ``dtype``; they are quantized before they are rounded."""
    program = _Program("add_rms_norm_quantize" if residual else "rms_norm_quantize")
    width = math.prod(row)
    rows, wide = _tensor(x, None, width), _tensor(torch.float32, None, width)
    normalized = _sum(program, rows, residual)
    operands = program.operand("weight", _tensor(weight, width)) if weight else ""
    attributes = _attributes(eps=_f32(eps), weight_offset=_offset(weight_offset))
    value = "%y" if dtype == torch.float32 else "%wide"
    program.line(f"{value} = norm.rms_norm {normalized}{operands}{attributes} : {rows} -> {wide}")
    _quantize(program, value, wide, width, scale, tensor_scale, quantization)
    if residual:
        program.result("h", rows)
    if dtype:
        narrow = program.result("y", _tensor(dtype, None, width))
        if dtype != torch.float32:
            program.line(f"%y = arith.truncf %wide : {wide} to {narrow}")
    return program.source()


def router(
    row: tuple[int, ...],
    logits: torch.dtype,
    bias: torch.dtype | None,
    k: int,
    scoring: str,
    renormalize: bool,
    scale: float,
) -> Source:
    """``logits, [bias] -> weights, indices`` of the k experts with the largest scores of a row, sorted by score. With a bias, they are
    those with the largest sums of score and bias, sorted by these; their weights are of the scores alone."""
    program = _Program("router")
    (experts,) = row
    scores, found = _tensor(torch.float32, None, experts), _tensor(torch.float32, None, k)
    places = _tensor(torch.int32, None, k)
    value = program.input("logits", _tensor(logits, None, experts))
    for line in _scores(value, logits, experts, scoring):
        program.line(line)
    chosen = "%scores"
    if bias:
        biases = _tensor(bias, experts)
        given = program.input("bias", biases)
        chosen = "%biased"
        addend, widened = _widened("%1", bias)
        program.line(
            f"%biased = norm.compute(%a = %scores : {scores}, %b = {given} : {biases}) -> (%o : {scores}) "
            f"space(%m = dim(%a, 0), %n = {experts}) {{"
        )
        program.line(f"  %0 = norm.read %a[%m, %n] : {scores}")
        program.line(f"  %1 = norm.read %b[%n] : {biases}")
        for line in widened:
            program.line(line)
        program.line(f"  %2 = arith.addf %0, {addend} : f32")
        program.line(f"  norm.write %2, %o[%m, %n] : {scores}")
        program.line("}")
    is_weighted = bias is not None or renormalize or scale != 1
    largest = "%largest" if is_weighted else "%weights"
    attributes = _attributes(k=f"{k} : i64")
    program.line(f"{largest}, %indices = norm.top_k {chosen}{attributes} : {scores} -> {found}, {places}")
    program.result("weights", found)
    program.result("indices", places)
    if is_weighted:
        for line in _weights(experts, k, bias is not None, renormalize, scale):
            program.line(line)
    return program.source()


def _widened(value: str, dtype: torch.dtype) -> tuple[str, list[str]]:
    """A scalar of a program as f32, and the lines that widen it."""
    if dtype == torch.float32:
        return value, []
    return "%wide", [f"  %wide = arith.extf {value} : {TYPES[dtype]} to f32"]


def _scores(logits: str, dtype: torch.dtype, experts: int, scoring: str) -> list[str]:
    """``logits -> %scores``"""
    rows, scores = _tensor(dtype, None, experts), _tensor(torch.float32, None, experts)
    if scoring == "softmax":
        return [f"%scores = norm.softmax {logits} : {rows} -> {scores}"]
    value, widened = _widened("%0", dtype)
    return [
        f"%scores = norm.compute(%a = {logits} : {rows}) -> (%o : {scores}) space(%m = dim(%a, 0), %n = {experts}) {{",
        "  %one = arith.constant 1.0 : f32",
        f"  %0 = norm.read %a[%m, %n] : {rows}",
        *widened,
        f"  %1 = arith.negf {value} : f32",
        "  %2 = math.exp %1 : f32",
        "  %3 = arith.addf %2, %one : f32",
        "  %4 = arith.divf %one, %3 : f32",
        f"  norm.write %4, %o[%m, %n] : {scores}",
        "}",
    ]


#: Added to a sum of scores that weights are divided by: scores that are all zero have weights of zero. It is too small to change a
#: sum that is not.
_LEAST_SUM = 1e-20


def _weights(experts: int, k: int, is_gathered: bool, renormalize: bool, scale: float) -> list[str]:
    """``%scores, %indices -> %weights``, or ``%largest -> %weights`` if the largest scores are the weights.

    A score is gathered by adding up the only one whose place is the expert's.
    """
    found, scores, places = (
        _tensor(dtype, None, extent)
        for dtype, extent in ((torch.float32, k), (torch.float32, experts), (torch.int32, k))
    )
    if is_gathered:
        lines = [
            f"%weights = norm.compute(%a = %scores : {scores}, %e = %indices : {places}) -> (%o : {found}) "
            f"space(%m = dim(%a, 0), %n = {experts}, %j = {k}) {{",
            "  %zero = arith.constant 0.0 : f32",
            f"  %0 = norm.read %a[%m, %n] : {scores}",
            f"  %1 = norm.read %e[%m, %j] : {places}",
            "  %2 = arith.index_cast %n : index to i32",
            "  %3 = arith.cmpi eq, %1, %2 : i32",
            "  %4 = arith.select %3, %0, %zero : f32",
            "  %score = norm.reduce add %4 over(%n) : f32",
        ]
    else:
        lines = [
            f"%weights = norm.compute(%a = %largest : {found}) -> (%o : {found}) space(%m = dim(%a, 0), %j = {k}) {{",
            f"  %score = norm.read %a[%m, %j] : {found}",
        ]
    value = "%score"
    if scale != 1:
        lines += [
            f"  %factor = arith.constant {_f32(scale)}",
            f"  %scaled = arith.mulf {value}, %factor : f32",
        ]
        value = "%scaled"
    if renormalize:
        lines += [
            f"  %least = arith.constant {_f32(_LEAST_SUM)}",
            "  %sum = norm.reduce add %score over(%j) : f32",
            "  %total = arith.addf %sum, %least : f32",
            f"  %weight = arith.divf {value}, %total : f32",
        ]
        value = "%weight"
    return [*lines, f"  norm.write {value}, %o[%m, %j] : {found}", "}"]
