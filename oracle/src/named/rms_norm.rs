//! `rms_norm`: with n over the last `axes` axes of x, and N their number of elements,
//!
//! ```text
//! rstd = 1 / sqrt(sum_n(x^2) / N + eps)
//! y    = x * rstd * (weight + weight_offset) + bias
//! ```

use std::ops::Range;

use super::rows::Rows;
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::{Scaled, sum};
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

struct RmsNorm<'a> {
    x: Tensor<'a>,
    rows: Rows,
    eps: Scaled,
    /// What each element of a row is multiplied by, beside `rstd`; without a weight nothing.
    factor: Option<Vec<Scaled>>,
    bias: Option<Vec<Scaled>>,
    ulps: f64,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let x = call.operand("x")?;
    let rows = Rows::last(call.integer("axes")?, &x.layout.shape)?;
    let along_row = |name: &str| match call.optional(name)? {
        None => Ok(None),
        Some(tensor) if tensor.layout.shape == rows.row => Ok(Some(rows.read(&tensor, &[]))),
        Some(tensor) => Err(format!(
            "expected '{name}' of shape {:?}, got {:?}",
            rows.row, tensor.layout.shape
        )),
    };
    let (weight, bias) = (along_row("weight")?, along_row("bias")?);
    let offset = Scaled::exact(call.float("weight_offset")?);
    if weight.is_none() && offset.value != 0.0 {
        return Err("expected a weight to add weight_offset to".to_owned());
    }
    let factor = weight.map(|weight| weight.into_iter().map(|weight| weight + offset).collect());
    Ok(Box::new(RmsNorm {
        eps: Scaled::exact(call.float("eps")?),
        ulps: arithmetic_ulps(rows.length(), Order::Tree).max(x.ulps),
        x,
        rows,
        factor,
        bias,
    }))
}

impl RmsNorm<'_> {
    fn rstd(&self, row: &[Scaled]) -> Scaled {
        let squares: Vec<Scaled> = row.iter().map(|x| *x * *x).collect();
        let count = Scaled::exact(row.len() as f64);
        (sum(&squares) / count + self.eps).rsqrt()
    }

    fn y(&self, x: Scaled, rstd: Scaled, place: usize) -> Scaled {
        let mut y = x * rstd;
        if let Some(factor) = &self.factor {
            y = y * factor[place];
        }
        if let Some(bias) = &self.bias {
            y = y + bias[place];
        }
        y
    }
}

impl Formula for RmsNorm<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "y" => Some(self.x.layout.shape.clone()),
            "rstd" => Some(self.rows.leading.clone()),
            _ => None,
        }
    }

    fn independent_dims(&self) -> usize {
        self.rows.leading.len()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.ulps
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let (leading, along_row) = region.split_at(self.rows.leading.len());
        let places = self.rows.positions(along_row);
        let mut found = Vec::new();
        for index in Rows::within(leading) {
            let row = self.rows.read(&self.x, &index);
            let rstd = self.rstd(&row);
            match result {
                "rstd" => found.push(rstd),
                _ => found.extend(places.iter().map(|place| self.y(row[*place], rstd, *place))),
            }
        }
        found.into_iter().collect()
    }
}
