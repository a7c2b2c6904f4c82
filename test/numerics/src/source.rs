//! The text of a case's program: a named op if there is one, otherwise the algorithm in kernel form.

mod algorithms;
mod body;
pub mod differentiated;
mod drawn;
pub mod graphs;
pub mod named;
mod rearranged;
mod scalar;
pub mod selected;

use std::fmt::Write;

use norma_bundle::Element;
pub use scalar::{memory as scalar_memory, signatures as scalar_signatures};

use crate::case::{Layout, Op, Program};

/// The function's name.
pub const FUNCTION: &str = "f";

/// The program as a module at level `tensor`.
pub fn text(program: &Program) -> String {
    match program.op {
        Op::RmsNorm { .. } => rms_norm(program),
        Op::Named(call) => named::text(program, call),
        Op::Graph(graph) => graphs::text(program, graph),
        Op::Gradient(gradient) => differentiated::text(program, gradient),
        Op::Scalar { op, signature } => scalar::text(program, op, signature),
        Op::Transpose { .. } => rearranged::transpose(program),
        Op::QuantizeBlocks { is_transposed, .. } => rearranged::quantize_blocks(program, is_transposed),
        op => algorithms::kernel_form(program, op),
    }
}

/// `f32[?, 4, 64]` as `tensor<?x4x64xf32>`.
fn tensor(shape: &[i64], element: Element) -> String {
    format!("tensor<{}{}>", extents(shape), element.name())
}

fn extents(shape: &[i64]) -> String {
    let extent = |extent: &i64| match extent {
        0 => "?x".to_owned(),
        extent => format!("{extent}x"),
    };
    shape.iter().map(extent).collect()
}

/// The axes that are kept, outermost first; 0 stands for the dynamic one.
fn kept(program: &Program) -> Vec<i64> {
    match program.heads {
        1 => vec![0],
        heads => vec![0, heads],
    }
}

fn whole(program: &Program) -> Vec<i64> {
    [kept(program), program.columns.clone()].concat()
}

/// The attributes of `x`.
fn attributes_of_x(program: &Program) -> String {
    let shape = whole(program);
    let mut text = "{norm.name = \"x\"".to_owned();
    if let Some(align) = program.align {
        let align = align.max(program.x.bytes() as i64);
        let _ = write!(text, ", norm.align = {align} : i64");
    }
    let strides = match program.layout {
        Layout::Dense => None,
        Layout::Padded(_) => {
            let mut strides = vec!["?".to_owned()];
            for axis in 1..shape.len() {
                strides.push(shape[axis + 1..].iter().product::<i64>().to_string());
            }
            Some(strides)
        }
        Layout::Transposed => Some(vec!["1".to_owned(), "?".to_owned()]),
        Layout::Broadcast => Some(vec!["0".to_owned(), "1".to_owned()]),
    };
    if let Some(strides) = strides {
        let _ = write!(
            text,
            ", norm.buffer = memref<{}{}, strided<[{}]>>",
            extents(&shape),
            program.x.name(),
            strides.join(", ")
        );
    }
    text + "}"
}

fn attributes_of_y(program: &Program, name: &str) -> String {
    let align = program.align.filter(|_| name == "y");
    let align = align.map(|align| align.max(program.y.bytes() as i64));
    let align = align.map(|align| format!(", norm.align = {align} : i64"));
    format!("{{norm.name = \"{name}\"{}}}", align.unwrap_or_default())
}

fn rms_norm(program: &Program) -> String {
    let Op::RmsNorm {
        weight,
        offset,
        bias,
        rstd,
    } = program.op
    else {
        return String::new();
    };
    let (x, y) = (
        tensor(&whole(program), program.x),
        tensor(&whole(program), program.y),
    );
    let mut arguments = format!("%x: {x} {}", attributes_of_x(program));
    let mut operands = String::new();
    for (name, keyword, element) in [("w", "weight", weight), ("b", "bias", bias)] {
        if let Some(element) = element {
            let ty = tensor(&program.columns, element);
            let _ = write!(arguments, ", %{name}: {ty} {{norm.name = \"{name}\"}}");
            let _ = write!(operands, " {keyword}(%{name} : {ty})");
        }
    }
    let mut attributes = "eps = 1.0e-5 : f32".to_owned();
    if offset {
        attributes += ", weight_offset = 1.0 : f32";
    }
    if program.columns.len() != 1 {
        let axes: Vec<String> = (1..=program.columns.len())
            .map(|axis| format!("-{axis}"))
            .collect();
        let _ = write!(attributes, ", axes = array<i64: {}>", axes.join(", "));
    }
    let mut results = vec![format!("{y} {}", attributes_of_y(program, "y"))];
    let mut types = vec![y];
    let mut names = vec!["%y"];
    if rstd {
        let ty = tensor(&kept(program), Element::F32);
        results.push(format!("{ty} {}", attributes_of_y(program, "rstd")));
        types.push(ty);
        names.push("%rstd");
    }
    let (results, types, names) = (results.join(", "), types.join(", "), names.join(", "));
    format!(
        "func.func @{FUNCTION}({arguments}) -> ({results}) {{\n  \
         {names} = norm.rms_norm %x{operands} {{{attributes}}} : {x} -> {types}\n  \
         return {names} : {types}\n}}\n"
    )
}
