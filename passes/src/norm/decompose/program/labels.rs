//! Labels: integers that are the index of a point of a dim.

use melior::ir::{Type, Value, ValueLike};
use norma_dialects::norm::ReduceKind;

use super::{Program, Split};
use crate::mlir::{
    comparison::{IntegerPredicate, compare_integers},
    diagnostic::Diagnostic,
    pass::PassError,
};

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// Whether the dim, the only one of `dims`, is at the point whose index is `label`.
    pub(in crate::norm::decompose) fn is_at(
        &self,
        label: Value<'c, 'a>,
        dims: &[Value<'c, 'a>],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let [dim] = dims else {
            return Err(Diagnostic::internal(self.b.location(), "expected labels of one dim").into());
        };
        let index = self
            .b
            .value("arith.index_cast", &[label], Type::index(self.b.context()));
        Ok(compare_integers(&self.b, IntegerPredicate::Equal, *dim, index))
    }

    /// Whether `label` is the index of a point of the reduced dim. If the extent is not known at compile time, this is a reduction that
    /// compares the label with every point.
    pub(in crate::norm::decompose) fn is_within(
        &self,
        label: Value<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        match split.count {
            Some(count) => {
                let count = self.b.integer(label.r#type(), count);
                Ok(compare_integers(
                    &self.b,
                    IntegerPredicate::UnsignedLess,
                    label,
                    count,
                ))
            }
            None => self.reduce(ReduceKind::Or, self.is_at(label, &split.reduced)?, &split.reduced),
        }
    }

    /// Whether `label` equals `number`.
    pub(in crate::norm::decompose) fn is_number(&self, label: Value<'c, 'a>, number: i64) -> Value<'c, 'a> {
        let number = self.b.integer(label.r#type(), number);
        compare_integers(&self.b, IntegerPredicate::Equal, label, number)
    }
}
