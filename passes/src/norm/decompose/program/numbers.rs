//! Numbers of an op that are attributes, or scalars that each call sets.

use melior::ir::Value;

use super::Program;
use crate::mlir::{
    comparison::{Predicate, compare_floats},
    diagnostic::Diagnostic,
    pass::PassError,
    values::key,
};

/// A number as the op gives it.
#[derive(Clone, Copy)]
pub(in crate::norm::decompose) struct Setting<'c, 'a> {
    /// The attribute.
    pub(in crate::norm::decompose) attribute: f64,
    /// The operand that takes its place, if there is one.
    pub(in crate::norm::decompose) operand: Option<Value<'c, 'a>>,
}

impl<'c, 'a> Setting<'c, 'a> {
    /// The operand if there is one, and otherwise the attribute.
    pub(in crate::norm::decompose) fn new(attribute: f64, operand: Option<Value<'c, 'a>>) -> Self {
        Self { attribute, operand }
    }

    /// Whether the number is known to be `number`.
    pub(in crate::norm::decompose) fn is_known_as(&self, number: f64) -> bool {
        self.operand.is_none() && self.attribute == number
    }
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// A number as a value of the arithmetic's type.
    pub(in crate::norm::decompose) fn number(
        &self,
        number: Setting<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let Some(operand) = number.operand else {
            return Ok(self.constant(number.attribute));
        };
        let found = self
            .numbers
            .iter()
            .find(|(outside, _)| key(*outside) == key(operand));
        let (_, inside) = found.ok_or_else(|| {
            Diagnostic::internal(self.b.location(), "expected a scalar operand of the named op")
        })?;
        Ok(self.widened(*inside))
    }

    /// A value times a factor; no op is built for a factor that is known to be 1.
    pub(in crate::norm::decompose) fn scaled(
        &self,
        value: Value<'c, 'a>,
        factor: Setting<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        if factor.is_known_as(1.0) {
            return Ok(value);
        }
        Ok(self.op("arith.mulf", &[value, self.number(factor)?]))
    }

    /// `value`, or `otherwise` where the number equals `excluded`. A number that is known decides it now.
    pub(in crate::norm::decompose) fn unless(
        &self,
        number: Setting<'c, 'a>,
        excluded: f64,
        value: Value<'c, 'a>,
        otherwise: impl FnOnce() -> Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        if number.operand.is_none() {
            return Ok(if number.attribute == excluded {
                otherwise()
            } else {
                value
            });
        }
        let excluded = self.constant(excluded);
        let is_excluded = compare_floats(&self.b, Predicate::Equal, self.number(number)?, excluded);
        Ok(self.select(is_excluded, otherwise(), value))
    }
}
