//! `norm.cross_entropy`: `loss = (1 - e) w_l (lse - s_l) + e / C sum(w_c (lse - s_c)) + z_loss lse^2` of capped logits s, and its
//! gradient in the same program.
//!
//! The label's logit and weight are picked by sums over the classes in which all others count as 0. Neither waits for the
//! maximum, so that one pass serves for all sums. The distances `lse - s` are taken by way of the maximum: `max - s` errs by
//! one rounding at most, however large both are.

use melior::ir::{OperationRef, Value};
use norma_dialects::norm::CrossEntropyOp;

use super::{
    program::{Exponentials, Program, Split},
    viewed,
};
use crate::mlir::pass::{PassError, PassResult};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let loss = viewed(op, CrossEntropyOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.split(&[loss.axis()?]);
    let x = p.read(loss.logits()?, p.dims())?;
    let softcap = loss.softcap()?;
    let (logits, tanh) = match softcap {
        0.0 => (x, None),
        _ => {
            let (capped, tanh) = p.softcapped(x, softcap);
            (capped, Some(tanh))
        }
    };
    let exponentials = p.exponentials(logits, &split)?;
    let rows = Rows {
        label: p.integer(loss.labels()?, &split.kept)?,
        ignored: loss.ignore_index()?,
        smoothing: loss.label_smoothing()?,
        z_loss: loss.z_loss()?,
        weight: loss
            .weight()
            .map(|weight| p.read_at(weight, &split.row()))
            .transpose()?,
        logits,
        lse: p.log_sum_exp(&exponentials),
        exponentials,
        split: &split,
        p: &p,
    };
    let factors = rows.factors()?;
    p.write(rows.guarded(rows.loss(&factors)?)?, loss.loss()?, &split.kept)?;
    p.write_if_asked(rows.lse, loss.lse(), &split.kept)?;
    if let Some(dlogits) = loss.dlogits() {
        let mut gradient = rows.gradient(&factors);
        if let Some(tanh) = tanh {
            let slope = p.op("arith.subf", &[p.constant(1.0), p.square(tanh)]);
            gradient = p.op("arith.mulf", &[gradient, slope]);
        }
        p.write(rows.guarded(gradient)?, dlogits, p.dims())?;
    }
    p.end();
    Ok(())
}

/// The rows of logits while their losses are computed.
struct Rows<'s, 'c, 'a> {
    p: &'s Program<'c, 'a>,
    split: &'s Split<'c, 'a>,
    logits: Value<'c, 'a>,
    exponentials: Exponentials<'c, 'a>,
    lse: Value<'c, 'a>,
    /// An i64 for each row.
    label: Value<'c, 'a>,
    ignored: i64,
    smoothing: f64,
    z_loss: f64,
    /// Of each class.
    weight: Option<Value<'c, 'a>>,
}

/// What the distances of a row are multiplied by.
struct Factors<'c, 'a> {
    /// Whether a class is the label.
    is_label: Value<'c, 'a>,
    /// `(1 - smoothing) * weight[label]`; `None` where smoothing takes everything.
    of_label: Option<Value<'c, 'a>>,
    /// `smoothing / C`, if there is smoothing.
    of_classes: Option<Value<'c, 'a>>,
    /// The sum of the weights, if there is smoothing.
    weights: Option<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Rows<'_, 'c, 'a> {
    /// A value of the label's class.
    fn of_label(
        &self,
        is_label: Value<'c, 'a>,
        value: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let picked = self.p.select(is_label, value, self.p.constant(0.0));
        self.p.sum(picked, self.split)
    }

    fn factors(&self) -> Result<Factors<'c, 'a>, PassError<'c>> {
        let p = self.p;
        let is_label = p.is_at(self.label, &self.split.reduced)?;
        let certain = p.constant(1.0 - self.smoothing);
        let of_label = match self.weight {
            _ if self.smoothing == 1.0 => None,
            None => Some(certain),
            Some(weight) => {
                let weight = self.of_label(is_label, weight)?;
                Some(p.op("arith.mulf", &[certain, weight]))
            }
        };
        if self.smoothing == 0.0 {
            return Ok(Factors {
                is_label,
                of_label,
                of_classes: None,
                weights: None,
            });
        }
        let count = p.count(self.split)?;
        Ok(Factors {
            is_label,
            of_label,
            of_classes: Some(p.op("arith.divf", &[p.constant(self.smoothing), count])),
            weights: Some(match self.weight {
                Some(weight) => p.sum(weight, self.split)?,
                None => count,
            }),
        })
    }

    fn loss(&self, factors: &Factors<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let p = self.p;
        let max = self.exponentials.max;
        let log = p.op("math.log", &[self.exponentials.sum]);
        let mut terms = Vec::new();
        if let Some(factor) = factors.of_label {
            let logit = self.of_label(factors.is_label, self.logits)?;
            let distance = p.op("arith.subf", &[max, logit]);
            let distance = p.op("arith.addf", &[distance, log]);
            terms.push(p.op("arith.mulf", &[distance, factor]));
        }
        if let (Some(factor), Some(weights)) = (factors.of_classes, factors.weights) {
            let logits = match self.weight {
                Some(weight) => p.op("arith.mulf", &[self.logits, weight]),
                None => self.logits,
            };
            let logits = p.sum(logits, self.split)?;
            let distances = p.op("arith.subf", &[p.op("arith.mulf", &[max, weights]), logits]);
            let distances = p.op("arith.addf", &[distances, p.op("arith.mulf", &[log, weights])]);
            terms.push(p.op("arith.mulf", &[distances, factor]));
        }
        if self.z_loss != 0.0 {
            let square = p.square(self.lse);
            terms.push(p.op("arith.mulf", &[square, p.constant(self.z_loss)]));
        }
        let sum = terms
            .into_iter()
            .reduce(|sum, term| p.op("arith.addf", &[sum, term]));
        Ok(sum.unwrap_or_else(|| p.constant(0.0)))
    }

    /// The gradient with respect to the capped logits.
    fn gradient(&self, factors: &Factors<'c, 'a>) -> Value<'c, 'a> {
        let p = self.p;
        // What the class's probability is multiplied by.
        let mut of_probability = Vec::new();
        // What is taken from it.
        let mut of_class = Vec::new();
        if let Some(factor) = factors.of_label {
            of_probability.push(factor);
            of_class.push(p.select(factors.is_label, factor, p.constant(0.0)));
        }
        if let (Some(factor), Some(weights)) = (factors.of_classes, factors.weights) {
            of_probability.push(p.op("arith.mulf", &[factor, weights]));
            of_class.push(match self.weight {
                Some(weight) => p.op("arith.mulf", &[weight, factor]),
                None => factor,
            });
        }
        if self.z_loss != 0.0 {
            of_probability.push(p.op("arith.mulf", &[self.lse, p.constant(2.0 * self.z_loss)]));
        }
        let add = |one, other| p.op("arith.addf", &[one, other]);
        let probability = p.op(
            "arith.divf",
            &[self.exponentials.exponential, self.exponentials.sum],
        );
        let factor = of_probability.into_iter().reduce(add);
        let gradient = p.op(
            "arith.mulf",
            &[probability, factor.unwrap_or_else(|| p.constant(0.0))],
        );
        match of_class.into_iter().reduce(add) {
            Some(of_class) => p.op("arith.subf", &[gradient, of_class]),
            None => gradient,
        }
    }

    /// 0 where the label is ignored, NaN where it is no class.
    fn guarded(&self, value: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let p = self.p;
        let is_class = p.is_within(self.label, self.split)?;
        let value = p.select(is_class, value, p.constant(f64::NAN));
        let is_ignored = p.is_number(self.label, self.ignored);
        Ok(p.select(is_ignored, p.constant(0.0), value))
    }
}
