//! The logits and labels of a classification: what a cross-entropy loss and its gradient share.
//!
//! The label's logit and weight are selected by sums over the classes in which all other classes count as 0. Neither waits for the maximum,
//! so one pass over the row computes all sums.

use melior::ir::Value;
use norma_dialects::norm::{CrossEntropyGradOp, CrossEntropyOp};

use super::{Program, Setting, Split};
use crate::mlir::pass::PassError;

/// The operands and attributes that define the loss.
pub(in crate::norm::decompose) struct Loss<'c, 'a> {
    /// Before soft capping.
    logits: Value<'c, 'a>,
    labels: Value<'c, 'a>,
    weight: Option<Value<'c, 'a>>,
    ignored: i64,
    smoothing: Setting<'c, 'a>,
    z_loss: Setting<'c, 'a>,
    softcap: Setting<'c, 'a>,
}

/// ODS gives a loss and its gradient the same operands and attributes, but their views have no type in common.
macro_rules! losses {
    ($($op:ident),+) => {$(
        impl<'c, 'a> TryFrom<$op<'c, 'a>> for Loss<'c, 'a> {
            type Error = melior::Error;

            fn try_from(of: $op<'c, 'a>) -> Result<Self, melior::Error> {
                Ok(Self {
                    logits: of.logits()?,
                    labels: of.labels()?,
                    weight: of.weight(),
                    ignored: of.ignore_index()?,
                    smoothing: Setting::new(of.label_smoothing()?, of.runtime_label_smoothing()),
                    z_loss: Setting::new(of.z_loss()?, of.runtime_z_loss()),
                    softcap: Setting::new(of.softcap()?, of.runtime_softcap()),
                })
            }
        }
    )+};
}

losses!(CrossEntropyOp, CrossEntropyGradOp);

/// The rows of logits and their labels, from which losses and gradients are computed.
pub(in crate::norm::decompose) struct Classes<'s, 'c, 'a> {
    p: &'s Program<'c, 'a>,
    split: &'s Split<'c, 'a>,
    loss: Loss<'c, 'a>,
    /// The softcapped logits.
    pub(in crate::norm::decompose) logits: Value<'c, 'a>,
    /// The hyperbolic tangent of soft capping, if logits are capped.
    tanh: Option<Value<'c, 'a>>,
    /// The label of each row, an i64.
    label: Value<'c, 'a>,
    /// The weight of each class.
    weight: Option<Value<'c, 'a>>,
}

/// The factors of a row's distances `lse - s` in its loss.
pub(in crate::norm::decompose) struct Factors<'c, 'a> {
    /// Whether a class is the label.
    pub(in crate::norm::decompose) is_label: Value<'c, 'a>,
    /// `(1 - smoothing) * weight[label]`; `None` if the smoothing is known to be 1.
    pub(in crate::norm::decompose) of_label: Option<Value<'c, 'a>>,
    /// The contribution of all classes, if there is label smoothing.
    pub(in crate::norm::decompose) smooth: Option<Smooth<'c, 'a>>,
}

/// The contribution of all classes of a row to its loss.
pub(in crate::norm::decompose) struct Smooth<'c, 'a> {
    /// `smoothing / C`.
    pub(in crate::norm::decompose) share: Value<'c, 'a>,
    /// The sum of the classes' weights.
    pub(in crate::norm::decompose) weights: Value<'c, 'a>,
}

impl<'s, 'c: 'a, 'a> Classes<'s, 'c, 'a> {
    /// Reads the rows of a loss, along the dim that `split` reduces.
    pub(in crate::norm::decompose) fn of(
        p: &'s Program<'c, 'a>,
        loss: Loss<'c, 'a>,
        split: &'s Split<'c, 'a>,
    ) -> Result<Self, PassError<'c>> {
        let x = p.read(loss.logits, p.dims())?;
        let (logits, tanh) = match p.softcapped(x, loss.softcap)? {
            Some((capped, tanh)) => (capped, Some(tanh)),
            None => (x, None),
        };
        let weight = loss.weight.map(|weight| p.read_at(weight, &split.row()));
        Ok(Self {
            label: p.integer(loss.labels, &split.kept)?,
            weight: weight.transpose()?,
            p,
            split,
            loss,
            logits,
            tanh,
        })
    }

    /// Selects the value of the label's class.
    pub(in crate::norm::decompose) fn of_label(
        &self,
        is_label: Value<'c, 'a>,
        value: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let picked = self.p.select(is_label, value, self.p.constant(0.0));
        self.p.sum(picked, self.split)
    }

    /// The logits times the weights of their classes.
    pub(in crate::norm::decompose) fn weighted_logits(&self) -> Value<'c, 'a> {
        match self.weight {
            Some(weight) => self.p.op("arith.mulf", &[self.logits, weight]),
            None => self.logits,
        }
    }

    /// `z_loss * lse^2`; `None` if there is known to be none.
    pub(in crate::norm::decompose) fn z_loss(
        &self,
        lse: Value<'c, 'a>,
    ) -> Result<Option<Value<'c, 'a>>, PassError<'c>> {
        let (p, z_loss) = (self.p, self.loss.z_loss);
        if z_loss.is_known_as(0.0) {
            return Ok(None);
        }
        let factor = p.number(z_loss)?;
        let term = p.op("arith.mulf", &[p.square(lse), factor]);
        Ok(Some(p.unless(z_loss, 0.0, term, || p.constant(0.0))?))
    }

    /// The term of a row's label in a sum; 0 where it is left out, because the smoothing is 1.
    pub(in crate::norm::decompose) fn unless_smooth(
        &self,
        term: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        self.p
            .unless(self.loss.smoothing, 1.0, term, || self.p.constant(0.0))
    }

    /// The term of all classes in a sum; 0 where it is left out, because the smoothing is 0.
    pub(in crate::norm::decompose) fn unless_sharp(
        &self,
        term: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        self.p
            .unless(self.loss.smoothing, 0.0, term, || self.p.constant(0.0))
    }

    /// Computes the factors of a row's distances.
    pub(in crate::norm::decompose) fn factors(&self) -> Result<Factors<'c, 'a>, PassError<'c>> {
        let p = self.p;
        let smoothing = self.loss.smoothing;
        let is_label = p.is_at(self.label, &self.split.reduced)?;
        let certain = match smoothing.operand {
            Some(_) => p.op("arith.subf", &[p.constant(1.0), p.number(smoothing)?]),
            None => p.constant(1.0 - smoothing.attribute),
        };
        let of_label = match self.weight {
            _ if smoothing.is_known_as(1.0) => None,
            None => Some(certain),
            Some(weight) => {
                let weight = self.of_label(is_label, weight)?;
                Some(p.op("arith.mulf", &[certain, weight]))
            }
        };
        if smoothing.is_known_as(0.0) {
            return Ok(Factors {
                is_label,
                of_label,
                smooth: None,
            });
        }
        let count = p.count(self.split)?;
        let weights = match self.weight {
            Some(weight) => p.sum(weight, self.split)?,
            None => count,
        };
        Ok(Factors {
            is_label,
            of_label,
            smooth: Some(Smooth {
                share: p.op("arith.divf", &[p.number(smoothing)?, count]),
                weights,
            }),
        })
    }

    /// The gradient of a row's loss with respect to its logits before soft capping.
    pub(in crate::norm::decompose) fn gradient(
        &self,
        factors: &Factors<'c, 'a>,
        probability: Value<'c, 'a>,
        lse: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let p = self.p;
        // Terms of the factor of the class's probability.
        let mut of_probability = Vec::new();
        // Terms that are subtracted.
        let mut of_class = Vec::new();
        if let Some(factor) = factors.of_label {
            let factor = self.unless_smooth(factor)?;
            of_probability.push(factor);
            of_class.push(p.select(factors.is_label, factor, p.constant(0.0)));
        }
        if let Some(Smooth { share, weights }) = factors.smooth {
            of_probability.push(self.unless_sharp(p.op("arith.mulf", &[share, weights]))?);
            of_class.push(match self.weight {
                Some(weight) => self.unless_sharp(p.op("arith.mulf", &[weight, share]))?,
                None => share,
            });
        }
        let z_loss = self.loss.z_loss;
        if !z_loss.is_known_as(0.0) {
            let factor = match z_loss.operand {
                Some(_) => p.op("arith.mulf", &[p.number(z_loss)?, p.constant(2.0)]),
                None => p.constant(2.0 * z_loss.attribute),
            };
            let term = p.op("arith.mulf", &[lse, factor]);
            of_probability.push(p.unless(z_loss, 0.0, term, || p.constant(0.0))?);
        }
        let add = |one, other| p.op("arith.addf", &[one, other]);
        let factor = of_probability.into_iter().reduce(add);
        let factor = factor.unwrap_or_else(|| p.constant(0.0));
        let mut gradient = p.op("arith.mulf", &[probability, factor]);
        if let Some(of_class) = of_class.into_iter().reduce(add) {
            gradient = p.op("arith.subf", &[gradient, of_class]);
        }
        Ok(match self.tanh {
            Some(tanh) => {
                let slope = p.op("arith.subf", &[p.constant(1.0), p.square(tanh)]);
                p.op("arith.mulf", &[gradient, slope])
            }
            None => gradient,
        })
    }

    /// Whether a row's label is `ignore_index`.
    pub(in crate::norm::decompose) fn is_ignored(&self) -> Value<'c, 'a> {
        self.p.is_number(self.label, self.loss.ignored)
    }

    /// `value`, but 0 if the label is ignored, and NaN if it is not a class.
    pub(in crate::norm::decompose) fn guarded(
        &self,
        value: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let p = self.p;
        let is_class = p.is_within(self.label, self.split)?;
        let value = p.select(is_class, value, p.constant(f64::NAN));
        Ok(p.select(self.is_ignored(), p.constant(0.0), value))
    }

    /// The weight of a row in a mean of losses: that of its label, or 0 if the label is ignored.
    pub(in crate::norm::decompose) fn weight_of_row(
        &self,
        factors: &Factors<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let p = self.p;
        let weight = match self.weight {
            Some(weight) => self.of_label(factors.is_label, weight)?,
            None => p.constant(1.0),
        };
        Ok(p.select(self.is_ignored(), p.constant(0.0), weight))
    }
}
