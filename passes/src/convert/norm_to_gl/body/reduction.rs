//! Reductions over tile dims, one axis after the other.
//!
//! A reduction sees its combiner's identity where a guard keeps points out: by a select, or by nothing at all where the
//! value is known to be the identity because every read gives zero there.

use melior::ir::{
    Attribute, Block, BlockLike, Region, RegionLike, Type, Value, ValueLike, operation::OperationLike,
    r#type::IntegerType,
};
use norma_dialects::{
    gl::{MaskOp, ReduceOp as TileReduceOp, YieldOp},
    norm::{ReduceKind, ReduceOp},
};

use crate::kernel::space::DimSet;
use crate::mlir::{builder::Builder, combiner, pass::PassError, types, walk};

use super::{
    super::{placement::Place, tiles::Tiles},
    Body, Translated,
};

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    pub(super) fn reduce(&mut self, reduce: ReduceOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let dims = self.space.dims_reduced_by(reduce);
        if let Some(dim) = dims.iter().find(|dim| self.placement.place(**dim) == Place::Grid) {
            let message = format!(
                "expected reductions over dims that a CTA holds whole, got dim {dim}, which is spread over the grid"
            );
            return Err(self.unsupported(message).into());
        }
        let reduced = self.placement.axes(&dims);
        let operands = reduce
            .values()
            .into_iter()
            .map(|value| self.value(value))
            .collect::<Result<Vec<_>, _>>()?;
        let mut axes = operands.iter().fold(reduced, |axes, operand| axes | operand.axes);
        if axes == reduced {
            // A space that is one row has a row's place in the CTA all the same: what has no row is the same in each.
            let tile_dims = 0..self.placement.tile_shape().len();
            let Some(row) = tile_dims.into_iter().find(|dim| reduced >> dim & 1 == 0) else {
                let message = "expected a reduction that leaves a tile dim, got one over all of them";
                return Err(self.unsupported(message).into());
            };
            axes |= 1 << row;
        }
        let mut tiles = Vec::with_capacity(operands.len());
        for (position, operand) in operands.iter().enumerate() {
            let value = self.widen(*operand, axes)?;
            let wide = Translated {
                value,
                axes,
                ..*operand
            };
            tiles.push(self.masked(reduce, wide, &dims, position)?);
        }
        // From the highest axis down, as slices are nested.
        for dim in (0..self.placement.tile_shape().len())
            .rev()
            .filter(|dim| reduced >> dim & 1 == 1)
        {
            let axis = Tiles::position(axes, dim) as i64;
            axes &= !(1 << dim);
            let types = operands
                .iter()
                .map(|operand| self.tiles.ty(operand.element, axes))
                .collect::<Result<Vec<_>, _>>()?;
            let combiner = self.combiner(reduce)?;
            let step = TileReduceOp::build(self.b.location(), &tiles, axis, &types, combiner)?;
            tiles = self.b.insert(step).results().map(Into::into).collect();
        }
        for ((result, operand), value) in reduce.results().into_iter().zip(&operands).zip(tiles) {
            self.define(
                result,
                Translated {
                    value,
                    element: operand.element,
                    axes,
                    zero_outside: false,
                },
            );
        }
        Ok(())
    }

    /// The operand with the identity where a guard over reduced dims fails.
    fn masked(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
        operand: Translated<'c, 'a>,
        reduced: &DimSet,
        position: usize,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let axes = operand.axes;
        let mut guards = self.guards_over(&self.placement.dims_over(axes))?;
        guards.retain(|guard| {
            let concerns = |dim: &usize| guard.iter().any(|side| side.is_function_of_dim(*dim));
            reduced.iter().any(concerns)
        });
        let is_sum = reduce.kind() == Some(ReduceKind::Add);
        if guards.is_empty() || (is_sum && operand.zero_outside) {
            return Ok(operand.value);
        }
        let identity = self.identity(reduce, operand.element, position)?;
        let identity = self.tiles.widen(&self.b, identity, operand.element, 0, axes)?;
        let local = self.localize(&[], &guards, axes)?;
        let guards = local.guards.ok_or_else(|| self.internal("expected guards"))?;
        let i1 = IntegerType::new(self.b.context(), 1).into();
        let mask = MaskOp::build(
            self.b.location(),
            &local.indices,
            &local.limits,
            guards,
            self.tiles.ty(i1, axes)?,
        )?;
        let mask = self.b.insert(mask).result(0)?.into();
        Ok(self.b.value(
            "arith.select",
            &[mask, operand.value, identity],
            operand.value.r#type(),
        ))
    }

    /// The identity of a combiner, as a scalar.
    fn identity(
        &self,
        reduce: ReduceOp<'c, 'a>,
        element: Type<'c>,
        position: usize,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let Some(kind) = reduce.kind() else {
            let identity = reduce.identity().and_then(|all| all.get(position).copied());
            let identity = identity.ok_or_else(|| self.internal("expected an identity for each value"))?;
            return Ok(self.b.constant(identity, element));
        };
        if types::is_float(element) {
            let value = float_identity(kind)
                .ok_or_else(|| self.internal("expected no logical combiner of floats"))?;
            Ok(self.b.float(element, value))
        } else {
            let bits = types::bit_width(element).unwrap_or(64);
            Ok(self.b.integer(element, integer_identity(kind, bits as u32)))
        }
    }

    /// The combiner as a region of `gl`.
    fn combiner(&self, reduce: ReduceOp<'c, 'a>) -> Result<Region<'c>, PassError<'c>> {
        let location = self.b.location();
        let values = reduce.values();
        let arguments = values
            .iter()
            .chain(&values)
            .map(|value| (value.r#type(), location))
            .collect::<Vec<_>>();
        let region = Region::new();
        let block = region.append_block(Block::new(&arguments));
        let b = Builder::at_end(block, location);
        let arguments = (0..arguments.len())
            .map(|index| block.argument(index).map(Value::from))
            .collect::<Result<Vec<_>, _>>()?;
        let yielded = match reduce.kind() {
            Some(kind) => {
                let element = arguments[0].r#type();
                let (name, flags) = named_combiner(kind, types::is_float(element));
                let flags = flags
                    .map(|flags| {
                        Attribute::parse(b.context(), flags)
                            .ok_or_else(|| self.internal("no fast-math flags"))
                    })
                    .transpose()?;
                let attributes = flags.map(|flags| ("fastmath", flags));
                vec![b.value_with(name, &arguments, element, attributes.as_slice())]
            }
            None => {
                let source = walk::entry_block(reduce.op())?;
                combiner::inline(&b, source, &arguments)?
            }
        };
        b.op(YieldOp::NAME, &yielded, &[]);
        Ok(region)
    }
}

/// The op that a named combiner stands for. A sum may be taken in any order, so the sign of a zero is free.
fn named_combiner(kind: ReduceKind, float: bool) -> (&'static str, Option<&'static str>) {
    match (kind, float) {
        (ReduceKind::Add, true) => ("arith.addf", Some("#arith.fastmath<nsz>")),
        (ReduceKind::Mul, true) => ("arith.mulf", None),
        (ReduceKind::Max, true) => ("arith.maximumf", None),
        (ReduceKind::Min, true) => ("arith.minimumf", None),
        (ReduceKind::Add, false) => ("arith.addi", None),
        (ReduceKind::Mul, false) => ("arith.muli", None),
        (ReduceKind::Max, false) => ("arith.maxsi", None),
        (ReduceKind::Min, false) => ("arith.minsi", None),
        (ReduceKind::And, _) => ("arith.andi", None),
        (ReduceKind::Or, _) => ("arith.ori", None),
    }
}

/// What a named combiner of floats leaves as it is; `None` for those of integers alone.
fn float_identity(kind: ReduceKind) -> Option<f64> {
    match kind {
        // -0 is what adding changes nothing to, not even a zero's sign.
        ReduceKind::Add => Some(-0.0),
        ReduceKind::Mul => Some(1.0),
        ReduceKind::Max => Some(f64::NEG_INFINITY),
        ReduceKind::Min => Some(f64::INFINITY),
        ReduceKind::And | ReduceKind::Or => None,
    }
}

/// What a named combiner of signed integers of so many bits, at most 64, leaves as it is.
fn integer_identity(kind: ReduceKind, bits: u32) -> i64 {
    match kind {
        ReduceKind::Add | ReduceKind::Or => 0,
        ReduceKind::Mul => 1,
        ReduceKind::And => -1,
        ReduceKind::Max => i64::MIN >> (64 - bits.min(64)),
        ReduceKind::Min => i64::MAX >> (64 - bits.min(64)),
    }
}

#[cfg(test)]
mod tests {
    use norma_dialects::norm::ReduceKind;

    use super::{float_identity, integer_identity};

    #[test]
    fn identities_of_extremes_are_the_ends_of_the_type() {
        assert_eq!(integer_identity(ReduceKind::Max, 8), -128);
        assert_eq!(integer_identity(ReduceKind::Min, 32), i64::from(i32::MAX));
        assert_eq!(integer_identity(ReduceKind::Max, 64), i64::MIN);
    }

    #[test]
    fn the_identity_of_a_sum_keeps_the_sign_of_zero() {
        let sum = |value: f64| float_identity(ReduceKind::Add).map(|identity| (identity + value).to_bits());
        assert_eq!(sum(-0.0), Some((-0.0_f64).to_bits()));
        assert_eq!(sum(0.0), Some(0.0_f64.to_bits()));
    }
}
