//! Gradients that are functions of the op's own result: of the existing elements of a row of y and of dy.

use super::lengths::{Lengths, whole};
use super::of_rows::{OfRows, Span};
use super::rows::{Operand, Rows};
use super::{Call, Formula};
use crate::scaled::Scaled;

/// The gradient of a row with respect to its logits, before the scale, from the rows of y and dy.
type GradientOfRow = fn(&[Scaled], &[Scaled]) -> Vec<Scaled>;

/// Such a gradient, with its operands bound.
pub struct ResultGrad<'a> {
    rows: Rows,
    y: Operand<'a>,
    dy: Operand<'a>,
    scale: Scaled,
    lengths: Lengths<'a>,
    ds: GradientOfRow,
}

impl<'a> ResultGrad<'a> {
    /// Binds a call of the op whose gradient is `ds` times the attribute `scale`.
    pub fn bind(call: &Call<'a>, ds: GradientOfRow) -> Result<Box<dyn Formula + 'a>, String> {
        let (rows, y) = call.rows("y")?;
        Ok(Box::new(ResultGrad {
            dy: rows.whole("dy", call.operand("dy")?)?,
            scale: Scaled::exact(call.float("scale")?),
            lengths: Lengths::bind(call, &rows)?,
            rows,
            y,
            ds,
        }))
    }
}

impl OfRows for ResultGrad<'_> {
    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        (result == "dx").then_some(Span::Elements)
    }

    fn ulps(&self) -> f64 {
        self.rows.ulps().max(self.y.ulps()).max(self.dy.ulps())
    }

    fn numbers(&self, _result: &str, index: &[i64]) -> Vec<Scaled> {
        let row = |operand: &Operand| self.lengths.row_of(operand, &self.rows, index);
        let ds = (self.ds)(&row(&self.y), &row(&self.dy)).into_iter();
        let dx = match self.scale.value {
            // A factor of 1 is skipped, as it rounds nothing.
            1.0 => ds.collect(),
            _ => ds
                .map(|ds| if ds.is_undefined() { ds } else { ds * self.scale })
                .collect(),
        };
        whole(&self.rows, dx)
    }
}
