//! `softmax_grad`: with n over the `axes` of y,
//!
//! ```text
//! dx = y * (dy - sum_n(y * dy)) * scale
//! ```

use super::result_grad::ResultGrad;
use super::{Call, Formula};
use crate::scaled::{Scaled, sum};

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    ResultGrad::bind(&call, |y, dy| {
        let products: Vec<Scaled> = y.iter().zip(dy).map(|(y, dy)| *y * *dy).collect();
        let product = sum(&products);
        y.iter().zip(dy).map(|(y, dy)| *y * (*dy - product)).collect()
    })
}
