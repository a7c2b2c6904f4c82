//! Logits, their exponentials and the sums of these, for softmax and related ops.

use melior::ir::Value;
use norma_dialects::norm::{LogSoftmaxOp, LogSumExpOp, ReduceKind, SoftmaxOp};

use super::{Program, Setting, Split};
use crate::mlir::{
    comparison::{IntegerPredicate, compare_integers},
    pass::PassError,
};

/// How logits are formed from an operand.
pub(in crate::norm::decompose) struct Logits<'c, 'a> {
    /// The operand.
    pub(in crate::norm::decompose) x: Value<'c, 'a>,
    /// The factor of the operand.
    pub(in crate::norm::decompose) scale: Setting<'c, 'a>,
    /// The bound of soft capping, which logits approach; 0 for none.
    pub(in crate::norm::decompose) softcap: Setting<'c, 'a>,
    /// A tensor that is added to the logits, broadcast.
    pub(in crate::norm::decompose) mask: Option<Value<'c, 'a>>,
    /// A mask, broadcast: where it is 0, logits are -inf.
    pub(in crate::norm::decompose) keep: Option<Value<'c, 'a>>,
    /// The axes of queries and keys for a causal mask: keys after their query have the logit -inf. Empty for no causal mask.
    pub(in crate::norm::decompose) causal: Vec<i64>,
}

/// ODS declares the operands and attributes of ops on logits once, but their views have no type in common.
macro_rules! ops_on_logits {
    ($($op:ident),+) => {$(
        impl<'c, 'a> TryFrom<$op<'c, 'a>> for Logits<'c, 'a> {
            type Error = melior::Error;

            fn try_from(of: $op<'c, 'a>) -> Result<Self, melior::Error> {
                Ok(Self {
                    x: of.x()?,
                    scale: Setting::new(of.scale()?, of.runtime_scale()),
                    softcap: Setting::new(of.softcap()?, of.runtime_softcap()),
                    mask: of.mask(),
                    keep: of.keep(),
                    causal: of.causal()?,
                })
            }
        }
    )+};
}

ops_on_logits!(LogSoftmaxOp, LogSumExpOp, SoftmaxOp);

/// The exponentials of a row's logits and their parts.
pub(in crate::norm::decompose) struct Exponentials<'c, 'a> {
    /// The largest logit.
    pub(in crate::norm::decompose) max: Value<'c, 'a>,
    /// The logit minus the largest one, at most 0.
    pub(in crate::norm::decompose) distance: Value<'c, 'a>,
    /// The exponential of the distance.
    pub(in crate::norm::decompose) exponential: Value<'c, 'a>,
    /// The sum of the exponentials.
    pub(in crate::norm::decompose) sum: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The logits; -inf for elements that do not exist.
    pub(in crate::norm::decompose) fn logits(
        &self,
        logits: &Logits<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let mut value = self.scaled(self.read(logits.x, self.dims())?, logits.scale)?;
        if let Some((capped, _)) = self.softcapped(value, logits.softcap)? {
            value = capped;
        }
        if let Some(mask) = logits.mask {
            let mask = self.read_at(mask, &self.broadcast(mask))?;
            value = self.op("arith.addf", &[value, mask]);
        }
        let excluded = || self.constant(f64::NEG_INFINITY);
        if let Some(keep) = logits.keep {
            let is_kept = self.truth(keep, &self.broadcast(keep))?;
            value = self.select(is_kept, value, excluded());
        }
        let rank = self.dims().len() as i64;
        if let [query, key] = logits.causal.as_slice() {
            let dim = |axis: i64| self.dims()[axis.rem_euclid(rank) as usize];
            let is_later = compare_integers(&self.b, IntegerPredicate::Greater, dim(*key), dim(*query));
            value = self.select(is_later, excluded(), value);
        }
        Ok(self.existing(value, f64::NEG_INFINITY, split))
    }

    /// `softcap * tanh(value / softcap)`, and the hyperbolic tangent; the value itself and 0 where the softcap is 0, and `None` if it is
    /// known to be.
    pub(in crate::norm::decompose) fn softcapped(
        &self,
        value: Value<'c, 'a>,
        softcap: Setting<'c, 'a>,
    ) -> Result<Option<(Value<'c, 'a>, Value<'c, 'a>)>, PassError<'c>> {
        if softcap.is_known_as(0.0) {
            return Ok(None);
        }
        let bound = self.number(softcap)?;
        let tanh = self.op("math.tanh", &[self.op("arith.divf", &[value, bound])]);
        let capped = self.unless(softcap, 0.0, self.op("arith.mulf", &[tanh, bound]), || value)?;
        Ok(Some((
            capped,
            self.unless(softcap, 0.0, tanh, || self.constant(0.0))?,
        )))
    }

    /// The exponentials of logits, relative to the largest one, so that none overflows. Their sum depends on the maximum in the form that
    /// `norm-merge-reductions` recognizes.
    pub(in crate::norm::decompose) fn exponentials(
        &self,
        logits: Value<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> Result<Exponentials<'c, 'a>, PassError<'c>> {
        let max = self.reduce(ReduceKind::Max, logits, &split.reduced)?;
        let distance = self.op("arith.subf", &[logits, max]);
        let exponential = self.op("math.exp", &[distance]);
        // Exponentials of missing elements are 0, unless a row has no elements at all.
        let sum = self.reduce(ReduceKind::Add, exponential, &split.reduced)?;
        Ok(Exponentials {
            max,
            distance,
            exponential,
            sum,
        })
    }

    /// The logarithm of the sum of exponentials of the logits; the maximum if that is infinite.
    pub(in crate::norm::decompose) fn log_sum_exp(
        &self,
        exponentials: &Exponentials<'c, 'a>,
    ) -> Value<'c, 'a> {
        let max = exponentials.max;
        let log = self.op("math.log", &[exponentials.sum]);
        let finite = self.op("arith.addf", &[max, log]);
        self.select(self.is_infinite(max), max, finite)
    }
}
