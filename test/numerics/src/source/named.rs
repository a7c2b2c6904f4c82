//! Functions of one named op, with its operands, results and attributes.

use norma_bundle::Element;

use super::{FUNCTION, extents};
use crate::case::Program;

/// A call of a named op, for any row and types.
///
/// In types, `N` stands for the extents of a row, `X` and `Y` for the element types of `x` and `y`, and `A` for that of the
/// arithmetic. Every dynamic extent is the number of rows of a run.
#[derive(Debug, PartialEq)]
pub struct Call {
    /// Its name within a case's name.
    pub name: &'static str,
    /// The mnemonic and the text between it and the first operand.
    pub op: &'static str,
    /// The first operand's type.
    pub x: &'static str,
    /// The least and the most rows that the first operand is promised to have.
    pub bounds: Option<[i64; 2]>,
    /// The other operands: the keyword of each, which is its name too, and its type.
    pub operands: &'static [(&'static str, &'static str)],
    /// The scalars that take the place of attributes: the keyword of each, which is its name too, and its default.
    pub numbers: &'static [(&'static str, &'static str)],
    /// The text between operands and attributes.
    pub keywords: &'static str,
    /// The text of the attributes between the braces; `$N` stands for the elements of a row.
    pub attributes: &'static str,
    /// The results: names and types.
    pub results: &'static [(&'static str, &'static str)],
    /// Whether results after the first are requested by keywords, which are their names.
    pub by_keyword: bool,
    /// The parameters of a schedule that is forced on the first kernel.
    pub schedule: Option<&'static str>,
    /// The parameters of a schedule that is forced on the kernel that finishes what the first one reduces in parts.
    pub finish: Option<&'static str>,
}

impl Call {
    /// A call with one operand and a result of its shape, as a base for others.
    pub const PLAIN: Call = Call {
        name: "",
        op: "",
        x: "?xNxX",
        bounds: None,
        operands: &[],
        numbers: &[],
        keywords: "",
        attributes: "",
        results: &[("y", "?xNxY")],
        by_keyword: false,
        schedule: None,
        finish: None,
    };
}

/// The text of a function with one call.
pub fn text(program: &Program, call: &Call) -> String {
    let x = ty(call.x, program);
    let bounds = call.bounds.map_or_else(String::new, |[least, most]| {
        let of_row = program.columns.len();
        let (others_least, others_most) = (", 0".repeat(of_row), ", -1".repeat(of_row));
        format!(", norm.min = array<i64: {least}{others_least}>, norm.max = array<i64: {most}{others_most}>")
    });
    let mut arguments = vec![format!("%x: {x} {{norm.name = \"x\"{bounds}}}")];
    let mut operands = String::new();
    for (name, template) in call.operands {
        let ty = ty(template, program);
        operands += &format!(" {name}(%{name} : {ty})");
        arguments.push(format!("%{name}: {ty} {{norm.name = \"{name}\"}}"));
    }
    for (name, default) in call.numbers {
        operands += &format!(" {name}(%{name})");
        arguments.push(format!(
            "%{name}: f32 {{norm.name = \"{name}\", norm.default = {default} : f32}}"
        ));
    }
    let types: Vec<String> = call
        .results
        .iter()
        .map(|(_, template)| ty(template, program))
        .collect();
    let names: Vec<String> = call.results.iter().map(|(name, _)| format!("%{name}")).collect();
    let named = call.results.iter().zip(&types);
    let results: Vec<String> = named
        .clone()
        .map(|((name, _), ty)| format!("{ty} {{norm.name = \"{name}\"}}"))
        .collect();
    let asked: Vec<String> = named
        .enumerate()
        .map(|(index, ((name, _), ty))| match call.by_keyword && index > 0 {
            true => format!("{name}({ty})"),
            false => ty.clone(),
        })
        .collect();
    let (arguments, results, names, types) = (
        arguments.join(", "),
        results.join(", "),
        names.join(", "),
        types.join(", "),
    );
    let asked = asked.join(if call.by_keyword { " " } else { ", " });
    format!(
        "func.func @{FUNCTION}({arguments}) -> ({results}) {{\n  \
         {names} = norm.{} %x{operands} {} {{{}}} : {x} -> {asked}\n  \
         return {names} : {types}\n}}\n",
        call.op,
        call.keywords,
        call.attributes.replace("$N", &program.row().to_string())
    )
}

/// A tensor's type from its template.
fn ty(template: &str, program: &Program) -> String {
    let arithmetic = match program.x {
        Element::F64 => Element::F64,
        _ => Element::F32,
    };
    let row = extents(&program.columns);
    let text = template
        .replace("Nx", &row)
        .replace('X', program.x.name())
        .replace('Y', program.y.name())
        .replace('A', arithmetic.name());
    format!("tensor<{text}>")
}
