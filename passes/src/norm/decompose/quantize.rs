//! `norm.quantize`: `q = x / scale`, with `scale = max(amax / L, 2^-126)` of each block where none is given.

use melior::ir::{OperationRef, Type, Value, ValueLike};
use norma_dialects::norm::{QuantizeOp, ReduceKind};

use super::{
    program::{Blocks, Coordinate, Program, Rounding},
    viewed,
};
use crate::mlir::{
    pass::{PassError, PassResult},
    types,
};

/// The least scale: blocks of zeros have it.
const LEAST_SCALE: f64 = f32::MIN_POSITIVE as f64;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, QuantizeOp::from_op)?;
    let blocks = Blocks::begin(op, &of.block()?)?;
    let p = &blocks.program;
    let of_block = Coordinate::of(blocks.of_block());
    let x = p.read_at(of.x()?, &blocks.element)?;
    let element = types::element(of.q()?.r#type());

    let amax = || p.reduce(ReduceKind::Max, p.op("math.absf", &[x]), &blocks.split.reduced);
    if let Some(result) = of.amax() {
        p.write_at(amax()?, result, &of_block)?;
    }
    let scale = match (of.static_scale(), of.scale()) {
        (Some(scale), _) => p.read_at(scale, &of_block)?,
        (None, Some(result)) => {
            let rounding = match of.round_down() {
                true => Rounding::Down,
                false => Rounding::Up,
            };
            let (scale, stored) = match types::is_f32(types::element(result.r#type())) && !of.power_of_two() {
                true => {
                    let scale = quotient(p, amax()?, element);
                    (scale, scale)
                }
                false => power_of_two(p, amax()?, element, result, rounding),
            };
            p.write_at(stored, result, &of_block)?;
            scale
        }
        (None, None) => {
            return Err(PassError::Internal(
                "expected a scale that is given or asked for".to_owned(),
            ));
        }
    };
    let scaled = p.op("arith.divf", &[x, scale]);
    let q = match types::is_float(element) {
        true => scaled,
        false => p.saturated_integer(scaled, element),
    };
    p.write_at(q, of.q()?, &blocks.element)?;
    blocks.program.end();
    Ok(())
}

/// The scale of a block whose largest magnitude is `amax`.
fn quotient<'c: 'a, 'a>(p: &Program<'c, 'a>, amax: Value<'c, 'a>, element: Type<'c>) -> Value<'c, 'a> {
    let largest = p.constant(f64::from(largest_number(element)));
    let quotient = p.op("arith.divf", &[amax, largest]);
    let scale = p.op("arith.maximumf", &[quotient, p.constant(LEAST_SCALE)]);
    p.select(p.is_infinite(scale), p.constant(f64::NAN), scale)
}

/// The same as a power of two, and as `result` stores it.
fn power_of_two<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    amax: Value<'c, 'a>,
    element: Type<'c>,
    result: Value<'c, 'a>,
    rounding: Rounding,
) -> (Value<'c, 'a>, Value<'c, 'a>) {
    let exponent = p.exponent_of_quotient(amax, largest_number(element), rounding);
    let scale = p.power_of_exponent(exponent);
    let stored = types::element(result.r#type());
    let is_f32 = types::is_f32(stored);
    (scale, if is_f32 { scale } else { p.e8m0(exponent, stored) })
}

/// The largest finite number of a type of 8 bits (Micikevicius et al. 2022, FP8 formats for deep learning).
fn largest_number(element: Type) -> f32 {
    match element.to_string().as_str() {
        "f8E4M3FN" => 448.0,
        "f8E5M2" => 57344.0,
        _ => 127.0,
    }
}
