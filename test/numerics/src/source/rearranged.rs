//! Programs that read and write along different dims: transposes, and blocks of a row scaled to 8-bit floats.

use norma_bundle::Element;

use super::{FUNCTION, tensor};
use crate::case::Program;

/// The number of elements of a block that share a scale.
const BLOCK: i64 = 32;

/// `y` is `x` transposed, and converted if the types differ.
pub fn transpose(program: &Program) -> String {
    let columns = program.row();
    let (x, y) = (tensor(&[0, columns], program.x), tensor(&[columns, 0], program.y));
    let (convert, value) = converted("%read", program.x, program.y);
    format!(
        "func.func @{FUNCTION}(%x: {x} {{norm.name = \"x\"}}) -> ({y} {{norm.name = \"y\"}}) {{\n  \
         %y = norm.compute(%x_in = %x : {x}) -> (%y_out : {y}) space(%m = dim(%x_in, 0), %n = {columns}) {{\n    \
         %read = norm.read %x_in[%m, %n] : {x}\n    {convert}\n    \
         norm.write {value}, %y_out[%n, %m] : {y}\n  }}\n  return %y : {y}\n}}\n"
    )
}

/// Each block of a row is divided by a scale that maps its largest magnitude to the largest number of `y`'s type.
pub fn quantize_blocks(program: &Program, is_transposed: bool) -> String {
    let (columns, blocks) = (program.row(), program.row() / BLOCK);
    let (x, at, rows) = match is_transposed {
        true => (
            tensor(&[columns, 0], program.x),
            format!("%q * {BLOCK} + %j, %m"),
            1,
        ),
        false => (
            tensor(&[0, columns], program.x),
            format!("%m, %q * {BLOCK} + %j"),
            0,
        ),
    };
    let (y, scales) = (
        tensor(&[0, columns], program.y),
        tensor(&[0, blocks], Element::F32),
    );
    let (widen, wide) = converted("%read", program.x, Element::F32);
    let (narrow, value) = converted("%scaled", Element::F32, program.y);
    format!(
        "func.func @{FUNCTION}(%x: {x} {{norm.name = \"x\"}}) -> ({y} {{norm.name = \"y\"}}, {scales} {{norm.name = \"scales\"}}) {{\n  \
         %y, %scales = norm.compute(%x_in = %x : {x}) -> (%y_out : {y}, %scales_out : {scales}) \
         space(%m = dim(%x_in, {rows}), %q = {blocks}, %j = {BLOCK}) {{\n    \
         %read = norm.read %x_in[{at}] : {x}\n    {widen}\n    \
         %magnitude = math.absf {wide} : f32\n    \
         %amax = norm.reduce max %magnitude over(%j) : f32\n    \
         %largest = arith.constant {:.1} : f32\n    \
         %scale = arith.divf %amax, %largest : f32\n    \
         norm.write %scale, %scales_out[%m, %q] : {scales}\n    \
         %scaled = arith.divf {wide}, %scale : f32\n    {narrow}\n    \
         norm.write {value}, %y_out[%m, %q * {BLOCK} + %j] : {y}\n  }}\n  return %y, %scales : {y}, {scales}\n}}\n",
        program.y.largest_finite(),
    )
}

/// The line that converts `value` to type `to`, and the result's name; no line if both types have the same size.
fn converted(value: &str, from: Element, to: Element) -> (String, String) {
    let op = match from.bytes().cmp(&to.bytes()) {
        std::cmp::Ordering::Equal => return (String::new(), value.to_owned()),
        std::cmp::Ordering::Less => "arith.extf",
        std::cmp::Ordering::Greater => "arith.truncf",
    };
    let (from, to) = (from.name(), to.name());
    let result = format!("{value}_{to}");
    (format!("{result} = {op} {value} : {from} to {to}"), result)
}
