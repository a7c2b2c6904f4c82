//! `cross_entropy_grad`: in the notation of `cross_entropy`,
//!
//! ```text
//! p       = exp(s - lse)
//! dlogits = dloss * ds * (1 - (s / softcap)^2)
//! ```
//!
//! with ds as defined there, and lse computed unless it is given.

use super::classes::Classes;
use super::logits::flushable;
use super::of_rows::{OfRows, Span};
use super::rows::{Operand, Rows};
use super::{Call, Formula};
use crate::scaled::Scaled;
use crate::tolerance::{Order, arithmetic_ulps};

struct CrossEntropyGrad<'a> {
    classes: Classes<'a>,
    dloss: Operand<'a>,
    lse: Option<Operand<'a>>,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let classes = Classes::bind(&call)?;
    let lse = call.optional("lse")?;
    Ok(Box::new(CrossEntropyGrad {
        dloss: classes.rows.of_rows_or_all("dloss", call.operand("dloss")?)?,
        lse: lse.map(|lse| classes.rows.of_rows("lse", lse)).transpose()?,
        classes,
    }))
}

impl OfRows for CrossEntropyGrad<'_> {
    fn rows(&self) -> &Rows {
        &self.classes.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        (result == "dlogits").then_some(Span::Elements)
    }

    fn ulps(&self) -> f64 {
        // The derivative of the softcap has an error of its own, which adds to that of the gradient it is multiplied with.
        let slope = match self.classes.is_capped() {
            true => arithmetic_ulps(1, Order::Tree),
            false => 0.0,
        };
        self.classes.ulps().max(self.dloss.ulps()) + slope
    }

    fn numbers(&self, _result: &str, index: &[i64]) -> Vec<Scaled> {
        let of_row = |operand: &Operand| operand.number_at(self.rows(), index);
        let row = self.classes.row(index);
        let (probabilities, lse) = match &self.lse {
            Some(lse) => {
                let lse = of_row(lse);
                let undefined = Scaled::exact(f64::NAN);
                let reference = if lse.value.is_infinite() { undefined } else { lse };
                let distances = row.capped.iter().map(|logit| *logit - reference);
                let terms = distances.map(|distance| flushable(distance.exp()));
                (terms.collect(), lse)
            }
            None => (row.exponentials.shares(), row.exponentials.log_sum_exp()),
        };
        let dloss = of_row(&self.dloss);
        if self.classes.is_ignored(&row) {
            return vec![Scaled::exact(0.0); row.capped.len()];
        }
        let dlogits = self.classes.dlogits(&row, &probabilities, lse).into_iter();
        let of_lse = self.lse.is_some();
        let scaled = dlogits.zip(&probabilities).map(|(dlogit, p)| match p.value {
            // exp(s - lse) overflows f32 only where the given lse is not that of these logits.
            p if of_lse && p > f64::from(f32::MAX) => Scaled::undefined(),
            _ if dlogit.is_undefined() => dlogit,
            _ => dlogit * dloss,
        });
        scaled.collect()
    }
}
