//! Gradients of normalizations `y = h * (weight + offset) + bias` with `h = (x - mean) * rstd`.
//!
//! Sums along a row are over `x - mean` instead of `h`, so that they do not wait for `rstd` if that is recomputed: all sums of a row that
//! share a mean share a pass. The sums for weight and bias run across rows, in the same pass over memory.

use melior::ir::Value;
use norma_dialects::norm::{GroupNormGradOp, LayerNormGradOp, RMSNormGradOp, ReduceKind};

use super::{Affine, Coordinate, Moments, Program, Setting, Split};
use crate::mlir::pass::{PassError, PassResult};

/// The operands and results of a normalization's gradient, besides `x` and its statistics.
pub(in crate::norm::decompose) struct Gradient<'c, 'a> {
    /// The gradient with respect to the result.
    dy: Value<'c, 'a>,
    /// The weight by which the forward op multiplied, and the constant that it added to the weight first.
    weight: Option<Value<'c, 'a>>,
    offset: f64,
    /// Added to `dx`.
    residual: Option<Value<'c, 'a>>,
    dx: Value<'c, 'a>,
    dweight: Option<Value<'c, 'a>>,
    dbias: Option<Value<'c, 'a>>,
}

/// ODS gives gradients of normalizations the same operands and results, but their views have no type in common.
macro_rules! gradients_of_normalizations {
    ($($op:ident: $of:ident => $offset:expr),+) => {$(
        impl<'c, 'a> TryFrom<$op<'c, 'a>> for Gradient<'c, 'a> {
            type Error = melior::Error;

            fn try_from($of: $op<'c, 'a>) -> Result<Self, melior::Error> {
                Ok(Self {
                    dy: $of.dy()?,
                    weight: $of.weight(),
                    offset: $offset,
                    residual: $of.residual(),
                    dx: $of.dx()?,
                    dweight: $of.dweight(),
                    dbias: $of.dbias(),
                })
            }
        }
    )+};
}

gradients_of_normalizations!(
    RMSNormGradOp: of => of.weight_offset()?,
    LayerNormGradOp: of => of.weight_offset()?,
    GroupNormGradOp: of => 0.0
);

/// The coordinates of a normalization's tensors in a program's space.
pub(in crate::norm::decompose) struct Places<'s, 'c, 'a> {
    /// The dims; statistics are over the reduced ones.
    pub(in crate::norm::decompose) split: &'s Split<'c, 'a>,
    /// The coordinates of a tensor with the shape of `x`.
    pub(in crate::norm::decompose) element: &'s [Coordinate<'c, 'a>],
    /// The coordinates of a tensor with the shape of the weight.
    pub(in crate::norm::decompose) weight: &'s [Coordinate<'c, 'a>],
    /// The dims that the weight is broadcast along.
    pub(in crate::norm::decompose) sharing: &'s [Value<'c, 'a>],
}

/// How the elements were normalized.
pub(in crate::norm::decompose) enum Normalized<'c, 'a> {
    /// By the root of the mean square alone.
    Scaled {
        /// The elements.
        x: Value<'c, 'a>,
        /// The reciprocal of the root mean square.
        rstd: Value<'c, 'a>,
    },
    /// By mean and standard deviation.
    Standardized(Moments<'c, 'a>),
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The moments over the reduced dims: read if both are given, at the dims that are kept, and computed otherwise.
    pub(in crate::norm::decompose) fn moments_given(
        &self,
        value: Value<'c, 'a>,
        given: (Option<Value<'c, 'a>>, Option<Value<'c, 'a>>),
        split: &Split<'c, 'a>,
        eps: Setting<'c, 'a>,
    ) -> Result<Moments<'c, 'a>, PassError<'c>> {
        let (Some(mean), Some(rstd)) = given else {
            return self.moments(value, split, eps);
        };
        let mean = self.read(mean, &split.kept)?;
        Ok(Moments {
            mean,
            centred: self.op("arith.subf", &[value, mean]),
            rstd: self.read(rstd, &split.kept)?,
        })
    }

    /// Writes the gradients with respect to the operands of a normalization.
    pub(in crate::norm::decompose) fn write_gradients(
        &self,
        of: &Gradient<'c, 'a>,
        normalized: &Normalized<'c, 'a>,
        places: &Places<'_, 'c, 'a>,
    ) -> PassResult<'c> {
        let (centred, rstd, is_centred) = match normalized {
            Normalized::Scaled { x, rstd } => (*x, *rstd, false),
            Normalized::Standardized(moments) => (moments.centred, moments.rstd, true),
        };
        let dy = self.read_at(of.dy, places.element)?;
        let weight = Affine {
            weight: of.weight,
            offset: of.offset,
            bias: None,
        };
        let g = self.affine(dy, weight, places.weight)?;
        let product = self.op("arith.mulf", &[centred, g]);
        let mean = self.mean(product, places.split)?;
        let share = self.op("arith.mulf", &[mean, rstd]);
        let h = self.op("arith.mulf", &[centred, rstd]);
        // The product `dy * weight` is subtracted from first: that and `h * share` are then one fma each.
        let mut across = g;
        if is_centred {
            across = self.op("arith.subf", &[across, self.mean(g, places.split)?]);
        }
        let across = self.op("arith.subf", &[across, self.op("arith.mulf", &[h, share])]);
        let dx = self.existing(self.op("arith.mulf", &[across, rstd]), 0.0, places.split);
        self.write_with_residual(dx, of.residual, of.dx, places.element)?;
        if let Some(dweight) = of.dweight {
            let term = self.existing(self.op("arith.mulf", &[dy, h]), 0.0, places.split);
            let sum = self.reduce(ReduceKind::Add, term, places.sharing)?;
            self.write_at(sum, dweight, places.weight)?;
        }
        if let Some(dbias) = of.dbias {
            let term = self.existing(dy, 0.0, places.split);
            let sum = self.reduce(ReduceKind::Add, term, places.sharing)?;
            self.write_at(sum, dbias, places.weight)?;
        }
        Ok(())
    }

    /// As [`Self::write_gradients`], for rows of which all have the same weight, or that a weight broadcasts to.
    pub(in crate::norm::decompose) fn write_gradients_of_rows(
        &self,
        of: &Gradient<'c, 'a>,
        normalized: &Normalized<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> PassResult<'c> {
        let weight = match of.weight {
            Some(weight) => self.of_weight(weight, split)?,
            None => split.row(),
        };
        let is_along = |dim: &Value<'c, 'a>| {
            weight
                .iter()
                .any(|place| matches!(place, Coordinate::Dim(of) if of == dim))
        };
        let sharing = self.dims().iter().copied().filter(|dim| !is_along(dim));
        let places = Places {
            split,
            element: &Coordinate::of(self.dims()),
            weight: &weight,
            sharing: &sharing.collect::<Vec<_>>(),
        };
        self.write_gradients(of, normalized, &places)
    }

    /// Writes a gradient, after adding the gradient that reaches the operand along a residual connection.
    pub(in crate::norm::decompose) fn write_with_residual(
        &self,
        mut dx: Value<'c, 'a>,
        residual: Option<Value<'c, 'a>>,
        result: Value<'c, 'a>,
        element: &[Coordinate<'c, 'a>],
    ) -> PassResult<'c> {
        if let Some(residual) = residual {
            dx = self.op("arith.addf", &[dx, self.read_at(residual, element)?]);
        }
        self.write_at(dx, result, element)
    }
}
