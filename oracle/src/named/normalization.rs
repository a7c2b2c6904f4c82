//! The shared part of normalizations of rows: their operands, and the step `* (weight + weight_offset) + bias` after normalization.

use super::Call;
use super::lengths::{Lengths, whole};
use super::rows::{Operand, Rows};
use crate::scaled::Scaled;

/// The operands of an op that normalizes rows, then scales and shifts them.
pub struct Normalization<'a> {
    /// The rows that are normalized.
    pub rows: Rows,
    x: Operand<'a>,
    /// The constant under the square root, added to the mean of the squares.
    pub eps: Scaled,
    weight: Option<Operand<'a>>,
    offset: Scaled,
    bias: Option<Operand<'a>>,
    lengths: Lengths<'a>,
}

impl<'a> Normalization<'a> {
    /// Binds a call; the weight and the bias have the shape of a row, or broadcast to all rows.
    pub fn bind(call: &Call<'a>) -> Result<Self, String> {
        let (rows, x) = call.rows("x")?;
        let affine = |name: &str| {
            let tensor = call.optional(name)?;
            tensor
                .map(|tensor| rows.of_row_or_broadcast(name, tensor))
                .transpose()
        };
        let (weight, bias) = (affine("weight")?, affine("bias")?);
        let offset = Scaled::exact(call.float("weight_offset")?);
        if weight.is_none() && offset.value != 0.0 {
            return Err("expected a weight to add weight_offset to".to_owned());
        }
        Ok(Normalization {
            eps: Scaled::exact(call.float("eps")?),
            lengths: Lengths::bind(call, &rows)?,
            rows,
            x,
            weight,
            offset,
            bias,
        })
    }

    /// How many ulp a kernel may be off.
    pub fn ulps(&self) -> f64 {
        self.rows.ulps().max(self.x.ulps())
    }

    /// The elements of the row at `index` that exist.
    pub fn row(&self, index: &[i64]) -> Vec<Scaled> {
        self.lengths.row_of(&self.x, &self.rows, index)
    }

    /// Scales and shifts the elements of the row at `index`; those that do not exist are 0.
    pub fn affine(&self, index: &[i64], mut row: Vec<Scaled>) -> Vec<Scaled> {
        if let Some(weight) = &self.weight {
            for (y, weight) in row.iter_mut().zip(weight.row(&self.rows, index)) {
                *y = *y * (weight + self.offset);
            }
        }
        if let Some(bias) = &self.bias {
            for (y, bias) in row.iter_mut().zip(bias.row(&self.rows, index)) {
                *y = *y + bias;
            }
        }
        whole(&self.rows, row)
    }
}
