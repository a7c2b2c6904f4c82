"""The programs in MLIR behind the ops, by the types and row lengths that they are compiled for.

Rows are dynamic: a program holds for any number of them. Every function's tensors have the names of the op's operands and results.
"""

import torch

#: How MLIR spells the types that kernels take.
TYPES = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
}


class _Program:
    """A function of one op, or of several, as text."""

    def __init__(self, name: str):
        self._name = name
        self._inputs: list[str] = []
        self._results: list[tuple[str, str]] = []
        self._lines: list[str] = []

    def input(self, name: str, type_: str) -> str:
        """An argument; gives its value."""
        self._inputs.append(f'%{name}: {type_} {{norm.name = "{name}"}}')
        return f"%{name}"

    def operand(self, name: str, type_: str) -> str:
        """An argument as the named operand of an op."""
        return f" {name}({self.input(name, type_)} : {type_})"

    def result(self, name: str, type_: str) -> str:
        """A result; gives its type."""
        self._results.append((name, type_))
        return type_

    def line(self, text: str) -> None:
        self._lines.append(text)

    def text(self) -> str:
        names = ", ".join(f"%{name}" for name, _ in self._results)
        types = ", ".join(type_ for _, type_ in self._results)
        results = ", ".join(f'{type_} {{norm.name = "{name}"}}' for name, type_ in self._results)
        body = "".join(f"  {line}\n" for line in [*self._lines, f"return {names} : {types}"])
        return f"func.func @{self._name}({', '.join(self._inputs)}) -> ({results}) {{\n{body}}}\n"


def _tensor(dtype: torch.dtype, *extents: int | None) -> str:
    shape = "".join(f"{'?' if extent is None else extent}x" for extent in extents)
    return f"tensor<{shape}{TYPES[dtype]}>"


def _f32(value: float) -> str:
    # MLIR reads a number with a point as a float, whatever its exponent.
    return f"{value:.17e} : f32"


def _attributes(**values: str | None) -> str:
    given = ", ".join(f"{name} = {value}" for name, value in values.items() if value is not None)
    return f" {{{given}}}" if given else ""


def _offset(weight_offset: float) -> str | None:
    return _f32(weight_offset) if weight_offset else None


def rms_norm(
    width: int,
    x: torch.dtype,
    y: torch.dtype,
    weight: torch.dtype | None,
    eps: float,
    weight_offset: float,
    with_rstd: bool,
    with_residual: bool,
) -> str:
    """``x, [residual], [weight] -> y, [h], [rstd]``; with a residual, h = x + residual is what is normalized."""
    program = _Program("add_rms_norm" if with_residual else "rms_norm")
    rows = _tensor(x, None, width)
    normalized = program.input("x", rows)
    if with_residual:
        residual = program.input("residual", rows)
        program.line(f"%h = arith.addf {normalized}, {residual} : {rows}")
        normalized = "%h"
    operands = program.operand("weight", _tensor(weight, width)) if weight else ""
    types = program.result("y", _tensor(y, None, width))
    values = "%y"
    if with_residual:
        program.result("h", rows)
    if with_rstd:
        values += ", %rstd"
        types += f", {program.result('rstd', _tensor(torch.float32, None))}"
    attributes = _attributes(eps=_f32(eps), weight_offset=_offset(weight_offset))
    program.line(f"{values} = norm.rms_norm {normalized}{operands}{attributes} : {rows} -> {types}")
    return program.text()


def rms_norm_grad(
    width: int,
    x: torch.dtype,
    dy: torch.dtype,
    weight: torch.dtype | None,
    eps: float,
    weight_offset: float,
    with_residual: bool,
    with_dweight: bool,
) -> str:
    """``x, dy, [weight], rstd, [residual] -> dx, [dweight]``; ``residual`` is a gradient that reaches x along another path."""
    program = _Program("rms_norm_grad")
    rows = _tensor(x, None, width)
    value = program.input("x", rows)
    operands = program.operand("dy", _tensor(dy, None, width))
    if weight:
        operands += program.operand("weight", _tensor(weight, width))
    operands += program.operand("rstd", _tensor(torch.float32, None))
    if with_residual:
        operands += program.operand("residual", rows)
    types, values = program.result("dx", rows), "%dx"
    if with_dweight and weight:
        values += ", %dweight"
        types += f" dweight({program.result('dweight', _tensor(weight, width))})"
    attributes = _attributes(eps=_f32(eps), weight_offset=_offset(weight_offset))
    program.line(f"{values} = norm.rms_norm_grad {value}{operands}{attributes} : {rows} -> {types}")
    return program.text()


def layer_norm(
    width: int,
    x: torch.dtype,
    y: torch.dtype,
    weight: torch.dtype | None,
    bias: torch.dtype | None,
    eps: float,
    with_statistics: bool,
) -> str:
    """``x, [weight], [bias] -> y, [mean, rstd]``"""
    program = _Program("layer_norm")
    rows = _tensor(x, None, width)
    value = program.input("x", rows)
    operands = program.operand("weight", _tensor(weight, width)) if weight else ""
    operands += program.operand("bias", _tensor(bias, width)) if bias else ""
    types, values = program.result("y", _tensor(y, None, width)), "%y"
    if with_statistics:
        values += ", %mean, %rstd"
        statistic = _tensor(torch.float32, None)
        types += f", {program.result('mean', statistic)}, {program.result('rstd', statistic)}"
    program.line(f"{values} = norm.layer_norm {value}{operands}{_attributes(eps=_f32(eps))} : {rows} -> {types}")
    return program.text()


def layer_norm_grad(
    width: int,
    x: torch.dtype,
    dy: torch.dtype,
    weight: torch.dtype | None,
    bias: torch.dtype | None,
    eps: float,
    with_dweight: bool,
    with_dbias: bool,
) -> str:
    """``x, dy, [weight], mean, rstd -> dx, [dweight], [dbias]``"""
    program = _Program("layer_norm_grad")
    rows, statistic = _tensor(x, None, width), _tensor(torch.float32, None)
    value = program.input("x", rows)
    operands = program.operand("dy", _tensor(dy, None, width))
    if weight:
        operands += program.operand("weight", _tensor(weight, width))
    operands += program.operand("mean", statistic) + program.operand("rstd", statistic)
    types, values = program.result("dx", rows), "%dx"
    for name, dtype, wanted in (("dweight", weight, with_dweight), ("dbias", bias, with_dbias)):
        if dtype and wanted:
            values += f", %{name}"
            types += f" {name}({program.result(name, _tensor(dtype, width))})"
    program.line(f"{values} = norm.layer_norm_grad {value}{operands}{_attributes(eps=_f32(eps))} : {rows} -> {types}")
    return program.text()


def _along_rows(dtype: torch.dtype, width: int, is_last: bool) -> str:
    return _tensor(dtype, None, width) if is_last else _tensor(dtype, None, width, None)


def softmax(op: str, width: int, is_last: bool, x: torch.dtype, y: torch.dtype) -> str:
    """``x -> y`` of ``op``, softmax or log_softmax, along the last dim of two or the middle one of three."""
    program = _Program(op)
    rows = _along_rows(x, width, is_last)
    value = program.input("x", rows)
    result = program.result("y", _along_rows(y, width, is_last))
    attributes = _attributes(axes=None if is_last else "array<i64: 1>")
    program.line(f"%y = norm.{op} {value}{attributes} : {rows} -> {result}")
    return program.text()


def softmax_grad(op: str, width: int, is_last: bool, x: torch.dtype, y: torch.dtype, dy: torch.dtype) -> str:
    """``y, dy -> dx`` of ``op``, along the dim that :func:`softmax` takes."""
    program = _Program(f"{op}_grad")
    rows = _along_rows(y, width, is_last)
    value = program.input("y", rows)
    operands = program.operand("dy", _along_rows(dy, width, is_last))
    result = program.result("dx", _along_rows(x, width, is_last))
    attributes = _attributes(axes=None if is_last else "array<i64: 1>")
    program.line(f"%dx = norm.{op}_grad {value}{operands}{attributes} : {rows} -> {result}")
    return program.text()


def _loss_attributes(is_last: bool, ignore_index: int, label_smoothing: float, z_loss: float, softcap: float) -> str:
    def unless_zero(value: float) -> str | None:
        return _f32(value) if value else None

    return _attributes(
        axis=None if is_last else "1 : i64",
        ignore_index=f"{ignore_index} : i64",
        label_smoothing=unless_zero(label_smoothing),
        z_loss=unless_zero(z_loss),
        softcap=unless_zero(softcap),
    )


def cross_entropy(
    classes: int,
    is_last: bool,
    logits: torch.dtype,
    labels: torch.dtype,
    weight: torch.dtype | None,
    *options: float,
) -> str:
    """``logits, labels, [weight] -> loss, lse``, of each row, in float32. ``options`` are ignore_index, label_smoothing, z_loss and
    softcap."""
    program = _Program("cross_entropy")
    rows = _along_rows(logits, classes, is_last)
    value = program.input("logits", rows)
    others = (None,) if is_last else (None, None)
    operands = program.operand("labels", _tensor(labels, *others))
    operands += program.operand("weight", _tensor(weight, classes)) if weight else ""
    loss = program.result("loss", _tensor(torch.float32, *others))
    lse = program.result("lse", _tensor(torch.float32, *others))
    attributes = _loss_attributes(is_last, *options)
    program.line(f"%loss, %lse = norm.cross_entropy {value}{operands}{attributes} : {rows} -> {loss} lse({lse})")
    return program.text()


def cross_entropy_grad(
    classes: int,
    is_last: bool,
    logits: torch.dtype,
    labels: torch.dtype,
    weight: torch.dtype | None,
    *options: float,
) -> str:
    """``logits, labels, dloss, lse, [weight] -> dlogits``"""
    program = _Program("cross_entropy_grad")
    rows = _along_rows(logits, classes, is_last)
    value = program.input("logits", rows)
    others = (None,) if is_last else (None, None)
    of_rows = _tensor(torch.float32, *others)
    operands = program.operand("labels", _tensor(labels, *others))
    operands += program.operand("dloss", of_rows) + program.operand("lse", of_rows)
    operands += program.operand("weight", _tensor(weight, classes)) if weight else ""
    result = program.result("dlogits", rows)
    attributes = _loss_attributes(is_last, *options)
    program.line(f"%dlogits = norm.cross_entropy_grad {value}{operands}{attributes} : {rows} -> {result}")
    return program.text()
