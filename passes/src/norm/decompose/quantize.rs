//! `norm.quantize`: `q = x / scale`, with `scale = max(amax / L, 2^-126)` of each block where none is given.

use melior::ir::{OperationRef, Type, Value, ValueLike};
use norma_dialects::norm::{QuantizeOp, ReduceKind};

use super::{
    program::{Blocks, Coordinate, Program},
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
            let is_power = of.power_of_two();
            let (scale, stored) = computed(p, amax()?, element, result, is_power);
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

/// The scale of a block whose largest magnitude is `amax`, and as `result` stores it.
fn computed<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    amax: Value<'c, 'a>,
    element: Type<'c>,
    result: Value<'c, 'a>,
    is_power: bool,
) -> (Value<'c, 'a>, Value<'c, 'a>) {
    let largest = largest_number(element);
    let is_e8m0 = !types::is_float(types::element(result.r#type()));
    if !is_power && !is_e8m0 {
        let quotient = p.op("arith.divf", &[amax, p.constant(f64::from(largest))]);
        let scale = p.op("arith.maximumf", &[quotient, p.constant(LEAST_SCALE)]);
        let scale = p.select(p.is_infinite(scale), p.constant(f64::NAN), scale);
        return (scale, scale);
    }
    let exponent = p.exponent_of_quotient(amax, largest);
    let scale = p.power_of_exponent(exponent);
    (scale, if is_e8m0 { p.e8m0(exponent) } else { scale })
}

/// The largest finite number of a type of 8 bits (Micikevicius et al. 2022, FP8 formats for deep learning).
fn largest_number(element: Type) -> f32 {
    match element.to_string().as_str() {
        "f8E4M3FN" => 448.0,
        "f8E5M2" => 57344.0,
        _ => 127.0,
    }
}
