//! Rows of stated lengths: the elements of a row from its length on do not exist, and results have 0 in their place.

use super::Call;
use super::rows::{Operand, Rows};
use crate::scaled::Scaled;

/// How many elements each row has; all of them where nothing is said.
pub struct Lengths<'a>(Option<Operand<'a>>);

impl<'a> Lengths<'a> {
    /// Binds the operand of a call on these rows, if it has one.
    pub fn bind(call: &Call<'a>, rows: &Rows) -> Result<Self, String> {
        let lengths = call.optional_integers("lengths")?;
        let lengths = lengths.map(|lengths| rows.of_rows("lengths", lengths));
        Ok(Lengths(lengths.transpose()?))
    }

    /// Of what belongs to the elements of the row at `index` what belongs to those that exist.
    pub fn existing(&self, rows: &Rows, index: &[i64], mut row: Vec<Scaled>) -> Vec<Scaled> {
        if let Some(lengths) = &self.0 {
            row.truncate(usize::try_from(lengths.integer_at(rows, index)).unwrap_or(0));
        }
        row
    }
}

/// A whole row of what belongs to the elements that exist.
pub fn whole(rows: &Rows, mut row: Vec<Scaled>) -> Vec<Scaled> {
    row.resize(rows.length() as usize, Scaled::exact(0.0));
    row
}
