//! The named combiners of reductions and scans: their `arith` ops and their identities.

use melior::{
    Context,
    ir::{
        Attribute, Type,
        attribute::{FloatAttribute, IntegerAttribute},
    },
};
use norma_dialects::norm::ReduceKind;

use crate::mlir::types;

/// The full name of a combiner's op, and its fast-math flags if it has any. A sum has `nsz`: it may be computed in any order, so the sign
/// of a zero is arbitrary.
pub fn op(kind: ReduceKind, is_float: bool) -> (&'static str, Option<&'static str>) {
    match (kind, is_float) {
        (ReduceKind::Add, true) => ("arith.addf", Some("#arith.fastmath<nsz>")),
        (ReduceKind::Mul, true) => ("arith.mulf", None),
        (ReduceKind::Max, true) => ("arith.maximumf", None),
        (ReduceKind::Min, true) => ("arith.minimumf", None),
        (ReduceKind::Add, false) => ("arith.addi", None),
        (ReduceKind::Mul, false) => ("arith.muli", None),
        (ReduceKind::Max, false) => ("arith.maxsi", None),
        (ReduceKind::Min, false) => ("arith.minsi", None),
        (ReduceKind::And, _) => ("arith.andi", None),
        (ReduceKind::Or, _) => ("arith.ori", None),
    }
}

/// The identity of a combiner of floats; `None` for combiners of integers alone.
pub fn float_identity(kind: ReduceKind) -> Option<f64> {
    match kind {
        // Adding -0 changes no value, not even the sign of a zero.
        ReduceKind::Add => Some(-0.0),
        ReduceKind::Mul => Some(1.0),
        ReduceKind::Max => Some(f64::NEG_INFINITY),
        ReduceKind::Min => Some(f64::INFINITY),
        ReduceKind::And | ReduceKind::Or => None,
    }
}

/// The identity of a combiner of signed integers of `bits` bits, at most 64.
pub fn integer_identity(kind: ReduceKind, bits: u32) -> i64 {
    match kind {
        ReduceKind::Add | ReduceKind::Or => 0,
        ReduceKind::Mul => 1,
        ReduceKind::And => -1,
        ReduceKind::Max => i64::MIN >> (64 - bits.min(64)),
        ReduceKind::Min => i64::MAX >> (64 - bits.min(64)),
    }
}

/// The initial value of a scan of type `ty`; `None` if the combiner does not apply to floats and `ty` is one. For a sum it is +0 and not
/// the identity -0, because an exclusive scan returns it as its first result.
pub fn first_of_scan<'c>(context: &'c Context, kind: ReduceKind, ty: Type<'c>) -> Option<Attribute<'c>> {
    if !types::is_float(ty) {
        let bits = types::bit_width(ty).unwrap_or(64);
        let value = integer_identity(kind, bits as u32);
        return Some(IntegerAttribute::new(ty, value).into());
    }
    // Adding +0 turns the -0 of a sum into +0 and changes no other identity.
    let value = float_identity(kind)? + 0.0;
    Some(FloatAttribute::new(context, ty, value).into())
}

#[cfg(test)]
mod tests {
    use norma_dialects::norm::ReduceKind;

    use super::{float_identity, integer_identity};

    #[test]
    fn identities_of_extremes_are_the_ends_of_the_type() {
        assert_eq!(integer_identity(ReduceKind::Max, 8), -128);
        assert_eq!(integer_identity(ReduceKind::Min, 32), i64::from(i32::MAX));
        assert_eq!(integer_identity(ReduceKind::Max, 64), i64::MIN);
    }

    #[test]
    fn the_identity_of_a_sum_keeps_the_sign_of_zero() {
        let sum = |value: f64| float_identity(ReduceKind::Add).map(|identity| (identity + value).to_bits());
        assert_eq!(sum(-0.0), Some((-0.0_f64).to_bits()));
        assert_eq!(sum(0.0), Some(0.0_f64.to_bits()));
    }
}
