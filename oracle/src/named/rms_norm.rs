//! `rms_norm`: with n over the `axes` of x, and N their number of elements,
//!
//! ```text
//! rstd = 1 / sqrt(sum_n(x^2) / N + eps)
//! y    = x * rstd * (weight + weight_offset) + bias
//! ```

use std::ops::Range;

use super::affine::Affine;
use super::rows::{Operand, Rows};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::{Scaled, sum};

struct RmsNorm<'a> {
    rows: Rows,
    x: Operand<'a>,
    eps: Scaled,
    affine: Affine<'a>,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let (rows, x) = call.rows("x")?;
    Ok(Box::new(RmsNorm {
        eps: Scaled::exact(call.float("eps")?),
        affine: Affine::bind(&call, &rows)?,
        rows,
        x,
    }))
}

impl RmsNorm<'_> {
    fn rstd(&self, row: &[Scaled]) -> Scaled {
        let squares: Vec<Scaled> = row.iter().map(|x| *x * *x).collect();
        let count = Scaled::exact(row.len() as f64);
        (sum(&squares) / count + self.eps).rsqrt()
    }

    fn y(&self, index: &[i64]) -> Vec<Scaled> {
        let row = self.x.row(&self.rows, index);
        let rstd = self.rstd(&row);
        let normalized = row.into_iter().map(|x| x * rstd).collect();
        self.affine.apply(&self.rows, index, normalized)
    }
}

impl Formula for RmsNorm<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "y" => Some(self.rows.shape().to_vec()),
            "rstd" => Some(self.rows.outer_shape()),
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
        let found = match result {
            "rstd" => self
                .rows
                .per_row(region, |index| self.rstd(&self.x.row(&self.rows, index))),
            _ => self.rows.per_element(region, |index| self.y(index)),
        };
        found.into_iter().collect()
    }
}
