//! `log_softmax`: with n over the `axes` of x and the logits s of `logits.rs`,
//!
//! ```text
//! y = (s - max_n(s)) - log(sum_n(exp(s - max_n(s))))
//! ```

use super::logits::OpOnLogits;
use super::of_rows::Span;
use super::{Call, Formula};

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    OpOnLogits::bind(&call, Span::Elements, |exponentials| {
        let log = exponentials.sum.ln();
        let distances = exponentials.distances.iter();
        distances.map(|distance| *distance - log).collect()
    })
}
