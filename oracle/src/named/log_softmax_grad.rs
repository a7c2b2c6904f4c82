//! `log_softmax_grad`: with n over the `axes` of y,
//!
//! ```text
//! dx = (dy - exp(y) * sum_n(dy)) * scale
//! ```

use super::logits::overflows;
use super::result_grad::ResultGrad;
use super::{Call, Formula};
use crate::scaled::Scaled;

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    ResultGrad::bind(&call, |y, dy| {
        let sum = crate::scaled::sum(dy);
        let ds = |(y, dy): (&Scaled, &Scaled)| {
            let share = y.exp() * sum;
            match overflows(share) {
                true => Scaled::undefined(),
                false => *dy - share,
            }
        };
        y.iter().zip(dy).map(ds).collect()
    })
}
