//! `rms_norm`: with n over the `axes` of x, and N their number of elements,
//!
//! ```text
//! rstd = 1 / sqrt(sum_n(x^2) / N + eps)
//! y    = x * rstd * (weight + weight_offset) + bias
//! ```

use super::normalization::Normalization;
use super::of_rows::{OfRows, Span};
use super::rows::Rows;
use super::statistics::sum_of_squares;
use super::{Call, Formula};
use crate::scaled::Scaled;

struct RmsNorm<'a>(Normalization<'a>);

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    Ok(Box::new(RmsNorm(Normalization::bind(&call)?)))
}

impl OfRows for RmsNorm<'_> {
    fn rows(&self) -> &Rows {
        &self.0.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        match result {
            "y" => Some(Span::Elements),
            "rstd" => Some(Span::Row),
            _ => None,
        }
    }

    fn ulps(&self) -> f64 {
        self.0.ulps()
    }

    fn numbers(&self, result: &str, index: &[i64]) -> Vec<Scaled> {
        let row = self.0.row(index);
        let count = Scaled::exact(row.len() as f64);
        let rstd = (sum_of_squares(&row) / count + self.0.eps).rsqrt();
        match result {
            "rstd" => vec![rstd],
            _ => self.0.affine(index, row.into_iter().map(|x| x * rstd).collect()),
        }
    }
}
