//! `l2_norm`: with n over the `axes` of x,
//!
//! ```text
//! inverse = 1 / max(sqrt(sum_n(x^2)), eps)
//! y       = x * inverse
//! ```

use std::ops::Range;

use super::rows::{Operand, Rows};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::{Scaled, sum};

struct L2Norm<'a> {
    rows: Rows,
    x: Operand<'a>,
    eps: Scaled,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let (rows, x) = call.rows("x")?;
    Ok(Box::new(L2Norm {
        eps: Scaled::exact(call.float("eps")?),
        rows,
        x,
    }))
}

impl L2Norm<'_> {
    fn inverse(&self, row: &[Scaled]) -> Scaled {
        let squares: Vec<Scaled> = row.iter().map(|x| *x * *x).collect();
        Scaled::exact(1.0) / sum(&squares).sqrt().maximum(self.eps)
    }
}

impl Formula for L2Norm<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "y" => Some(self.rows.shape().to_vec()),
            "inverse" => Some(self.rows.outer_shape()),
            _ => None,
        }
    }

    fn independent_dims(&self) -> usize {
        self.rows.leading()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.rows.ulps().max(self.x.ulps())
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let row = |index: &[i64]| self.x.row(&self.rows, index);
        let y = |index: &[i64]| {
            let row = row(index);
            let inverse = self.inverse(&row);
            row.into_iter().map(|x| x * inverse).collect()
        };
        let found = match result {
            "inverse" => self.rows.per_row(region, |index| self.inverse(&row(index))),
            _ => self.rows.per_element(region, y),
        };
        found.into_iter().collect()
    }
}
