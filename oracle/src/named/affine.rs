//! What normalizations do to what they have normalized: `* (weight + weight_offset) + bias`.

use super::Call;
use super::rows::{Operand, Rows};
use crate::scaled::Scaled;

/// The operands of an op that scales and shifts.
pub struct Affine<'a> {
    weight: Option<Operand<'a>>,
    offset: Scaled,
    bias: Option<Operand<'a>>,
}

impl<'a> Affine<'a> {
    /// The weight and the bias of a call, of the shape of a row.
    pub fn bind(call: &Call<'a>, rows: &Rows) -> Result<Self, String> {
        let along_row = |name: &str| {
            let tensor = call.optional(name)?;
            tensor.map(|tensor| rows.of_row(name, tensor)).transpose()
        };
        let (weight, bias) = (along_row("weight")?, along_row("bias")?);
        let offset = Scaled::exact(call.float("weight_offset")?);
        if weight.is_none() && offset.value != 0.0 {
            return Err("expected a weight to add weight_offset to".to_owned());
        }
        Ok(Affine { weight, offset, bias })
    }

    /// Scales and shifts the elements of the row at `index`.
    pub fn apply(&self, rows: &Rows, index: &[i64], mut row: Vec<Scaled>) -> Vec<Scaled> {
        if let Some(weight) = &self.weight {
            for (y, weight) in row.iter_mut().zip(weight.row(rows, index)) {
                *y = *y * (weight + self.offset);
            }
        }
        if let Some(bias) = &self.bias {
            for (y, bias) in row.iter_mut().zip(bias.row(rows, index)) {
                *y = *y + bias;
            }
        }
        row
    }
}
