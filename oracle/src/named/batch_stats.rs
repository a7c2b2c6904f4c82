//! `batch_stats`: with n over the `axes` of x, and N their number of elements,
//!
//! ```text
//! mean = sum_n(x) / N
//! var  = sum_n((x - mean)^2) / max(N - correction, 0)
//! ```

use super::of_rows::{OfRows, Span};
use super::rows::{Operand, Rows};
use super::statistics::mean_and_squares;
use super::{Call, Formula};
use crate::scaled::Scaled;

struct BatchStats<'a> {
    rows: Rows,
    x: Operand<'a>,
    correction: i64,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let (rows, x) = call.rows("x")?;
    let correction = call.integer("correction")?;
    Ok(Box::new(BatchStats { rows, x, correction }))
}

impl OfRows for BatchStats<'_> {
    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        matches!(result, "mean" | "var").then_some(Span::Row)
    }

    fn ulps(&self) -> f64 {
        self.rows.ulps().max(self.x.ulps())
    }

    fn numbers(&self, result: &str, index: &[i64]) -> Vec<Scaled> {
        let (mean, squares) = mean_and_squares(&self.x.row(&self.rows, index));
        let divisor = self.rows.length().saturating_sub(self.correction).max(0);
        match result {
            "mean" => vec![mean],
            _ => vec![squares / Scaled::exact(divisor as f64)],
        }
    }
}
