//! `l2_norm`: with n over the `axes` of x,
//!
//! ```text
//! inverse = 1 / max(sqrt(sum_n(x^2)), eps)
//! y       = x * inverse
//! ```

use super::of_rows::{OfRows, Span};
use super::rows::{Operand, Rows};
use super::statistics::sum_of_squares;
use super::{Call, Formula};
use crate::scaled::Scaled;

struct L2Norm<'a> {
    rows: Rows,
    x: Operand<'a>,
    eps: Scaled,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let (rows, x) = call.rows("x")?;
    let eps = Scaled::exact(call.float("eps")?);
    Ok(Box::new(L2Norm { rows, x, eps }))
}

impl OfRows for L2Norm<'_> {
    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        match result {
            "y" => Some(Span::Elements),
            "inverse" => Some(Span::Row),
            _ => None,
        }
    }

    fn ulps(&self) -> f64 {
        self.rows.ulps().max(self.x.ulps())
    }

    fn numbers(&self, result: &str, index: &[i64]) -> Vec<Scaled> {
        let row = self.x.row(&self.rows, index);
        let inverse = Scaled::exact(1.0) / sum_of_squares(&row).sqrt().maximum(self.eps);
        match result {
            "inverse" => vec![inverse],
            _ => row.into_iter().map(|x| x * inverse).collect(),
        }
    }
}
