//! Quotients with the divisor `1 + exp(z)`, as in SiLU, SwiGLU and the logistic function itself.
//!
//! A product with an approximate reciprocal takes two instructions where an approximate division of any two numbers takes five, but the
//! reciprocal of a divisor beyond 2^126 is subnormal, and `rcp.approx` gives zero. A quarter of `1 + exp(z)` is at least 1/4, and reaches
//! 2^126 where the whole leaves the range of f32. So the dividend is multiplied by `0.25 / (0.25 + exp2(z * log2(e) - 2))`, which is the same
//! as the reciprocal up to the rounding of the exponent, as the other factors are powers of two. Beyond 2^126 that product is subnormal, which
//! multiplications keep, with up to two bits less than a normal number has.

use std::f64::consts::LOG2_E;

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::op_name;

use super::allow;
use crate::mlir::{
    builder::Builder,
    fast_math::{APPROXIMATE, RECIPROCAL},
    pass::PassError,
    values::{definition, number},
};

/// Scales a division by `1 + exp(z)`, and allows it to become a product with an approximate reciprocal. Returns whether it is such a
/// division.
pub(super) fn scale<'c: 'a, 'a>(division: OperationRef<'c, 'a>) -> Result<bool, PassError<'c>> {
    let (dividend, divisor) = (division.operand(0)?, division.operand(1)?);
    let Some(exponential) = exponential_beside_one(divisor) else {
        return Ok(false);
    };
    let b = Builder::before(division);
    let ty = dividend.r#type();
    let binary = |name: &str, x: Value<'c, 'a>, y: f64| b.value(name, &[x, b.float(ty, y)], ty);
    let power = exponential.operand(0)?;
    let exponent = match op_name(exponential) {
        "math.exp" => b.value("math.fma", &[power, b.float(ty, LOG2_E), b.float(ty, -2.0)], ty),
        _ => binary("arith.addf", power, -2.0),
    };
    let quarter = b.value("math.exp2", &[exponent], ty);
    let divisor = binary("arith.addf", quarter, 0.25);
    let reciprocal = b.op("arith.divf", &[b.float(ty, 0.25), divisor], &[ty]);
    allow(reciprocal, &[RECIPROCAL, APPROXIMATE]);
    let quotient = b.value("arith.mulf", &[dividend, reciprocal.result(0)?.into()], ty);
    b.replace(division, &[quotient]);
    Ok(true)
}

/// The exponential of a sum of 1 and an exponential.
fn exponential_beside_one<'c: 'a, 'a>(sum: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let sum = definition(sum).filter(|op| op_name(*op) == "arith.addf")?;
    let [x, y] = [sum.operand(0).ok()?, sum.operand(1).ok()?];
    let exponential = |value| {
        let is_exponential = |op: &OperationRef<'c, 'a>| ["math.exp", "math.exp2"].contains(&op_name(*op));
        definition(value).filter(is_exponential)
    };
    let is_one = |value| number(value) == Some(1.0);
    let one_beside = |one, other| exponential(other).filter(|_| is_one(one));
    one_beside(y, x).or_else(|| one_beside(x, y))
}
