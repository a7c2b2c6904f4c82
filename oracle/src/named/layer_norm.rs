//! `layer_norm`: with n over the `axes` of x, and N their number of elements,
//!
//! ```text
//! mean = sum_n(x) / N
//! rstd = 1 / sqrt(sum_n((x - mean)^2) / N + eps)
//! y    = (x - mean) * rstd * (weight + weight_offset) + bias
//! ```

use std::ops::Range;

use super::affine::Affine;
use super::rows::{Operand, Rows};
use super::statistics::mean_and_squares;
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;

struct LayerNorm<'a> {
    rows: Rows,
    x: Operand<'a>,
    eps: Scaled,
    affine: Affine<'a>,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let (rows, x) = call.rows("x")?;
    Ok(Box::new(LayerNorm {
        eps: Scaled::exact(call.float("eps")?),
        affine: Affine::bind(&call, &rows)?,
        rows,
        x,
    }))
}

impl LayerNorm<'_> {
    fn mean_and_rstd(&self, row: &[Scaled]) -> (Scaled, Scaled) {
        let (mean, squares) = mean_and_squares(row);
        let variance = squares / Scaled::exact(row.len() as f64);
        (mean, (variance + self.eps).rsqrt())
    }

    fn y(&self, index: &[i64]) -> Vec<Scaled> {
        let row = self.x.row(&self.rows, index);
        let (mean, rstd) = self.mean_and_rstd(&row);
        let normalized = row.into_iter().map(|x| (x - mean) * rstd).collect();
        self.affine.apply(&self.rows, index, normalized)
    }
}

impl Formula for LayerNorm<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "y" => Some(self.rows.shape().to_vec()),
            "mean" | "rstd" => Some(self.rows.outer_shape()),
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
        let statistics = |index: &[i64]| self.mean_and_rstd(&self.x.row(&self.rows, index));
        let found = match result {
            "mean" => self.rows.per_row(region, |index| statistics(index).0),
            "rstd" => self.rows.per_row(region, |index| statistics(index).1),
            _ => self.rows.per_element(region, |index| self.y(index)),
        };
        found.into_iter().collect()
    }
}
