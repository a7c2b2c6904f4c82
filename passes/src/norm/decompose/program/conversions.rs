//! Conversions of stored elements and of booleans.

use melior::ir::{Type, Value, ValueLike};

use super::Program;
use crate::mlir::{
    comparison::{IntegerPredicate, Predicate, compare_floats, compare_integers},
    types,
};

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// Widens a float to the arithmetic's type.
    pub(in crate::norm::decompose) fn widened(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        match value.r#type() == self.float {
            true => value,
            false => self.b.value("arith.extf", &[value], self.float),
        }
    }

    /// Rounds a number to a type that is no wider.
    pub(in crate::norm::decompose) fn narrowed(&self, value: Value<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
        match value.r#type() == ty {
            true => value,
            false => self.b.value("arith.truncf", &[value], ty),
        }
    }

    /// Sign-extends an integer to a type that is no narrower.
    pub(in crate::norm::decompose) fn sign_extended(
        &self,
        value: Value<'c, 'a>,
        ty: Type<'c>,
    ) -> Value<'c, 'a> {
        match value.r#type() == ty {
            true => value,
            false => self.b.value("arith.extsi", &[value], ty),
        }
    }

    /// Converts a signed integer to the arithmetic's type.
    pub(in crate::norm::decompose) fn float_of_integer(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op("arith.sitofp", &[value])
    }

    /// The nearest integer of type `ty`, ties to even, saturated to the type's range; its least value for NaN.
    pub(in crate::norm::decompose) fn saturated_integer(
        &self,
        value: Value<'c, 'a>,
        ty: Type<'c>,
    ) -> Value<'c, 'a> {
        let half = (types::bit_width(ty).unwrap_or(1) as f64 - 1.0).exp2();
        let rounded = self.op("math.roundeven", &[value]);
        // The order matters: the first op replaces NaN, which has no integer value.
        let at_least = self.op("arith.maxnumf", &[rounded, self.constant(-half)]);
        let within = self.op("arith.minnumf", &[at_least, self.constant(half - 1.0)]);
        self.b.value("arith.fptosi", &[within], ty)
    }

    /// The magnitude of an integer; that of the least integer wraps around to itself.
    pub(in crate::norm::decompose) fn magnitude(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.b.value("math.absi", &[value], value.r#type())
    }

    /// Whether a number is nonzero, as an i1; true for NaN.
    pub(in crate::norm::decompose) fn is_not_zero(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        if types::is_float(value.r#type()) {
            let value = self.widened(value);
            return compare_floats(&self.b, Predicate::NotEqual, value, self.constant(0.0));
        }
        match types::bit_width(value.r#type()) {
            Some(1) => value,
            _ => {
                let zero = self.b.integer(value.r#type(), 0);
                compare_integers(&self.b, IntegerPredicate::NotEqual, value, zero)
            }
        }
    }

    /// Converts an i1 to 0 or 1 of an integer type, or of i1 itself.
    pub(in crate::norm::decompose) fn as_number(&self, truth: Value<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
        match truth.r#type() == ty {
            true => truth,
            false => self.b.value("arith.extui", &[truth], ty),
        }
    }
}
