//! Comparisons: `arith.cmpf` and `arith.cmpi` with their predicates.

use melior::ir::{Value, r#type::IntegerType};

use super::builder::Builder;

/// The predicates of `arith.cmpf` that passes use, with MLIR's numbers. All but the last two are ordered: false where either is NaN.
#[derive(Clone, Copy)]
pub enum Predicate {
    /// Ordered and equal.
    Equal = 1,
    /// Ordered and greater.
    Greater = 2,
    /// Ordered and greater, or equal.
    AtLeast = 3,
    /// Ordered and less.
    Less = 4,
    /// Not equal, or unordered.
    NotEqual = 13,
    /// Either is NaN.
    Unordered = 14,
}

/// Whether the predicate holds of two floats, as an i1.
pub fn compare_floats<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    predicate: Predicate,
    lhs: Value<'c, 'a>,
    rhs: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let i1 = IntegerType::new(b.context(), 1).into();
    let predicate = ("predicate", b.i64_attribute(predicate as i64));
    b.value_with("arith.cmpf", &[lhs, rhs], i1, &[predicate])
}

/// The predicates of `arith.cmpi` that passes use, with MLIR's numbers.
#[derive(Clone, Copy)]
pub enum IntegerPredicate {
    /// Equal.
    Equal = 0,
    /// Not equal.
    NotEqual = 1,
    /// Less, as signed numbers.
    Less = 2,
    /// Greater, as signed numbers.
    Greater = 4,
    /// Less, as unsigned numbers.
    UnsignedLess = 6,
}

/// Whether the predicate holds of two integers or two of type `index`, as an i1.
pub fn compare_integers<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    predicate: IntegerPredicate,
    lhs: Value<'c, 'a>,
    rhs: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let i1 = IntegerType::new(b.context(), 1).into();
    let predicate = ("predicate", b.i64_attribute(predicate as i64));
    b.value_with("arith.cmpi", &[lhs, rhs], i1, &[predicate])
}
