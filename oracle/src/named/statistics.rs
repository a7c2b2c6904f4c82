//! Statistics of the elements that share a sum.

use crate::scaled::{Scaled, sum};

/// The mean, and the sum of the squared deviations from it. Over no elements the mean is NaN.
pub fn mean_and_squares(row: &[Scaled]) -> (Scaled, Scaled) {
    let mean = sum(row) / Scaled::exact(row.len() as f64);
    let centred: Vec<Scaled> = row.iter().map(|x| *x - mean).collect();
    (mean, sum_of_squares(&centred))
}

/// The mean, and `1 / sqrt(variance + eps)`.
pub fn mean_and_rstd(row: &[Scaled], eps: Scaled) -> (Scaled, Scaled) {
    let (mean, squares) = mean_and_squares(row);
    (mean, (squares / Scaled::exact(row.len() as f64) + eps).rsqrt())
}

/// The sum of the squares.
pub fn sum_of_squares(row: &[Scaled]) -> Scaled {
    let squares: Vec<Scaled> = row.iter().map(|x| *x * *x).collect();
    sum(&squares)
}
