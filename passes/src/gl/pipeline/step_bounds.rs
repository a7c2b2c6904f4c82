//! The intervals that a copy's scalars lie in, in the steps in which it is issued.

use melior::ir::{AffineExpr, Value};

use crate::{gl::bounds, mlir::interval::Interval};

/// The intervals of the indices and the limits with which a copy is issued. They need not be those of the op that it implements: the copies
/// of a ring run ahead of their loop, and those of several loops are issued as the last one's.
pub(super) struct StepBounds {
    indices: Vec<Interval>,
    limits: Vec<Interval>,
}

impl StepBounds {
    /// The intervals of `indices` and `limits`.
    pub fn of(indices: &[Value<'_, '_>], limits: &[Value<'_, '_>]) -> Self {
        let all = |values: &[Value<'_, '_>]| values.iter().copied().map(bounds::of_scalar).collect();
        Self {
            indices: all(indices),
            limits: all(limits),
        }
    }

    /// The interval of an expression over the indices as dims and the limits as symbols.
    pub fn of_expression(&self, expression: AffineExpr<'_>) -> Interval {
        let at = |all: &[Interval], position: usize| all.get(position).copied().unwrap_or(Interval::ANY);
        Interval::of(expression, &|dim| at(&self.indices, dim), &|symbol| {
            at(&self.limits, symbol)
        })
    }
}
