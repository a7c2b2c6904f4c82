//! Coordinates that linearize several dims, as `group * size + within` does: dims are the digits of a mixed-radix number.

use melior::{Context, ir::AffineExpr};

use super::guards::{self, Guard};
use crate::mlir::linear_form::LinearForm;

/// The dims that a coordinate linearizes: each point of these dims has a number of its own, without gaps.
#[derive(Clone, Debug)]
pub struct Digits<'c> {
    /// Dims and their strides, innermost first.
    pub dims: Vec<(usize, i64)>,
    /// The number of points: the product of the extents, or the limit that a guard sets it.
    pub extent: AffineExpr<'c>,
    /// The number of the first point.
    pub first: i64,
}

impl<'c> Digits<'c> {
    /// `(s, n)` if there are `(s floordiv n) * n` points for a size `s`: whole runs of `n` neighbours, without the `s mod n` elements
    /// behind the last run.
    ///
    /// If a result is written at such a coordinate, a launch requires that `n` divides `s`, because every element of a result has to be
    /// written.
    pub fn whole_runs(&self) -> Option<(AffineExpr<'c>, i64)> {
        let is_constant = |expression: AffineExpr<'c>| expression.is_constant();
        if !self.extent.is_mul() || !is_constant(self.extent.rhs()) {
            return None;
        }
        let (runs, length) = (self.extent.lhs(), self.extent.rhs().constant_value());
        let is_rounded = runs.is_floor_div()
            && runs.lhs().is_symbol()
            && is_constant(runs.rhs())
            && runs.rhs().constant_value() == length;
        (is_rounded && self.first == 0).then(|| (runs.lhs(), length))
    }
}

/// Decomposes a coordinate over dims of these extents into the dims that it linearizes; `None` if it is not of this form, or if a guard
/// leaves it numbers that are not known to be those below a limit.
pub fn digits<'c>(
    at: AffineExpr<'c>,
    extents: &[AffineExpr<'c>],
    guards: &[Guard<'c>],
    context: &'c Context,
) -> Option<Digits<'c>> {
    let form = LinearForm::of(at, extents.len(), 0)?;
    let terms = form.dims.iter().copied().enumerate();
    let mut dims = terms.filter(|(_, factor)| *factor != 0).collect::<Vec<_>>();
    dims.sort_by_key(|(_, factor)| *factor);
    let mut extent = AffineExpr::constant(context, 1);
    for (dim, factor) in &dims {
        if extent != AffineExpr::constant(context, *factor) {
            return None;
        }
        extent = extents[*dim] * extent;
    }
    let used = dims.iter().map(|(dim, _)| *dim).collect();
    let from_zero = at + AffineExpr::constant(context, -form.constant);
    for guard in guards.iter().filter(|guard| guards::concerns(guard, &used)) {
        extent = guards::left_by(guard, from_zero, extents.len(), extent, context)?;
    }
    Some(Digits {
        dims,
        extent,
        first: form.constant,
    })
}
