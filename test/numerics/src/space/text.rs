//! The `.mlir` text of a drawn program.

use std::collections::BTreeSet;
use std::fmt::Write;

use norma_bundle::Element;

use super::program::{Guard, Program, Step};
use super::tensor::{Axis, Tensor};
use crate::source::FUNCTION;

/// The bound that values of a clamped program are kept within.
const LARGEST: &str = "8.0";

/// The name of a result of a compute.
pub fn result(compute: usize, output: usize) -> String {
    format!("y{compute}_{output}")
}

/// The program as a module at level `tensor`.
pub fn text(program: &Program) -> String {
    let ty = program.compute.name();
    let mut arguments = Vec::new();
    for (number, input) in program.inputs.iter().enumerate() {
        let attributes = attributes(program, input, &format!("x{number}"));
        arguments.push(format!("%x{number}: {} {attributes}", input.ty(&program.dims)));
    }
    let mut scalars = Vec::new();
    let mut computes = String::new();
    for number in 0..program.computes.len() {
        computes += &compute(program, number, &mut scalars);
    }
    for (number, value) in scalars.iter().enumerate() {
        let value = constant(program.compute, *value);
        arguments.push(format!(
            "%s{number}: {ty} {{norm.name = \"s{number}\", norm.default = {value} : {ty}}}"
        ));
    }
    let mut results = Vec::new();
    let (mut names, mut types) = (Vec::new(), Vec::new());
    for (number, compute) in program.computes.iter().enumerate() {
        for (output, written) in compute.outputs.iter().enumerate() {
            if written.is_returned {
                let name = result(number, output);
                let ty = written.tensor.ty(&program.dims);
                results.push(format!("{ty} {}", attributes(program, &written.tensor, &name)));
                names.push(format!("%{name}"));
                types.push(ty);
            }
        }
    }
    format!(
        "func.func @{FUNCTION}({}) -> ({}) {{\n{computes}  return {} : {}\n}}\n",
        arguments.join(", "),
        results.join(", "),
        names.join(", "),
        types.join(", ")
    )
}

fn attributes(program: &Program, tensor: &Tensor, name: &str) -> String {
    let mut text = format!("{{norm.name = \"{name}\"");
    // Writing to a string does not fail.
    if let Some(align) = tensor.align {
        let _ = write!(text, ", norm.align = {align} : i64");
    }
    if let Some(buffer) = tensor.buffer(&program.dims) {
        let _ = write!(text, ", norm.buffer = {buffer}");
    }
    if let Some(multiples) = tensor.multiples(&program.dims) {
        let _ = write!(text, ", norm.multiples = {multiples}");
    }
    text + "}"
}

/// The body of a compute under construction.
struct Body<'a> {
    program: &'a Program,
    lines: String,
    next: usize,
}

impl Body<'_> {
    fn value(&mut self, text: &str) -> String {
        let name = format!("%v{}", self.next);
        self.next += 1;
        // Writing to a string does not fail.
        let _ = writeln!(self.lines, "    {name} = {text}");
        name
    }

    /// Clamps a value of a clamped program.
    fn clamped(&mut self, value: String) -> String {
        if !self.program.is_clamped {
            return value;
        }
        let ty = self.program.compute.name();
        let low = self.value(&format!("arith.constant -{LARGEST} : {ty}"));
        let high = self.value(&format!("arith.constant {LARGEST} : {ty}"));
        let above = self.value(&format!("arith.maximumf {value}, {low} : {ty}"));
        self.value(&format!("arith.minimumf {above}, {high} : {ty}"))
    }

    fn widened(&mut self, value: String, element: Element) -> String {
        let compute = self.program.compute;
        if element == compute {
            return value;
        }
        let op = if element.is_float() {
            "arith.extf"
        } else {
            "arith.extsi"
        };
        self.value(&format!(
            "{op} {value} : {} to {}",
            element.name(),
            compute.name()
        ))
    }

    fn narrowed(&mut self, value: String, element: Element) -> String {
        let compute = self.program.compute;
        if element == compute {
            return value;
        }
        let op = if element.is_float() {
            "arith.truncf"
        } else {
            "arith.trunci"
        };
        self.value(&format!(
            "{op} {value} : {} to {}",
            compute.name(),
            element.name()
        ))
    }

    /// Turns a sum over dims into a mean if the program is clamped.
    fn mean(&mut self, sum: String, over: &[usize]) -> String {
        if !self.program.is_clamped {
            return sum;
        }
        let ty = self.program.compute.name();
        let points: i64 = over
            .iter()
            .map(|dim| self.program.dims[*dim].extent.max(1))
            .product();
        let share = float(1.0 / points as f64);
        let share = self.value(&format!("arith.constant {share} : {ty}"));
        self.value(&format!("arith.mulf {sum}, {share} : {ty}"))
    }
}

/// The text of one compute. Scalar arguments are numbered across the function, in order of use.
fn compute(program: &Program, number: usize, scalars: &mut Vec<i64>) -> String {
    let compute = &program.computes[number];
    let (dims, ty) = (&program.dims, program.compute.name());
    let mut body = Body {
        program,
        lines: String::new(),
        next: 0,
    };
    let mut used = BTreeSet::new();
    // Tensors, in order: the name within the compute and the name outside.
    let mut tensors: Vec<(String, String, &Tensor)> = Vec::new();
    let mut bound = Vec::new();
    let mut values: Vec<String> = Vec::new();
    for step in &compute.steps {
        let value = match step {
            Step::Read(_) | Step::ReadResult(_) => {
                let (name, tensor) = match step {
                    Step::ReadResult(output) => (
                        result(number - 1, *output),
                        &program.computes[number - 1].outputs[*output].tensor,
                    ),
                    Step::Read(input) => (format!("x{input}"), &program.inputs[*input]),
                    _ => continue,
                };
                used.extend(tensor.dims());
                let inside = format!("%{name}_in");
                if !tensors.iter().any(|(known, ..)| *known == inside) {
                    tensors.push((inside.clone(), format!("%{name}"), tensor));
                }
                let read = body.value(&format!(
                    "norm.read {inside}[{}] : {}",
                    tensor.access(dims),
                    tensor.ty(dims)
                ));
                let wide = body.widened(read, tensor.element);
                body.clamped(wide)
            }
            Step::Scalar(value) => {
                bound.push(format!("%s{0}_in = %s{0} : {ty}", scalars.len()));
                scalars.push(*value);
                format!("%s{}_in", scalars.len() - 1)
            }
            Step::Coordinate(dim) => {
                used.insert(*dim);
                let integer = if program.compute == Element::I64 {
                    "i64"
                } else {
                    "i32"
                };
                let value = body.value(&format!("arith.index_cast %d{dim} : index to {integer}"));
                match program.compute.is_float() {
                    true => {
                        let value = body.value(&format!("arith.sitofp {value} : {integer} to {ty}"));
                        body.clamped(value)
                    }
                    false => value,
                }
            }
            Step::Unary(op, one) => {
                let operand = match *op {
                    // The magnitude is in the domain of these functions.
                    "math.sqrt" | "math.log" | "math.exp" => {
                        body.value(&format!("math.absf {} : {ty}", values[*one]))
                    }
                    _ => values[*one].clone(),
                };
                let value = match *op {
                    "subi" => {
                        let zero = body.value(&format!("arith.constant 0 : {ty}"));
                        body.value(&format!("arith.subi {zero}, {operand} : {ty}"))
                    }
                    op => body.value(&format!("{op} {operand} : {ty}")),
                };
                body.clamped(value)
            }
            Step::Binary(op, one, other) => {
                let value = body.value(&format!("{op} {}, {} : {ty}", values[*one], values[*other]));
                body.clamped(value)
            }
            Step::Select(condition, one, other) => {
                let (zero, compare) = match program.compute.is_float() {
                    true => ("0.0", "arith.cmpf ogt"),
                    false => ("0", "arith.cmpi sgt"),
                };
                let zero = body.value(&format!("arith.constant {zero} : {ty}"));
                let condition = body.value(&format!("{compare}, {}, {zero} : {ty}", values[*condition]));
                body.value(&format!(
                    "arith.select {condition}, {}, {} : {ty}",
                    values[*one], values[*other]
                ))
            }
            Step::Reduce(kind, one, over) => {
                used.extend(over);
                let value = body.value(&format!(
                    "norm.reduce {kind} {} over({}) : {ty}",
                    values[*one],
                    names(over)
                ));
                match *kind {
                    "add" => body.mean(value, over),
                    _ => value,
                }
            }
            Step::SumBesideMax(one, other, over) => {
                used.extend(over);
                let (add, max, zero, least) = match program.compute {
                    Element::F32 => ("arith.addf", "arith.maximumf", "0.0", "0xFF800000"),
                    Element::F64 => ("arith.addf", "arith.maximumf", "0.0", "0xFFF0000000000000"),
                    Element::I32 => ("arith.addi", "arith.maxsi", "0", "-2147483648"),
                    _ => ("arith.addi", "arith.maxsi", "0", "-9223372036854775808"),
                };
                let text = format!(
                    "norm.reduce {}, {} over({}) identity [{zero} : {ty}, {least} : {ty}] : {ty}, {ty} combine {{\n    \
                     ^bb0(%a0: {ty}, %a1: {ty}, %b0: {ty}, %b1: {ty}):\n      %c0 = {add} %a0, %b0 : {ty}\n      \
                     %c1 = {max} %a1, %b1 : {ty}\n      norm.yield %c0, %c1 : {ty}, {ty}\n    }}",
                    values[*one],
                    values[*other],
                    names(over)
                );
                let (sum, most) = (format!("%v{}", body.next), format!("%v{}", body.next + 1));
                body.next += 2;
                let _ = writeln!(body.lines, "    {sum}, {most} = {text}");
                let sum = body.mean(sum, over);
                let value = body.value(&format!("{add} {sum}, {most} : {ty}"));
                body.clamped(value)
            }
        };
        values.push(value);
    }
    for (output, written) in compute.outputs.iter().enumerate() {
        let tensor = &written.tensor;
        used.extend(tensor.dims());
        let value = body.narrowed(values[written.value].clone(), tensor.element);
        let _ = writeln!(
            body.lines,
            "    norm.write {value}, %{}_out[{}] : {}",
            result(number, output),
            tensor.access(dims),
            tensor.ty(dims)
        );
    }
    let outputs = || compute.outputs.iter().enumerate();
    let space: Vec<String> = used
        .iter()
        .map(|dim| format!("%d{dim} = {}", extent(program, *dim, &tensors, number)))
        .collect();
    let arguments = tensors
        .iter()
        .map(|(inside, outside, tensor)| format!("{inside} = {outside} : {}", tensor.ty(dims)));
    let arguments: Vec<String> = arguments.chain(bound).collect();
    let list = |each: &dyn Fn(usize, &Tensor) -> String| {
        let all = outputs().map(|(output, written)| each(output, &written.tensor));
        all.collect::<Vec<_>>().join(", ")
    };
    let guard = program.guard.filter(|guard| guard.is_over(&used));
    let guard = guard.map(|Guard { outer, inner, end }| {
        format!(" where(%d{outer} * {} + %d{inner} < {end})", dims[inner].extent)
    });
    format!(
        "  {} = norm.compute({}) -> ({}) space({}){} {{\n{}  }}\n",
        list(&|output, _| format!("%{}", result(number, output))),
        arguments.join(", "),
        list(&|output, tensor| format!("%{}_out : {}", result(number, output), tensor.ty(dims))),
        space.join(", "),
        guard.unwrap_or_default(),
        body.lines
    )
}

/// A dim's extent: a number, or `dim` of an axis if it is dynamic.
fn extent(program: &Program, dim: usize, inputs: &[(String, String, &Tensor)], compute: usize) -> String {
    let known = program.dims[dim].extent.to_string();
    if !program.dims[dim].is_dynamic {
        return known;
    }
    let axis = |tensor: &Tensor| tensor.axes.iter().position(|axis| *axis == Axis::Dim(dim));
    let of_inputs = inputs
        .iter()
        .find_map(|(name, _, tensor)| Some(format!("dim({name}, {})", axis(tensor)?)));
    let of_outputs = || {
        let mut outputs = program.computes[compute].outputs.iter().enumerate();
        outputs.find_map(|(output, written)| {
            Some(format!(
                "dim(%{}_out, {})",
                result(compute, output),
                axis(&written.tensor)?
            ))
        })
    };
    of_inputs.or_else(of_outputs).unwrap_or(known)
}

fn names(dims: &[usize]) -> String {
    let names: Vec<String> = dims.iter().map(|dim| format!("%d{dim}")).collect();
    names.join(", ")
}

fn constant(element: Element, value: i64) -> String {
    match element.is_float() {
        true => float(value as f64),
        false => value.to_string(),
    }
}

/// A float literal of MLIR, which needs a decimal point.
fn float(value: f64) -> String {
    let text = format!("{value:e}");
    match text.contains('.') {
        true => text,
        false => text.replace('e', ".0e"),
    }
}
