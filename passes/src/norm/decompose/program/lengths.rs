//! Rows of given lengths: elements beyond a row's length do not exist. Sums leave them out, and results and gradients are 0 there.

use melior::ir::{Value, ValueLike};

use super::{Program, Split};
use crate::mlir::{
    comparison::{IntegerPredicate, compare_integers},
    pass::{PassError, PassResult},
    types,
};

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// Splits the dims: rows lie along `axes`. `lengths` holds an integer for each row; if it is given, there is one axis.
    pub(in crate::norm::decompose) fn rows(
        &self,
        axes: &[i64],
        lengths: Option<Value<'c, 'a>>,
    ) -> Result<Split<'c, 'a>, PassError<'c>> {
        let split = self.split(axes);
        let (Some(lengths), [along]) = (lengths, split.reduced.as_slice()) else {
            return Ok(split);
        };
        let ty = types::element(lengths.r#type());
        let length = self.read_stored(lengths, &super::Coordinate::of(&split.kept))?;
        let place = self.b.value("arith.index_cast", &[*along], ty);
        Ok(Split {
            exists: Some(compare_integers(&self.b, IntegerPredicate::Less, place, length)),
            // The number of existing elements is computed at run time.
            count: None,
            ..split
        })
    }

    /// `value`, or `other` if the element does not exist.
    pub(in crate::norm::decompose) fn existing(
        &self,
        value: Value<'c, 'a>,
        other: f64,
        split: &Split<'c, 'a>,
    ) -> Value<'c, 'a> {
        match split.exists {
            Some(exists) => self.select(exists, value, self.constant(other)),
            None => value,
        }
    }

    /// Rounds a number to the element type of a result, which has the first operand's shape, and writes it; writes 0 if the element does
    /// not exist.
    pub(in crate::norm::decompose) fn write_existing(
        &self,
        value: Value<'c, 'a>,
        result: Value<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> PassResult<'c> {
        self.write(self.existing(value, 0.0, split), result, self.dims())
    }
}
