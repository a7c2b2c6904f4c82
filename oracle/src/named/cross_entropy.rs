//! `cross_entropy`: with c over the classes along `axis` of the logits, C their number, l the label, w = `weight` or 1, and
//! e = `label_smoothing`,
//!
//! ```text
//! s       = logits, or softcap * tanh(logits / softcap)
//! lse     = log(sum_c(exp(s_c)))
//! loss    = (1 - e) * w_l * (lse - s_l) + e / C * sum_c(w_c * (lse - s_c)) + z_loss * lse^2
//! p       = exp(s - lse)
//! ds_c    = (1 - e) * w_l * (p_c - [c = l]) + e / C * (p_c * sum_c(w_c) - w_c) + 2 * z_loss * lse * p_c
//! dlogits = ds * (1 - (s / softcap)^2)
//! ```
//!
//! The attribute `reduction` turns the losses of all rows into one: `sum` is their sum, `mean` that sum divided by the sum of
//! w_l.

use std::ops::Range;

use super::classes::Classes;
use super::of_rows::{OfRows, Span};
use super::rows::{Rows, indices};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::{Scaled, sum};
use crate::tolerance::{Order, arithmetic_ulps};

struct CrossEntropy<'a>(Classes<'a>);

/// Cross-entropy whose losses are reduced to one.
struct Reduced<'a> {
    of_rows: CrossEntropy<'a>,
    is_mean: bool,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let of_rows = CrossEntropy(Classes::bind(&call)?);
    let is_mean = match call.text("reduction")? {
        "none" => return Ok(Box::new(of_rows)),
        "sum" => false,
        "mean" => true,
        other => return Err(format!("expected a reduction none, sum or mean, got {other}")),
    };
    Ok(Box::new(Reduced { of_rows, is_mean }))
}

impl OfRows for CrossEntropy<'_> {
    fn rows(&self) -> &Rows {
        &self.0.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        match result {
            "loss" | "lse" | "row_weight" => Some(Span::Row),
            "dlogits" => Some(Span::Elements),
            _ => None,
        }
    }

    fn ulps(&self) -> f64 {
        self.0.ulps()
    }

    fn numbers(&self, result: &str, index: &[i64]) -> Vec<Scaled> {
        let row = self.0.row(index);
        let lse = row.exponentials.log_sum_exp();
        match result {
            "loss" => vec![self.0.loss(&row)],
            "lse" => vec![lse],
            "row_weight" => vec![self.0.weight_of_row(&row)],
            _ => self.0.dlogits(&row, &row.exponentials.shares(), lse),
        }
    }
}

impl Formula for Reduced<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "loss" => Some(Vec::new()),
            _ => self.of_rows.shape(result),
        }
    }

    fn independent_dims(&self, result: &str) -> usize {
        match result {
            "loss" => 0,
            _ => self.of_rows.independent_dims(result),
        }
    }

    fn ulps(&self, result: &str) -> f64 {
        let of_row = Formula::ulps(&self.of_rows, result);
        let rows = self.of_rows.0.rows.outer_shape().iter().product();
        match result {
            "loss" => of_row.max(arithmetic_ulps(rows, Order::Sequential)),
            _ => of_row,
        }
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        if result != "loss" {
            return self.of_rows.evaluate(result, region);
        }
        let classes = &self.of_rows.0;
        let extents = classes.rows.outer_shape().into_iter();
        let whole: Vec<Range<i64>> = extents.map(|extent| 0..extent).collect();
        let (mut losses, mut weights) = (Vec::new(), Vec::new());
        for index in indices(&whole) {
            let row = classes.row(&index);
            losses.push(classes.loss(&row));
            weights.push(classes.weight_of_row(&row));
        }
        let loss = sum(&losses);
        let loss = match losses.iter().any(|loss| loss.is_undefined()) {
            true => Scaled::undefined(),
            false if self.is_mean => loss / sum(&weights),
            false => loss,
        };
        std::iter::once(loss).collect()
    }
}
