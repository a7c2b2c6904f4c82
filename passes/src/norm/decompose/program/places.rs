//! The index of an extremum along a dim (argmax, argmin).

use melior::ir::{Type, Value, ValueLike};

use super::Program;
use crate::{
    kernel::extremum,
    mlir::{diagnostic::Diagnostic, pass::PassError, types},
};

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The index of the first largest or smallest `value` along the dim, the only one of `dims`, as an integer of type `ty`. If there is a
    /// NaN, it is the index of the first one. Over no points it is the largest integer.
    pub(in crate::norm::decompose) fn place_of_extreme(
        &self,
        value: Value<'c, 'a>,
        is_largest: bool,
        dims: &[Value<'c, 'a>],
        ty: Type<'c>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let [dim] = dims else {
            return Err(Diagnostic::internal(self.b.location(), "expected places along one dim").into());
        };
        let value = match types::is_float(value.r#type()) {
            true => self.widened(value),
            false => value,
        };
        let place = self.b.value("arith.index_cast", &[*dim], ty);
        let [_, place] = extremum::reduce(&self.b, dims, value, place, is_largest)?;
        Ok(place)
    }
}
