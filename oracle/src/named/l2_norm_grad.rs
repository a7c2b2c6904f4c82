//! `l2_norm_grad`: with n over the `axes` of x,
//!
//! ```text
//! length  = sqrt(sum_n(x^2))
//! inverse = 1 / max(length, eps)
//! dx      = (dy - x * inverse^2 * sum_n(dy * x)) * inverse + residual, where length is eps or more
//! dx      = dy * inverse + residual, where it is less
//! ```

use super::normalization_grad::behind_two_sums;
use super::of_rows::{OfRows, Span};
use super::rows::{Operand, Rows};
use super::statistics::sum_of_squares;
use super::{Call, Formula};
use crate::scaled::{Scaled, sum};

struct L2NormGrad<'a> {
    rows: Rows,
    x: Operand<'a>,
    dy: Operand<'a>,
    residual: Option<Operand<'a>>,
    eps: Scaled,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let (rows, x) = call.rows("x")?;
    let residual = call.optional("residual")?;
    Ok(Box::new(L2NormGrad {
        dy: rows.whole("dy", call.operand("dy")?)?,
        residual: residual
            .map(|tensor| rows.whole("residual", tensor))
            .transpose()?,
        eps: Scaled::exact(call.float("eps")?),
        rows,
        x,
    }))
}

impl OfRows for L2NormGrad<'_> {
    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        (result == "dx").then_some(Span::Elements)
    }

    fn ulps(&self) -> f64 {
        behind_two_sums(&self.rows).max(self.x.ulps()).max(self.dy.ulps())
    }

    fn numbers(&self, _result: &str, index: &[i64]) -> Vec<Scaled> {
        let x = self.x.row(&self.rows, index);
        let dy = self.dy.row(&self.rows, index);
        let length = sum_of_squares(&x).sqrt();
        let inverse = Scaled::exact(1.0) / length.maximum(self.eps);
        let products: Vec<Scaled> = x.iter().zip(&dy).map(|(x, dy)| *x * *dy).collect();
        let share = sum(&products) * inverse * inverse;
        let dx = x.iter().zip(&dy).map(|(x, dy)| {
            let is_divided_by = length.value >= self.eps.value;
            let along = *x * share;
            if is_divided_by {
                (*dy - along) * inverse
            } else {
                *dy * inverse
            }
        });
        match &self.residual {
            Some(residual) => {
                let residual = residual.row(&self.rows, index);
                dx.zip(residual).map(|(dx, residual)| dx + residual).collect()
            }
            None => dx.collect(),
        }
    }
}
