//! Builds the text of a function with one `norm.compute`.

use norma_bundle::Element;

use super::{FUNCTION, attributes_of_x, attributes_of_y, kept, tensor};
use crate::case::Program;

/// The body. Values have the type that the op computes in.
pub struct Body {
    /// The steps so far.
    pub lines: Vec<String>,
    next: usize,
    /// The names of all dims, as an access lists them.
    pub dims: String,
    /// The names of the dims that reductions remove.
    pub columns: String,
    /// The names of the dims that they keep.
    pub rows: String,
    /// The type that the op computes in.
    pub compute: Element,
    /// Names and types of the inputs, in order.
    pub inputs: Vec<(String, String)>,
    /// Names and types of the outputs, in order.
    pub outputs: Vec<(String, String)>,
}

impl Body {
    /// A body without steps.
    pub fn new(program: &Program) -> Self {
        let (rows, columns) = (kept(program).len(), program.columns.len());
        let names = |prefix: &str, count: usize| {
            let all: Vec<String> = (0..count).map(|dim| format!("%{prefix}{dim}")).collect();
            all.join(", ")
        };
        let (rows, columns) = (names("m", rows), names("n", columns));
        Self {
            lines: Vec::new(),
            next: 0,
            dims: format!("{rows}, {columns}"),
            columns,
            rows,
            compute: match program.x {
                Element::F16 | Element::BF16 => Element::F32,
                Element::I8 => Element::I32,
                element => element,
            },
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Adds a line as it is.
    pub fn line(&mut self, text: String) {
        self.lines.push(text);
    }

    /// Adds a step of one result, and returns the result's name.
    pub fn value(&mut self, text: String) -> String {
        let name = format!("%v{}", self.next);
        self.next += 1;
        self.lines.push(format!("{name} = {text}"));
        name
    }

    /// Reads an element of an input and widens it to the type of the computation.
    pub fn read(&mut self, name: &str, shape: &[i64], element: Element, dims: &str) -> String {
        let ty = tensor(shape, element);
        let value = self.value(format!("norm.read %{name}_in[{dims}] : {ty}"));
        self.inputs.push((name.to_owned(), ty));
        if element == self.compute {
            return value;
        }
        let widen = if element.is_float() {
            "arith.extf"
        } else {
            "arith.extsi"
        };
        self.value(format!(
            "{widen} {value} : {} to {}",
            element.name(),
            self.compute.name()
        ))
    }

    /// Rounds a value to the output's type and writes it.
    pub fn write(&mut self, value: &str, name: &str, shape: &[i64], element: Element, dims: &str) {
        let ty = tensor(shape, element);
        let mut value = value.to_owned();
        if element != self.compute && element.is_float() {
            let (from, to) = (self.compute.name(), element.name());
            value = self.value(format!("arith.truncf {value} : {from} to {to}"));
        }
        self.line(format!("norm.write {value}, %{name}_out[{dims}] : {ty}"));
        self.outputs.push((name.to_owned(), ty));
    }

    /// A constant.
    pub fn constant(&mut self, value: f64) -> String {
        let ty = self.compute.name();
        // A float literal of MLIR needs a decimal point.
        if !self.compute.is_float() {
            return self.value(format!("arith.constant {value} : {ty}"));
        }
        let mut text = format!("{value:e}");
        if !text.contains('.') {
            text = text.replace('e', ".0e");
        }
        self.value(format!("arith.constant {text} : {ty}"))
    }

    /// An op on values of the type of the computation.
    pub fn op(&mut self, name: &str, operands: &[&str]) -> String {
        let ty = self.compute.name();
        self.value(format!("{name} {} : {ty}", operands.join(", ")))
    }

    /// A reduction over the columns by a named combiner.
    pub fn reduce(&mut self, kind: &str, value: &str) -> String {
        let ty = self.compute.name();
        let dims = self.columns.clone();
        self.value(format!("norm.reduce {kind} {value} over({dims}) : {ty}"))
    }

    /// The whole function.
    pub fn finish(self, program: &Program) -> String {
        let function_inputs: Vec<String> = self
            .inputs
            .iter()
            .map(|(name, ty)| match name.as_str() {
                "x" => format!("%x: {ty} {}", attributes_of_x(program)),
                _ => format!("%{name}: {ty} {{norm.name = \"{name}\"}}"),
            })
            .collect();
        let function_outputs: Vec<String> = self
            .outputs
            .iter()
            .map(|(name, ty)| format!("{ty} {}", attributes_of_y(program, name)))
            .collect();
        let arguments: Vec<String> = self
            .inputs
            .iter()
            .map(|(name, ty)| format!("%{name}_in = %{name} : {ty}"))
            .collect();
        let results: Vec<String> = self
            .outputs
            .iter()
            .map(|(name, ty)| format!("%{name}_out : {ty}"))
            .collect();
        let names: Vec<String> = self.outputs.iter().map(|(name, _)| format!("%{name}")).collect();
        let types: Vec<String> = self.outputs.iter().map(|(_, ty)| ty.clone()).collect();
        let mut space = vec!["%m0 = dim(%x_in, 0)".to_owned()];
        if program.heads != 1 {
            space.push(format!("%m1 = {}", program.heads));
        }
        for (dim, extent) in program.columns.iter().enumerate() {
            space.push(format!("%n{dim} = {extent}"));
        }
        let (names, types) = (names.join(", "), types.join(", "));
        let lines: String = self.lines.iter().map(|line| format!("    {line}\n")).collect();
        format!(
            "func.func @{FUNCTION}({}) -> ({}) {{\n  {names} = norm.compute({}) -> ({}) space({}) {{\n{lines}  }}\n  \
             return {names} : {types}\n}}\n",
            function_inputs.join(", "),
            function_outputs.join(", "),
            arguments.join(", "),
            results.join(", "),
            space.join(", "),
        )
    }
}
