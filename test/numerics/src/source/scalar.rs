//! One op of the table of scalar ops as a kernel: its result for each element, and the sum of a row's results, to which lanes
//! without an element must not contribute.

use std::fmt::Write;

use norma_bundle::Element::{self, BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I1, I8, I32, I64};
use norma_bundle::ScalarOp;
use norma_bundle::scalar_op::Form;

use super::{FUNCTION, kept, tensor, whole};
use crate::case::Program;

/// The type in which memory holds an element of type `element`: booleans are bytes.
pub fn memory(element: Element) -> Element {
    match element {
        Element::I1 => Element::I8,
        element => element,
    }
}

/// The types of results. A position among an op's signatures, which cases name, depends on their order.
const RESULTS: [Element; 10] = [F8E4M3FN, F8E5M2, F16, BF16, F32, F64, I1, I8, I32, I64];

/// All combinations of types that an op accepts: the operands' types and the result's.
pub fn signatures(op: ScalarOp) -> Vec<(Vec<Element>, Element)> {
    let row = op.row();
    let mut found = Vec::new();
    for operand in row.types {
        let operands = match row.form {
            Form::Select => vec![I1, *operand, *operand],
            _ => vec![*operand; row.operand_count()],
        };
        let results = RESULTS
            .into_iter()
            .filter(|result| row.accepts(&operands, *result));
        found.extend(results.map(|result| (operands.clone(), result)));
    }
    found
}

/// The program as a module.
pub fn text(program: &Program, op: ScalarOp, signature: usize) -> String {
    let Some((operands, result)) = signatures(op).into_iter().nth(signature) else {
        return String::new();
    };
    // The last operand is `x`: the first operand of a select is a boolean.
    let inputs: Vec<(String, Element)> = operands
        .iter()
        .enumerate()
        .map(|(index, element)| match index + 1 == operands.len() {
            true => ("x".to_owned(), memory(*element)),
            false => (format!("x{index}"), memory(*element)),
        })
        .collect();
    let mut body = String::new();
    let mut line = |text: String| {
        // Writing to a string does not fail.
        let _ = writeln!(body, "    {text}");
    };
    let mut names = Vec::new();
    for ((name, stored), element) in inputs.iter().zip(&operands) {
        let ty = tensor(&whole(program), *stored);
        line(format!("%{name}_read = norm.read %{name}_in[%m0, %n0] : {ty}"));
        names.push(format!("%{name}_read"));
        if *element == Element::I1 {
            line(format!("%{name}_bit = arith.trunci %{name}_read : i8 to i1"));
            names.pop();
            names.push(format!("%{name}_bit"));
        }
    }
    if divides(op) {
        let (divisor, ty) = (names[1].clone(), operands[1].name());
        line(format!("%one = arith.constant 1 : {ty}"));
        line(format!("%odd = arith.ori {divisor}, %one : {ty}"));
        names[1] = "%odd".to_owned();
    }
    for text in application(op, &names, &operands, result) {
        line(text);
    }
    let mut stored = "%value".to_owned();
    if result == Element::I1 {
        line("%byte = arith.extui %value : i1 to i8".to_owned());
        stored = "%byte".to_owned();
    }
    let out = memory(result);
    let ty = tensor(&whole(program), out);
    line(format!("norm.write {stored}, %y_out[%m0, %n0] : {ty}"));
    let summed = match (out.is_float(), out.bytes()) {
        (true, 1 | 2) => Element::F32,
        (false, 1) => Element::I32,
        _ => out,
    };
    if summed != out {
        let widen = if out.is_float() {
            "arith.extf"
        } else {
            "arith.extsi"
        };
        line(format!(
            "%wide = {widen} {stored} : {} to {}",
            out.name(),
            summed.name()
        ));
        stored = "%wide".to_owned();
    }
    let sums = tensor(&kept(program), summed);
    line(format!(
        "%total = norm.reduce add {stored} over(%n0) : {}",
        summed.name()
    ));
    line(format!("norm.write %total, %sum_out[%m0] : {sums}"));
    let list = |each: &dyn Fn(&str, &str) -> String| {
        let all = inputs
            .iter()
            .map(|(name, element)| each(name, &tensor(&whole(program), *element)));
        all.collect::<Vec<_>>().join(", ")
    };
    let arguments = list(&|name, ty| format!("%{name}: {ty} {{norm.name = \"{name}\"}}"));
    let bound = list(&|name, ty| format!("%{name}_in = %{name} : {ty}"));
    format!(
        "func.func @{FUNCTION}({arguments}) -> ({ty} {{norm.name = \"y\"}}, {sums} {{norm.name = \"sum\"}}) {{\n  \
         %y, %sum = norm.compute({bound}) -> (%y_out : {ty}, %sum_out : {sums}) \
         space(%m0 = dim(%x_in, 0), %n0 = {}) {{\n{body}  }}\n  return %y, %sum : {ty}, {sums}\n}}\n",
        program.row()
    )
}

/// Whether the op is undefined for a divisor of 0; the divisors used here are odd.
fn divides(op: ScalarOp) -> bool {
    matches!(
        op,
        ScalarOp::DivSI
            | ScalarOp::DivUI
            | ScalarOp::CeilDivSI
            | ScalarOp::CeilDivUI
            | ScalarOp::FloorDivSI
            | ScalarOp::RemSI
            | ScalarOp::RemUI
    )
}

/// The lines that apply the op to `names`, with its result `%value`, and the constants that it needs.
fn application(op: ScalarOp, names: &[String], operands: &[Element], result: Element) -> Vec<String> {
    let name = op.row().name;
    let (from, to) = (operands[0].name(), result.name());
    let list = names.join(", ");
    match op {
        ScalarOp::CmpF => vec![format!("%value = {name} ult, {list} : {from}")],
        ScalarOp::CmpI => vec![format!("%value = {name} slt, {list} : {from}")],
        ScalarOp::ClampF => vec![format!(
            "%value = {name} {} to [{}, {}] : {from}",
            names[0], names[1], names[2]
        )],
        // One of the types is `index`, which is never stored in memory.
        ScalarOp::IndexCast | ScalarOp::IndexCastUI => vec![
            format!("%index = {name} {list} : {from} to index"),
            format!("%value = {name} %index : index to {to}"),
        ],
        _ if operands.len() == 1 && operands[0] != result => {
            vec![format!("%value = {name} {list} : {from} to {to}")]
        }
        _ => vec![format!("%value = {name} {list} : {to}")],
    }
}

#[cfg(test)]
mod tests {
    use norma_bundle::scalar_op::TABLE;

    use super::*;

    #[test]
    fn every_op_has_a_choice_of_types() {
        for row in TABLE {
            let signatures = signatures(row.op);
            for (operands, result) in &signatures {
                assert!(row.accepts(operands, *result), "{}", row.name);
            }
            assert!(signatures.len() >= 3, "{}", row.name);
        }
    }
}
