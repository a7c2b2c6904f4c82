//! Algorithms that are not a named op, as scalar programs.

use norma_bundle::Element;

use super::body::Body;
use super::drawn;
use super::{kept, tensor, whole};
use crate::case::{Op, Program};

/// A function that computes `op` in one `norm.compute`.
pub fn kernel_form(program: &Program, op: Op) -> String {
    let mut body = Body::new(program);
    let (rows, dims, columns) = (body.rows.clone(), body.dims.clone(), body.columns.clone());
    let (whole, kept) = (whole(program), kept(program));
    let x = body.read("x", &whole, program.x, &dims);
    let compute = body.compute;
    let per_row = |body: &mut Body, value: &str, name: &str| body.write(value, name, &kept, compute, &rows);
    let per_element = |body: &mut Body, value: &str| body.write(value, "y", &whole, program.y, &dims);
    let count = program.row() as f64;
    match op {
        // These ops are written elsewhere, in other types than rows are computed in.
        Op::RmsNorm { .. }
        | Op::Named(_)
        | Op::Graph(_)
        | Op::Gradient(_)
        | Op::Scalar { .. }
        | Op::Transpose { .. }
        | Op::QuantizeBlocks { .. } => {}
        Op::LayerNorm { affine } => {
            let (centred, rstd) = centred_and_rstd(&mut body, &x, count);
            let mut y = body.op("arith.mulf", &[&centred, &rstd]);
            if let Some(element) = affine {
                let weight = body.read("w", &program.columns, element, &columns);
                let bias = body.read("b", &program.columns, element, &columns);
                y = body.op("arith.mulf", &[&y, &weight]);
                y = body.op("arith.addf", &[&y, &bias]);
            }
            per_element(&mut body, &y);
        }
        Op::LayerNormWelford => {
            let (mean, squares) = welford(&mut body, &x);
            let count = body.constant(count);
            let variance = body.op("arith.divf", &[&squares, &count]);
            let rstd = rsqrt_plus_eps(&mut body, &variance);
            let centred = body.op("arith.subf", &[&x, &mean]);
            let y = body.op("arith.mulf", &[&centred, &rstd]);
            per_element(&mut body, &y);
        }
        Op::Softmax => {
            let (exponentials, sum, _) = exponentials(&mut body, &x);
            let y = body.op("arith.divf", &[&exponentials, &sum]);
            per_element(&mut body, &y);
        }
        Op::LogSumExp => {
            let (_, sum, max) = exponentials(&mut body, &x);
            let log = body.op("math.log", &[&sum]);
            let y = body.op("arith.addf", &[&max, &log]);
            per_row(&mut body, &y, "lse");
        }
        Op::CrossEntropy => {
            let (_, sum, max) = exponentials(&mut body, &x);
            let ty = tensor(&kept, Element::I64);
            let label = body.value(format!("norm.read %labels_in[{rows}] : {ty}"));
            body.inputs.push(("labels".to_owned(), ty));
            let column = body.value(format!("arith.index_cast {label} : i64 to index"));
            let hit = body.value(format!("arith.cmpi eq, {columns}, {column} : index"));
            let zero = body.constant(0.0);
            let shifted = body.op("arith.subf", &[&x, &max]);
            let name = compute.name();
            let picked = body.value(format!("arith.select {hit}, {shifted}, {zero} : {name}"));
            let logit = body.reduce("add", &picked);
            let log = body.op("math.log", &[&sum]);
            let loss = body.op("arith.subf", &[&log, &logit]);
            per_row(&mut body, &loss, "loss");
        }
        Op::L2Norm => {
            let square = body.op("arith.mulf", &[&x, &x]);
            let sum = body.reduce("add", &square);
            let inverse = rsqrt_plus_eps(&mut body, &sum);
            let y = body.op("arith.mulf", &[&x, &inverse]);
            per_element(&mut body, &y);
        }
        Op::Amax => {
            let magnitude = body.op("math.absf", &[&x]);
            let y = body.reduce("max", &magnitude);
            per_row(&mut body, &y, "amax");
        }
        Op::ArgMax => {
            let (value, place) = arg_max(&mut body, &x, &columns);
            per_row(&mut body, &value, "max");
            let ty = tensor(&kept, Element::I32);
            body.line(format!("norm.write {place}, %index_out[{rows}] : {ty}"));
            body.outputs.push(("index".to_owned(), ty));
        }
        Op::Min => {
            let y = body.reduce("min", &x);
            per_row(&mut body, &y, "min");
        }
        Op::MaxNegated => {
            let zero = body.constant(0.0);
            let subtract = if compute.is_float() {
                "arith.subf"
            } else {
                "arith.subi"
            };
            let negated = body.op(subtract, &[&zero, &x]);
            let y = body.reduce("max", &negated);
            per_row(&mut body, &y, "max");
        }
        Op::Sum => {
            let y = body.reduce("add", &x);
            per_row(&mut body, &y, "sum");
        }
        Op::Product => {
            let y = body.reduce("mul", &x);
            per_row(&mut body, &y, "product");
        }
        Op::And => {
            let y = body.reduce("and", &x);
            per_row(&mut body, &y, "and");
        }
        Op::Or => {
            let y = body.reduce("or", &x);
            per_row(&mut body, &y, "or");
        }
        Op::RotateHalves => return rotate_halves(program),
        Op::Drawn { seed, steps } => {
            let (y, row) = drawn::steps(&mut body, &x, program, seed, steps);
            per_element(&mut body, &y);
            per_row(&mut body, &row, "row");
        }
        Op::Centre => {
            let centred = centred(&mut body, &x, count);
            per_element(&mut body, &centred);
        }
        Op::VarianceAndAmax => {
            let magnitude = body.op("math.absf", &[&x]);
            let amax = body.reduce("max", &magnitude);
            per_row(&mut body, &amax, "amax");
            let centred = centred(&mut body, &x, count);
            let square = body.op("arith.mulf", &[&centred, &centred]);
            let sum = body.reduce("add", &square);
            let count = body.constant(1.0 / count);
            let variance = body.op("arith.mulf", &[&sum, &count]);
            per_row(&mut body, &variance, "var");
        }
    }
    body.finish(program)
}

fn centred(body: &mut Body, x: &str, count: f64) -> String {
    let sum = body.reduce("add", x);
    let share = body.constant(1.0 / count);
    let mean = body.op("arith.mulf", &[&sum, &share]);
    body.op("arith.subf", &[x, &mean])
}

fn centred_and_rstd(body: &mut Body, x: &str, count: f64) -> (String, String) {
    let centred = centred(body, x, count);
    let square = body.op("arith.mulf", &[&centred, &centred]);
    let sum = body.reduce("add", &square);
    let share = body.constant(1.0 / count);
    let variance = body.op("arith.mulf", &[&sum, &share]);
    let rstd = rsqrt_plus_eps(body, &variance);
    (centred, rstd)
}

fn rsqrt_plus_eps(body: &mut Body, value: &str) -> String {
    let eps = body.constant(1e-5);
    let shifted = body.op("arith.addf", &[value, &eps]);
    body.op("math.rsqrt", &[&shifted])
}

/// `exp(x - max)`, its sum, and the maximum.
fn exponentials(body: &mut Body, x: &str) -> (String, String, String) {
    let max = body.reduce("max", x);
    let shifted = body.op("arith.subf", &[x, &max]);
    let exponential = body.op("math.exp", &[&shifted]);
    let sum = body.reduce("add", &exponential);
    (exponential, sum, max)
}

/// The mean, and the sum of squared deviations from it (Chan, Golub and LeVeque 1983).
fn welford(body: &mut Body, x: &str) -> (String, String) {
    let ty = body.compute.name();
    let (zero, one) = (body.constant(0.0), body.constant(1.0));
    let columns = body.columns.clone();
    body.line(format!(
        "%mean, %squares, %count = norm.reduce {x}, {zero}, {one} over({columns}) identity \
         [0.0 : {ty}, 0.0 : {ty}, 0.0 : {ty}] : {ty}, {ty}, {ty} combine {{"
    ));
    body.line(format!(
        "^bb0(%mean0: {ty}, %squares0: {ty}, %count0: {ty}, %mean1: {ty}, %squares1: {ty}, %count1: {ty}):"
    ));
    let mut op = |name: &str, operands: [&str; 2]| body.op(name, &operands);
    let total = op("arith.addf", ["%count0", "%count1"]);
    let at_least = body.constant(1.0);
    let mut op = |name: &str, operands: [&str; 2]| body.op(name, &operands);
    let divisor = op("arith.maximumf", [&total, &at_least]);
    let delta = op("arith.subf", ["%mean1", "%mean0"]);
    let share = op("arith.divf", ["%count1", &divisor]);
    let step = op("arith.mulf", [&delta, &share]);
    let mean = op("arith.addf", ["%mean0", &step]);
    let between = op("arith.mulf", [&delta, &step]);
    let weighted = op("arith.mulf", [&between, "%count0"]);
    let within = op("arith.addf", ["%squares0", "%squares1"]);
    let squares = op("arith.addf", [&within, &weighted]);
    body.line(format!(
        "norm.yield {mean}, {squares}, {total} : {ty}, {ty}, {ty}"
    ));
    body.line("}".to_owned());
    ("%mean".to_owned(), "%squares".to_owned())
}

/// The largest element and its first position. The combiner does not order NaN.
fn arg_max(body: &mut Body, x: &str, column: &str) -> (String, String) {
    let ty = body.compute.name();
    let place = body.value(format!("arith.index_cast {column} : index to i32"));
    let columns = body.columns.clone();
    body.line(format!(
        "%max, %place = norm.reduce {x}, {place} over({columns}) identity [0xFF800000 : {ty}, 2147483647 : i32] : \
         {ty}, i32 combine {{"
    ));
    body.line(format!(
        "^bb0(%max0: {ty}, %place0: i32, %max1: {ty}, %place1: i32):"
    ));
    let lines = [
        format!("%greater = arith.cmpf ogt, %max0, %max1 : {ty}"),
        format!("%equal = arith.cmpf oeq, %max0, %max1 : {ty}"),
        "%first = arith.cmpi slt, %place0, %place1 : i32".to_owned(),
        "%tie = arith.andi %equal, %first : i1".to_owned(),
        "%left = arith.ori %greater, %tie : i1".to_owned(),
        format!("%best = arith.select %left, %max0, %max1 : {ty}"),
        "%where = arith.select %left, %place0, %place1 : i32".to_owned(),
        format!("norm.yield %best, %where : {ty}, i32"),
        "}".to_owned(),
    ];
    body.lines.extend(lines);
    ("%max".to_owned(), "%place".to_owned())
}

/// The space has half of a row's columns, so this body differs from that of the other algorithms.
fn rotate_halves(program: &Program) -> String {
    let half = program.row() / 2;
    let halved = Program {
        columns: vec![half],
        ..program.clone()
    };
    let mut body = Body::new(&halved);
    let whole = whole(program);
    let dims = [body.dims.clone(), format!("{} + {half}", body.dims)];
    let first = body.read("x", &whole, program.x, &dims[0]);
    let second = body.read("x", &whole, program.x, &dims[1]);
    body.inputs.truncate(1);
    let square = body.op("arith.mulf", &[&first, &first]);
    let squares = body.op("math.fma", &[&second, &second, &square]);
    let sum = body.reduce("add", &squares);
    let inverse = rsqrt_plus_eps(&mut body, &sum);
    let minus = body.op("arith.mulf", &[&second, &inverse]);
    let zero = body.constant(0.0);
    let turned = body.op("arith.subf", &[&zero, &minus]);
    let kept = body.op("arith.mulf", &[&first, &inverse]);
    body.write(&turned, "y", &whole, program.y, &dims[0]);
    body.write(&kept, "y", &whole, program.y, &dims[1]);
    body.outputs.truncate(1);
    body.finish(&halved)
}
