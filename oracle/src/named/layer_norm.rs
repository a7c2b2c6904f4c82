//! `layer_norm`: with n over the `axes` of x, and N their number of elements,
//!
//! ```text
//! mean = sum_n(x) / N
//! rstd = 1 / sqrt(sum_n((x - mean)^2) / N + eps)
//! y    = (x - mean) * rstd * (weight + weight_offset) + bias
//! ```

use super::normalization::Normalization;
use super::of_rows::{OfRows, Span};
use super::rows::Rows;
use super::statistics::mean_and_rstd;
use super::{Call, Formula};
use crate::scaled::Scaled;

struct LayerNorm<'a>(Normalization<'a>);

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    Ok(Box::new(LayerNorm(Normalization::bind(&call)?)))
}

impl OfRows for LayerNorm<'_> {
    fn rows(&self) -> &Rows {
        &self.0.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        match result {
            "y" => Some(Span::Elements),
            "mean" | "rstd" => Some(Span::Row),
            _ => None,
        }
    }

    fn ulps(&self) -> f64 {
        self.0.ulps()
    }

    fn numbers(&self, result: &str, index: &[i64]) -> Vec<Scaled> {
        let row = self.0.row(index);
        let (mean, rstd) = mean_and_rstd(&row, self.0.eps);
        match result {
            "mean" => vec![mean],
            "rstd" => vec![rstd],
            _ => {
                let normalized = row.into_iter().map(|x| (x - mean) * rstd);
                self.0.affine(index, normalized.collect())
            }
        }
    }
}
