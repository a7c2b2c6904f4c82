//! `layer_norm_grad`: with n over the `axes` of x, N their number of elements, and m over the other axes,
//!
//! ```text
//! mean    = sum_n(x) / N, unless it is given
//! rstd    = 1 / sqrt(sum_n((x - mean)^2) / N + eps), unless it is given
//! h       = (x - mean) * rstd
//! g       = dy * (weight + weight_offset)
//! dx      = (g - sum_n(g) / N - h * rstd * sum_n(g * (x - mean)) / N) * rstd + residual
//! dweight = sum_m(dy * h)
//! dbias   = sum_m(dy)
//! ```

use super::normalization_grad::NormalizationGrad;
use super::statistics::mean_and_rstd;
use super::{Call, Formula};

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    NormalizationGrad::bind(&call, |row, eps| {
        let (mean, rstd) = mean_and_rstd(row, eps);
        (Some(mean), rstd)
    })
}
