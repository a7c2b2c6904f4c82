//! Statistics of the elements that share a sum.

use crate::scaled::{Scaled, sum};

/// The mean, and the sum of the squares around it. Over no elements the mean is NaN.
pub fn mean_and_squares(row: &[Scaled]) -> (Scaled, Scaled) {
    let mean = sum(row) / Scaled::exact(row.len() as f64);
    let squares: Vec<Scaled> = row
        .iter()
        .map(|x| {
            let centred = *x - mean;
            centred * centred
        })
        .collect();
    (mean, sum(&squares))
}
