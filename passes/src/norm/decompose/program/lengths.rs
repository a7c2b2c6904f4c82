//! Rows of stated lengths, whose elements from there on do not exist: sums leave them out, and results are 0 there.

use melior::ir::{Value, ValueLike};

use super::{Program, Split};
use crate::mlir::{
    comparison::{IntegerPredicate, compare_integers},
    pass::{PassError, PassResult},
    types,
};

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// Splits the dims by axes, along which rows lie. With `lengths`, integers, one for each row, there is one axis.
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
            // How many there are is counted.
            count: None,
            ..split
        })
    }

    /// A number, or another one where the element does not exist.
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

    /// Rounds a number to the element type of a result of the first operand's shape and writes it; 0 where the element does not exist.
    pub(in crate::norm::decompose) fn write_existing(
        &self,
        value: Value<'c, 'a>,
        result: Value<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> PassResult<'c> {
        self.write(self.existing(value, 0.0, split), result, self.dims())
    }
}
