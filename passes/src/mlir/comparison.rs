//! Comparisons: `arith.cmpf` and `arith.cmpi` with their predicates.

use melior::ir::{OperationRef, Value, r#type::IntegerType};

use norma_dialects::integer_of;

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
    /// Ordered and less, or equal.
    AtMost = 5,
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
    compare(b, "arith.cmpf", predicate as i64, lhs, rhs)
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

/// Whether an `arith.cmpi` compares unsigned numbers. Equality, for which both are the same, counts as signed.
pub fn is_unsigned(comparison: OperationRef<'_, '_>) -> bool {
    integer_of(comparison, "predicate")
        .is_some_and(|predicate| predicate >= IntegerPredicate::UnsignedLess as i64)
}

/// Whether an `arith.cmpi` is true where its operands are equal and false elsewhere.
pub fn is_equality(comparison: OperationRef<'_, '_>) -> bool {
    integer_of(comparison, "predicate") == Some(IntegerPredicate::Equal as i64)
}

/// Whether the predicate holds of two integers or two of type `index`, as an i1.
pub fn compare_integers<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    predicate: IntegerPredicate,
    lhs: Value<'c, 'a>,
    rhs: Value<'c, 'a>,
) -> Value<'c, 'a> {
    compare(b, "arith.cmpi", predicate as i64, lhs, rhs)
}

fn compare<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    op: &str,
    predicate: i64,
    lhs: Value<'c, 'a>,
    rhs: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let i1 = IntegerType::new(b.context(), 1).into();
    b.value_with(op, &[lhs, rhs], i1, &[("predicate", b.i64_attribute(predicate))])
}
