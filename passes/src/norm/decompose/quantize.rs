//! `norm.quantize`: `q = x / scale`, with `scale = max(amax / L, 2^-126)` of each block where none is given.

use melior::ir::{OperationRef, Type, Value, ValueLike};
use norma_dialects::norm::{QuantizeOp, ReduceKind, ScaleLayout};

use super::{
    program::{Blocks, Coordinate, Pairs, Program, Rounding, e2m1, is_power_of_two, scale_layout},
    viewed,
};
use crate::mlir::{
    pass::{PassError, PassResult},
    types,
};

/// The least scale stored in f32, and the least power of two as a scale: blocks of zeros get it.
const LEAST_SCALE: f64 = f32::MIN_POSITIVE as f64;
/// The least scale stored in f8E4M3FN: the type's smallest positive number.
const LEAST_E4M3: f64 = 1.0 / 512.0;

/// The scale of a block.
struct Scale<'c, 'a> {
    /// The divisor of the block's elements.
    divisor: Value<'c, 'a>,
    /// The scale as it is stored.
    stored: Value<'c, 'a>,
}

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, QuantizeOp::from_op)?;
    let pairs = match of.e2m1() {
        true => Pairs::InResult,
        false => Pairs::Nowhere,
    };
    let blocks = Blocks::begin(op, &of.block()?, pairs)?;
    let p = &blocks.program;
    let of_block = Coordinate::of(blocks.of_block());
    let x = p.read_at(of.x()?, &blocks.element)?;
    let element = types::element(of.q()?.r#type());
    let largest = match of.e2m1() {
        true => e2m1::LARGEST,
        false => largest_number(element),
    };

    let amax = || p.reduce(ReduceKind::Max, p.op("math.absf", &[x]), &blocks.split.reduced);
    if let Some(result) = of.amax() {
        p.write_at(amax()?, result, &of_block)?;
    }
    let scale = match (of.static_scale(), of.scale()) {
        (Some(scale), _) => p.read_at(scale, &of_block)?,
        (None, Some(result)) => {
            let stored = types::element(result.r#type());
            let scale = if is_power_of_two(stored) || of.power_of_two() {
                let rounding = match of.round_down() {
                    true => Rounding::Down,
                    false => Rounding::Up,
                };
                power_of_two(p, amax()?, largest, stored, rounding)
            } else if types::is_f32(stored) {
                let scale = quotient(p, amax()?, largest, None, LEAST_SCALE);
                Scale {
                    divisor: scale,
                    stored: scale,
                }
            } else {
                let factor = of
                    .tensor_scale()
                    .map(|factor| p.read_at(factor, &[]))
                    .transpose()?;
                rounded(p, amax()?, largest, stored, factor)
            };
            let at = scale_layout::coordinates(of.scale_layout()?, blocks.of_block());
            match of.scale_layout()? {
                ScaleLayout::Swizzled128x4 => p.write_part_at(scale.stored, result, &at)?,
                _ => p.write_at(scale.stored, result, &at)?,
            }
            scale.divisor
        }
        (None, None) => {
            return Err(PassError::Internal(
                "expected a scale that is given or asked for".to_owned(),
            ));
        }
    };
    let scaled = p.op("arith.divf", &[x, scale]);
    let q = match blocks.of_pair {
        Some(of_pair) => p.pair_of_codes(p.e2m1(scaled), of_pair)?,
        None if types::is_float(element) => scaled,
        None => p.saturated_integer(scaled, element),
    };
    p.write_at(q, of.q()?, &blocks.pair)?;
    blocks.program.end();
    Ok(())
}

/// The scale of a block whose largest magnitude is `amax`, as a multiple of `factor` if there is one: at least `least`, and NaN instead of
/// infinity.
fn quotient<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    amax: Value<'c, 'a>,
    largest: f32,
    factor: Option<Value<'c, 'a>>,
    least: f64,
) -> Value<'c, 'a> {
    let mut quotient = p.op("arith.divf", &[amax, p.constant(f64::from(largest))]);
    if let Some(factor) = factor {
        quotient = p.op("arith.divf", &[quotient, factor]);
    }
    let scale = p.op("arith.maximumf", &[quotient, p.constant(least)]);
    p.select(p.is_infinite(scale), p.constant(f64::NAN), scale)
}

/// The same scale rounded to f8E4M3FN, which is the type `stored`.
fn rounded<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    amax: Value<'c, 'a>,
    largest: f32,
    stored: Type<'c>,
    factor: Option<Value<'c, 'a>>,
) -> Scale<'c, 'a> {
    let stored = p.narrowed(quotient(p, amax, largest, factor, LEAST_E4M3), stored);
    let scale = p.widened(stored);
    let divisor = match factor {
        Some(factor) => p.op("arith.mulf", &[scale, factor]),
        None => scale,
    };
    Scale { divisor, stored }
}

/// The same scale as a power of two, stored as E8M0 or, if `stored` is f32, as it is.
fn power_of_two<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    amax: Value<'c, 'a>,
    largest: f32,
    stored: Type<'c>,
    rounding: Rounding,
) -> Scale<'c, 'a> {
    let exponent = p.exponent_of_quotient(amax, largest, rounding);
    let divisor = p.power_of_exponent(exponent);
    let stored = match types::is_f32(stored) {
        true => divisor,
        false => p.e8m0(exponent, stored),
    };
    Scale { divisor, stored }
}

/// The largest finite number of an 8-bit type (Micikevicius et al. 2022, FP8 formats for deep learning).
fn largest_number(element: Type) -> f32 {
    match element.to_string().as_str() {
        "f8E4M3FN" => 448.0,
        "f8E5M2" => 57344.0,
        _ => 127.0,
    }
}
