//! Rows of given lengths: elements of a row at or beyond its length do not exist, and results are 0 in their place.

use super::Call;
use super::rows::{Operand, Rows};
use crate::scaled::Scaled;

/// The number of elements of each row that exist; all of them without the operand `lengths`.
pub struct Lengths<'a>(Option<Operand<'a>>);

impl<'a> Lengths<'a> {
    /// Binds the operand of a call on these rows, if it has one.
    pub fn bind(call: &Call<'a>, rows: &Rows) -> Result<Self, String> {
        let lengths = call.optional_integers("lengths")?;
        let lengths = lengths.map(|lengths| rows.of_rows("lengths", lengths));
        Ok(Lengths(lengths.transpose()?))
    }

    /// The elements of an operand's row at `index` that exist.
    pub fn row_of(&self, operand: &Operand, rows: &Rows, index: &[i64]) -> Vec<Scaled> {
        self.existing(rows, index, operand.row(rows, index))
    }

    /// Truncates `row`, the values of the row at `index`, to the elements that exist.
    pub fn existing(&self, rows: &Rows, index: &[i64], mut row: Vec<Scaled>) -> Vec<Scaled> {
        if let Some(lengths) = &self.0 {
            row.truncate(usize::try_from(lengths.integer_at(rows, index)).unwrap_or(0));
        }
        row
    }
}

/// Extends the values of the elements that exist to a whole row, with zeros.
pub fn whole(rows: &Rows, mut row: Vec<Scaled>) -> Vec<Scaled> {
    row.resize(rows.length() as usize, Scaled::exact(0.0));
    row
}
