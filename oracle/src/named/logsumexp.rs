//! `logsumexp`: with n over the `axes` of x and the logits s of `logits.rs`,
//!
//! ```text
//! y = max_n(s) + log(sum_n(exp(s - max_n(s)))), or max_n(s) where that is infinite
//! ```

use std::ops::Range;

use super::logits::{Logits, exponentials};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;

struct LogSumExp<'a>(Logits<'a>);

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    Ok(Box::new(LogSumExp(Logits::bind(&call)?)))
}

impl LogSumExp<'_> {
    fn y(&self, index: &[i64]) -> Scaled {
        exponentials(&self.0.row(index)).log_sum_exp()
    }
}

impl Formula for LogSumExp<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        (result == "y").then(|| self.0.rows.outer_shape())
    }

    fn independent_dims(&self) -> usize {
        self.0.rows.leading()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.0.ulps()
    }

    fn evaluate(&self, _result: &str, region: &[Range<i64>]) -> Data {
        let found = self.0.rows.per_row(region, |index| self.y(index));
        found.into_iter().collect()
    }
}
