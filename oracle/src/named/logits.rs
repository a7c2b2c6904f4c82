//! Logits, and sums of their exponentials: what softmax and its relatives share.
//!
//! A logit is formed in these steps, each only if it is asked for: `s = x * scale`, `s = softcap * tanh(s / softcap)`, `s = s +
//! mask`, and -inf where `keep` is 0 or the index along the keys' axis is larger than that along the queries'.

use norma_bundle::Element;

use super::lengths::{Lengths, whole};
use super::of_rows::{OfRows, Span};
use super::rows::{Operand, Rows, position};
use super::{Call, Formula};
use crate::scaled::{Scaled, sum};
use crate::tolerance::{Order, arithmetic_ulps};

/// The operands that logits are formed from.
pub struct Logits<'a> {
    /// The rows that exponentials are summed over.
    rows: Rows,
    x: Operand<'a>,
    scale: Scaled,
    softcap: Scaled,
    mask: Option<Operand<'a>>,
    keep: Option<Operand<'a>>,
    /// The axes of queries and keys, under a causal mask.
    causal: Option<(usize, usize)>,
    lengths: Lengths<'a>,
}

/// The exponentials of a row of logits, relative to the largest.
pub struct Exponentials {
    /// The largest logit; -inf if there are none.
    pub max: Scaled,
    /// The logits minus the largest.
    pub distances: Vec<Scaled>,
    /// The exponentials of these distances.
    pub terms: Vec<Scaled>,
    /// The exponentials' sum.
    pub sum: Scaled,
}

impl<'a> Logits<'a> {
    /// Binds the operands of an op on logits.
    pub fn bind(call: &Call<'a>) -> Result<Self, String> {
        let (rows, x) = call.rows("x")?;
        let mask = call.optional("mask")?;
        let keep = call.optional_integers("keep")?;
        let causal = match call.integers("causal")?.as_slice() {
            [] => None,
            [query, key] => Some((position(*query, rows.shape())?, position(*key, rows.shape())?)),
            other => return Err(format!("expected two axes in 'causal', got {other:?}")),
        };
        Ok(Logits {
            scale: Scaled::exact(call.float("scale")?),
            softcap: Scaled::exact(call.float("softcap")?),
            mask: mask.map(|mask| rows.broadcast("mask", mask)).transpose()?,
            keep: keep.map(|keep| rows.broadcast("keep", keep)).transpose()?,
            causal,
            lengths: Lengths::bind(call, &rows)?,
            rows,
            x,
        })
    }

    /// How many ulp a kernel may be off.
    pub fn ulps(&self) -> f64 {
        let mask = self.mask.as_ref().map_or(0.0, Operand::ulps);
        self.rows.ulps().max(self.x.ulps()).max(mask)
    }

    /// The logits of the elements of the row at `index` that exist.
    pub fn row(&self, index: &[i64]) -> Vec<Scaled> {
        let mut row = self.x.row(&self.rows, index);
        for logit in &mut row {
            // A factor of 1 is skipped, as it rounds nothing.
            if self.scale.value != 1.0 {
                *logit = *logit * self.scale;
            }
            *logit = softcapped(*logit, self.softcap);
        }
        if let Some(mask) = &self.mask {
            for (logit, mask) in row.iter_mut().zip(mask.row(&self.rows, index)) {
                *logit = *logit + mask;
            }
        }
        let excluded = Scaled::exact(f64::NEG_INFINITY);
        if let Some(keep) = &self.keep {
            for (logit, keep) in row.iter_mut().zip(keep.integers(&self.rows, index)) {
                if keep == 0 {
                    *logit = excluded;
                }
            }
        }
        if let Some((query, key)) = self.causal {
            for (logit, element) in row.iter_mut().zip(self.rows.elements(index)) {
                if element[key] > element[query] {
                    *logit = excluded;
                }
            }
        }
        self.lengths.existing(&self.rows, index, row)
    }
}

/// An op with one result, `y`, which is a function of the exponentials of a row of logits.
pub struct OpOnLogits<'a> {
    logits: Logits<'a>,
    span: Span,
    y: fn(&Exponentials) -> Vec<Scaled>,
}

impl<'a> OpOnLogits<'a> {
    /// Binds a call of the op; `y` computes the result of a row.
    pub fn bind(
        call: &Call<'a>,
        span: Span,
        y: fn(&Exponentials) -> Vec<Scaled>,
    ) -> Result<Box<dyn Formula + 'a>, String> {
        let logits = Logits::bind(call)?;
        Ok(Box::new(OpOnLogits { logits, span, y }))
    }
}

impl OfRows for OpOnLogits<'_> {
    fn rows(&self) -> &Rows {
        &self.logits.rows
    }

    fn span(&self, result: &str) -> Option<Span> {
        (result == "y").then_some(self.span)
    }

    fn ulps(&self) -> f64 {
        self.logits.ulps()
    }

    fn numbers(&self, _result: &str, index: &[i64]) -> Vec<Scaled> {
        let y = (self.y)(&exponentials(&self.logits.row(index)));
        match self.span {
            Span::Elements => whole(&self.logits.rows, y),
            _ => y,
        }
    }
}

/// `softcap * tanh(logit / softcap)`; the logit where there is no cap.
pub fn softcapped(logit: Scaled, softcap: Scaled) -> Scaled {
    match softcap.value {
        0.0 => logit,
        _ => softcap * (logit / softcap).tanh(),
    }
}

/// The exponentials of a row of logits, relative to the largest so that none overflows.
pub fn exponentials(row: &[Scaled]) -> Exponentials {
    let max = row
        .iter()
        .fold(Scaled::exact(f64::NEG_INFINITY), |max, logit| max.maximum(*logit));
    let distances: Vec<Scaled> = row.iter().map(|logit| *logit - max).collect();
    let terms: Vec<Scaled> = distances.iter().map(|distance| distance.exp()).collect();
    Exponentials {
        max,
        sum: sum(&terms),
        distances,
        terms,
    }
}

impl Exponentials {
    /// The logarithm of the sum of the exponentials of the logits themselves; the largest logit where that is infinite.
    pub fn log_sum_exp(&self) -> Scaled {
        match self.max.value.is_infinite() {
            true => self.max,
            false => self.max + self.sum.ln(),
        }
    }

    /// The share of each exponential in the sum.
    pub fn shares(&self) -> Vec<Scaled> {
        let share = |term: &Scaled| {
            let share = *term / self.sum;
            match may_be_zero(*term) {
                true => flushed(share),
                false => flushable(share),
            }
        };
        self.terms.iter().map(share).collect()
    }
}

/// Intermediate results below this, which are no normal f32 or next to it, may be flushed to 0 in a kernel.
const SMALLEST: f64 = 2.0 * f32::MIN_POSITIVE as f64;

/// Whether a finite number overflows f32: a kernel has an infinity for it, and what follows depends on the order of its steps.
/// This happens for probabilities of more than 1, which no op returns.
pub fn overflows(value: Scaled) -> bool {
    value.value.is_finite() && value.value.abs() > f64::from(f32::MAX)
}

fn may_be_zero(value: Scaled) -> bool {
    value.value < SMALLEST
}

/// The value with its scale raised so far that a kernel may have 0 for it.
fn flushed(value: Scaled) -> Scaled {
    let least = Scaled::scale_of(SMALLEST, arithmetic_ulps(1, Order::Tree), Element::F32);
    Scaled {
        scale: value.scale.max(least),
        ..value
    }
}

/// A nonnegative value. If it is no normal f32, its scale is raised so far that a kernel may have 0 for it.
pub fn flushable(value: Scaled) -> Scaled {
    match may_be_zero(value) {
        true => flushed(value),
        false => value,
    }
}
