//! `rms_norm_grad`: with n over the `axes` of x, N their number of elements, and m over the other axes,
//!
//! ```text
//! rstd    = 1 / sqrt(sum_n(x^2) / N + eps), unless it is given
//! h       = x * rstd
//! g       = dy * (weight + weight_offset)
//! dx      = (g - h * rstd * sum_n(g * x) / N) * rstd + residual
//! dweight = sum_m(dy * h)
//! dbias   = sum_m(dy)
//! ```

use super::normalization_grad::NormalizationGrad;
use super::statistics::sum_of_squares;
use super::{Call, Formula};
use crate::scaled::Scaled;

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    NormalizationGrad::bind(&call, |row, eps| {
        let count = Scaled::exact(row.len() as f64);
        (None, (sum_of_squares(row) / count + eps).rsqrt())
    })
}
