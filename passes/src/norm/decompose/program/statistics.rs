//! Statistics over the reduced dims, and what normalizations do with them.

use melior::ir::{Value, ValueLike, operation::OperationLike};

use super::{Coordinate, Program, Setting, Split};
use crate::mlir::{pass::PassError, types};

/// The scale and shift of a normalization.
#[derive(Clone, Copy)]
pub(in crate::norm::decompose) struct Affine<'c, 'a> {
    /// The factor, before the offset is added.
    pub(in crate::norm::decompose) weight: Option<Value<'c, 'a>>,
    /// A constant that is added to the weight.
    pub(in crate::norm::decompose) offset: f64,
    /// The summand.
    pub(in crate::norm::decompose) bias: Option<Value<'c, 'a>>,
}

/// Statistics of the elements over the reduced dims, for standardization.
#[derive(Clone, Copy)]
pub(in crate::norm::decompose) struct Moments<'c, 'a> {
    /// The mean.
    pub(in crate::norm::decompose) mean: Value<'c, 'a>,
    /// The element minus the mean.
    pub(in crate::norm::decompose) centred: Value<'c, 'a>,
    /// The reciprocal of the standard deviation, after `eps` was added to the variance.
    pub(in crate::norm::decompose) rstd: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The number of existing elements over the reduced dims: a constant if it is known, and otherwise computed at run time.
    pub(in crate::norm::decompose) fn count(
        &self,
        split: &Split<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        match split.count {
            Some(count) => Ok(self.constant(count as f64)),
            None => self.sum(self.constant(1.0), split),
        }
    }

    /// The mean over the reduced dims. If their number of points is known, the sum is multiplied by its rounded reciprocal instead of
    /// divided: at most half an ulp more error, and no division in each row.
    pub(in crate::norm::decompose) fn mean(
        &self,
        value: Value<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let sum = self.sum(value, split)?;
        Ok(match split.count {
            Some(count) => self.op("arith.mulf", &[sum, self.constant(1.0 / count as f64)]),
            None => self.op("arith.divf", &[sum, self.count(split)?]),
        })
    }

    /// The mean, and the elements minus the mean. The sum of their squares is of the form that `norm-merge-reductions` recognizes.
    pub(in crate::norm::decompose) fn centred(
        &self,
        value: Value<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> Result<(Value<'c, 'a>, Value<'c, 'a>), PassError<'c>> {
        let mean = self.mean(value, split)?;
        Ok((mean, self.op("arith.subf", &[value, mean])))
    }

    /// The variance of elements minus their mean: the sum of their squares divided by their number less `correction`, or by 0 if that is
    /// negative.
    pub(in crate::norm::decompose) fn variance(
        &self,
        centred: Value<'c, 'a>,
        split: &Split<'c, 'a>,
        correction: i64,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let squares = self.sum(self.square(centred), split)?;
        let divisor = match split.count {
            Some(count) => self.constant(count.saturating_sub(correction).max(0) as f64),
            None => {
                let correction = self.constant(correction as f64);
                let left = self.op("arith.subf", &[self.count(split)?, correction]);
                self.op("arith.maximumf", &[left, self.constant(0.0)])
            }
        };
        Ok(self.op("arith.divf", &[squares, divisor]))
    }

    /// The moments over the reduced dims; `eps` is added to the variance before its root is taken.
    pub(in crate::norm::decompose) fn moments(
        &self,
        value: Value<'c, 'a>,
        split: &Split<'c, 'a>,
        eps: Setting<'c, 'a>,
    ) -> Result<Moments<'c, 'a>, PassError<'c>> {
        let (mean, centred) = self.centred(value, split)?;
        let variance = self.mean(self.square(centred), split)?;
        Ok(Moments {
            mean,
            centred,
            rstd: self.rsqrt_plus(variance, eps)?,
        })
    }

    /// The square of a number.
    pub(in crate::norm::decompose) fn square(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op("arith.mulf", &[value, value])
    }

    /// `1 / sqrt(value + eps)`.
    pub(in crate::norm::decompose) fn rsqrt_plus(
        &self,
        value: Value<'c, 'a>,
        eps: Setting<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let shifted = self.op("arith.addf", &[value, self.number(eps)?]);
        Ok(self.op("math.rsqrt", &[shifted]))
    }

    /// The coordinates of a weight or bias, in a program with a dim for each axis of the first operand: the reduced dims if it has the
    /// shape of these, and otherwise those that it broadcasts along.
    pub(in crate::norm::decompose) fn of_weight(
        &self,
        weight: Value<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> Result<Vec<Coordinate<'c, 'a>>, PassError<'c>> {
        let sizes = types::shape(self.named.operand(0)?.r#type()).unwrap_or_default();
        let axes = self.dims.iter().zip(sizes);
        let row = axes.filter_map(|(dim, size)| split.reduced.contains(dim).then_some(size));
        let is_row = types::shape(weight.r#type()) == Some(row.collect());
        Ok(if is_row {
            split.row()
        } else {
            self.broadcast(weight)
        })
    }

    /// Scales and shifts a number by the elements of weight and bias at the coordinates that [`Self::of_weight`] finds.
    pub(in crate::norm::decompose) fn affine_of_rows(
        &self,
        value: Value<'c, 'a>,
        affine: Affine<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let scale = Affine { bias: None, ..affine };
        let shift = Affine {
            weight: None,
            ..affine
        };
        let value = match affine.weight {
            Some(weight) => self.affine(value, scale, &self.of_weight(weight, split)?)?,
            None => value,
        };
        match affine.bias {
            Some(bias) => self.affine(value, shift, &self.of_weight(bias, split)?),
            None => Ok(value),
        }
    }

    /// Scales and shifts a number by the elements of weight and bias at `coordinates`.
    pub(in crate::norm::decompose) fn affine(
        &self,
        mut value: Value<'c, 'a>,
        affine: Affine<'c, 'a>,
        coordinates: &[Coordinate<'c, 'a>],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        if let Some(weight) = affine.weight {
            let mut factor = self.read_at(weight, coordinates)?;
            if affine.offset != 0.0 {
                factor = self.op("arith.addf", &[factor, self.constant(affine.offset)]);
            }
            value = self.op("arith.mulf", &[value, factor]);
        }
        if let Some(bias) = affine.bias {
            value = self.op("arith.addf", &[value, self.read_at(bias, coordinates)?]);
        }
        Ok(value)
    }
}
