//! Points that a guard masks off, as reductions and scans see them: with their combiner's identity.
//!
//! A select puts it there, unless the value is known to be the identity already, because every read gives zero at these points.

use melior::ir::{AffineExpr, Value, ValueLike, operation::OperationLike, r#type::IntegerType};
use norma_dialects::{
    gl::MaskOp,
    norm::{ReduceKind, ReduceOp},
    op_name,
};

use crate::kernel::space::DimSet;
use crate::mlir::{linear_form::LinearForm, pass::PassError, values::definition, walk};

use super::{super::tiles::Tiles, Body, Guards, Translated, is_in};

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    /// The guards at whose masked-off points a reduction may combine zeros instead of its identity: all for a sum. For a maximum of
    /// magnitudes those of blocks that have a point each, whose magnitude is at least zero.
    pub(super) fn zero_is_neutral(&self, reduce: ReduceOp<'c, 'a>, value: Value<'c, 'a>) -> Guards {
        let combined = self.space.dims_reduced_by(reduce);
        let is_magnitude = definition(value).is_some_and(|op| op_name(op) == "math.absf");
        match reduce.kind() {
            Some(ReduceKind::Add) => Guards::MAX,
            Some(ReduceKind::Max) if is_magnitude => (0..self.space.guards.len())
                .filter(|guard| *guard < Guards::BITS as usize && self.leaves_first(*guard, &combined))
                .fold(0, |guards, guard| guards | 1 << guard),
            _ => 0,
        }
    }

    /// Whether a guard over combined and kept dims is known to hold at the first point of the combined ones, wherever the kept ones are.
    /// False for a guard over combined dims alone, which leaves nothing of a dim without points.
    fn leaves_first(&self, guard: usize, combined: &DimSet) -> bool {
        let [lhs, limit] = self.space.guards[guard];
        let count = self.space.dims.len();
        let kept_of = |expression: AffineExpr<'c>| {
            let mut form = LinearForm::of(expression, count, 0)?;
            combined.iter().for_each(|dim| form.dims[*dim] = 0);
            let is_sum = form.constant == 0 && form.dims.iter().all(|factor| *factor >= 0);
            is_sum.then_some(form.dims)
        };
        let Some(kept) = kept_of(lhs).filter(|kept| kept.iter().any(|factor| *factor != 0)) else {
            return false;
        };
        // The number of runs of `length` points of which the last one may be shorter.
        let runs = |number: AffineExpr<'c>, length: i64| match number.is_constant() && limit.is_constant() {
            true => (number.constant_value() - 1).saturating_mul(length) < limit.constant_value(),
            false => {
                number.is_ceil_div()
                    && number.lhs() == limit
                    && number.rhs().is_constant()
                    && number.rhs().constant_value() == length
            }
        };
        // Another guard, or the extent of the only kept dim, limits the number of the run.
        let is_limited = |other: &[AffineExpr<'c>; 2]| {
            let [number, below] = *other;
            let whole = LinearForm::of(number, count, 0);
            let whole = whole.filter(|whole| whole.constant == 0 && whole.dims != vec![0; count]);
            let length = whole.as_ref().and_then(|whole| {
                let mut factors = whole
                    .dims
                    .iter()
                    .zip(&kept)
                    .filter(|(of_number, _)| **of_number != 0);
                factors
                    .next()
                    .and_then(|(of_number, kept)| kept.checked_div(*of_number))
            });
            whole.zip(length).is_some_and(|(whole, length)| {
                let mut factors = whole.dims.iter().zip(&kept);
                factors.all(|(of_number, kept)| of_number.checked_mul(length) == Some(*kept))
                    && runs(below, length)
            })
        };
        let mut used = (0..count).filter(|dim| kept[*dim] != 0);
        let only = used.next().filter(|_| used.next().is_none());
        only.is_some_and(|dim| runs(self.space.extents[dim], kept[dim]))
            || self.space.guards.iter().any(is_limited)
    }

    /// The operand, with the identity where a guard over the combined dims fails. Where the operand is known to be zero, it needs no
    /// select for the guards of `neutral`. Of a square its root is replaced by zero under these, so that nothing stands between the
    /// product and its sum, which become an fma.
    pub(super) fn masked(
        &mut self,
        operand: Translated<'c, 'a>,
        combined: &DimSet,
        neutral: Guards,
        identity: impl FnOnce(&Self) -> Result<Value<'c, 'a>, PassError<'c>>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let axes = operand.axes;
        let mut guards = self.guards_over(&self.placement.dims_over(axes));
        guards.retain(|guard| {
            let concerns = |dim: &usize| {
                let sides = &self.space.guards[*guard];
                sides.iter().any(|side| side.is_function_of_dim(*dim))
            };
            combined.iter().any(concerns) && !is_in(operand.zero_outside & neutral, *guard)
        });
        if guards.is_empty() {
            return Ok(operand.value);
        }
        let takes_zeros = guards.iter().all(|guard| is_in(neutral, *guard));
        let root = square_root(operand.value).filter(|_| takes_zeros);
        let other = match root {
            Some(_) => self.b.float(operand.element, 0.0),
            None => identity(self)?,
        };
        let other = self.tiles.widen(&self.b, other, operand.element, 0, axes)?;
        let local = self.localize(&[], &self.sides(&guards), axes)?;
        let guards = local.guards.ok_or_else(|| self.internal("expected guards"))?;
        let i1 = IntegerType::new(self.b.context(), 1).into();
        let mask = MaskOp::build(
            self.b.location(),
            &local.indices,
            &local.limits,
            guards,
            self.tiles.tile(i1, axes)?,
        )?;
        let mask = self.b.insert(mask).result(0)?.into();
        let mask = Tiles::unwrap(&self.b, mask, i1, axes);
        let ty = operand.value.r#type();
        let selected = self
            .b
            .value("arith.select", &[mask, root.unwrap_or(operand.value), other], ty);
        Ok(match root {
            Some(_) => self.b.value("arith.mulf", &[selected, selected], ty),
            None => selected,
        })
    }
}

/// The value of which `value` is the product with itself; `None` for anything else.
fn square_root<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
    let product = definition(value).filter(|op| walk::has_name(*op, "arith.mulf"))?;
    let [one, other] = [product.operand(0).ok()?, product.operand(1).ok()?];
    (one == other).then_some(one)
}
