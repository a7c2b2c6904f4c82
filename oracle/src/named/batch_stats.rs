//! `batch_stats`: with n over the `axes` of x, and N their number of elements,
//!
//! ```text
//! mean = sum_n(x) / N
//! var  = sum_n((x - mean)^2) / max(N - correction, 0)
//! ```

use std::ops::Range;

use super::rows::{Operand, Rows};
use super::statistics::mean_and_squares;
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;

struct BatchStats<'a> {
    rows: Rows,
    x: Operand<'a>,
    correction: i64,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let (rows, x) = call.rows("x")?;
    Ok(Box::new(BatchStats {
        correction: call.integer("correction")?,
        rows,
        x,
    }))
}

impl BatchStats<'_> {
    fn mean_and_variance(&self, index: &[i64]) -> (Scaled, Scaled) {
        let (mean, squares) = mean_and_squares(&self.x.row(&self.rows, index));
        let divisor = self.rows.length().saturating_sub(self.correction).max(0);
        (mean, squares / Scaled::exact(divisor as f64))
    }
}

impl Formula for BatchStats<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        matches!(result, "mean" | "var").then(|| self.rows.outer_shape())
    }

    fn independent_dims(&self) -> usize {
        self.rows.leading()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.rows.ulps().max(self.x.ulps())
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let found = match result {
            "mean" => self.rows.per_row(region, |index| self.mean_and_variance(index).0),
            _ => self.rows.per_row(region, |index| self.mean_and_variance(index).1),
        };
        found.into_iter().collect()
    }
}
