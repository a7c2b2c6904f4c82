//! `logsumexp`: with n over the `axes` of x and the logits s of `logits.rs`,
//!
//! ```text
//! y = max_n(s) + log(sum_n(exp(s - max_n(s)))), or max_n(s) where that is infinite
//! ```

use super::logits::OpOnLogits;
use super::of_rows::Span;
use super::{Call, Formula};

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    OpOnLogits::bind(&call, Span::Row, |exponentials| vec![exponentials.log_sum_exp()])
}
