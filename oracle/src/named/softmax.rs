//! `softmax`: with n over the `axes` of x and the logits s of `logits.rs`,
//!
//! ```text
//! y = exp(s - max_n(s)) / sum_n(exp(s - max_n(s)))
//! ```

use super::logits::{Exponentials, OpOnLogits};
use super::of_rows::Span;
use super::{Call, Formula};

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    OpOnLogits::bind(&call, Span::Elements, Exponentials::shares)
}
