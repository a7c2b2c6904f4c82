//! `softmax`: with n over the `axes` of x and the logits s of `logits.rs`,
//!
//! ```text
//! y = exp(s - max_n(s)) / sum_n(exp(s - max_n(s)))
//! ```

use std::ops::Range;

use super::logits::{Logits, exponentials};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;

struct Softmax<'a>(Logits<'a>);

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    Ok(Box::new(Softmax(Logits::bind(&call)?)))
}

impl Softmax<'_> {
    fn y(&self, index: &[i64]) -> Vec<Scaled> {
        exponentials(&self.0.row(index)).shares()
    }
}

impl Formula for Softmax<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        (result == "y").then(|| self.0.rows.shape().to_vec())
    }

    fn independent_dims(&self) -> usize {
        self.0.rows.leading()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.0.ulps()
    }

    fn evaluate(&self, _result: &str, region: &[Range<i64>]) -> Data {
        let found = self.0.rows.per_element(region, |index| self.y(index));
        found.into_iter().collect()
    }
}
