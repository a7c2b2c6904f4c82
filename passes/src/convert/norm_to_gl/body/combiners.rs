//! Combiners of reductions: on tiles element by element, as regions of `gl`, and their identities.

use std::collections::HashMap;

use melior::ir::{
    Attribute, Block, BlockLike, Region, RegionLike, Type, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::{
    gl::YieldOp,
    norm::{ReduceKind, ReduceOp},
};

use crate::kernel::named_combiner;
use crate::mlir::{builder::Builder, combiner, pass::PassError, types, values::key, walk};

use super::{super::placement::Axes, Body};

/// Attributes of an op, with their names.
type NamedAttributes<'c> = Vec<(&'static str, Attribute<'c>)>;

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    /// Two tuples of tiles, each value over its `axes`, combined element by element.
    pub(super) fn combine(
        &self,
        reduce: ReduceOp<'c, 'a>,
        lhs: &[Value<'c, 'a>],
        rhs: &[Value<'c, 'a>],
        axes: &[Axes],
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let values = reduce.values();
        let elements = values.iter().map(|value| value.r#type());
        if let Some(kind) = reduce.kind() {
            let element = values.first().map(|value| value.r#type());
            let element = element.ok_or_else(|| self.internal("expected a value"))?;
            return Ok(vec![self.combine_by(kind, element, lhs[0], rhs[0], axes[0])?]);
        }
        let source = walk::entry_block(reduce.op())?;
        let mut widths = [lhs, rhs]
            .iter()
            .flat_map(|side| side.iter().zip(axes))
            .map(|(value, axes)| (key(*value), *axes))
            .collect::<HashMap<_, _>>();
        let combined: Result<_, PassError<'c>> =
            combiner::inline_over(&self.b, source, &[lhs, rhs].concat(), &mut |b, op, operands| {
                // A constant of the combiner's own varies over nothing.
                let of = |operand: &Value<'c, 'a>| widths.get(&key(*operand)).copied().unwrap_or(0);
                let width = operands.iter().fold(0, |width, operand| width | of(operand));
                let elements = op.operands().map(|operand| operand.r#type());
                let widened = operands
                    .iter()
                    .zip(elements)
                    .map(|(operand, element)| self.tiles.widen(b, *operand, element, of(operand), width))
                    .collect::<Result<Vec<_>, _>>()?;
                let types = op
                    .results()
                    .map(|result| self.tiles.ty(result.r#type(), width))
                    .collect::<Result<Vec<_>, _>>()?;
                let rebuilt = b.rebuild(op, &widened, &types);
                let results = rebuilt.results().map(Value::from).collect::<Vec<_>>();
                widths.extend(results.iter().map(|result| (key(*result), width)));
                Ok(results)
            });
        let combined = combined?.into_iter().zip(elements).zip(axes);
        combined
            .map(|((value, element), axes)| {
                let from = widths.get(&key(value)).copied().unwrap_or(0);
                self.tiles.widen(&self.b, value, element, from, *axes)
            })
            .collect()
    }

    /// Two tiles of `element` over `axes` combined element by element by a named combiner.
    pub(super) fn combine_by(
        &self,
        kind: ReduceKind,
        element: Type<'c>,
        lhs: Value<'c, 'a>,
        rhs: Value<'c, 'a>,
        axes: Axes,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let (name, attributes) = self.named(kind, element)?;
        let ty = self.tiles.ty(element, axes)?;
        Ok(self.b.value_with(name, &[lhs, rhs], ty, &attributes))
    }

    /// The identity of a combiner, as a scalar.
    pub(super) fn identity(
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
            let value = named_combiner::float_identity(kind)
                .ok_or_else(|| self.internal("expected no logical combiner of floats"))?;
            Ok(self.b.float(element, value))
        } else {
            let bits = types::bit_width(element).unwrap_or(64);
            Ok(self
                .b
                .integer(element, named_combiner::integer_identity(kind, bits as u32)))
        }
    }

    /// A reduction's combiner as a region of `gl`, of the values at these positions of its tuples, which depend on no others.
    pub(super) fn combiner(
        &self,
        reduce: ReduceOp<'c, 'a>,
        positions: &[usize],
    ) -> Result<Region<'c>, PassError<'c>> {
        let location = self.b.location();
        let values = reduce.values();
        if let (Some(kind), Some(value)) = (reduce.kind(), values.first()) {
            return self.named_combiner(kind, value.r#type());
        }
        let types = positions
            .iter()
            .map(|position| (values[*position].r#type(), location))
            .collect::<Vec<_>>();
        let region = Region::new();
        let block = region.append_block(Block::new(&[&types[..], &types[..]].concat()));
        let b = Builder::at_end(block, location);
        let mut arguments = Vec::with_capacity(2 * values.len());
        for side in [0, positions.len()] {
            for (position, value) in values.iter().enumerate() {
                let of_block = positions.iter().position(|taken| *taken == position);
                arguments.push(match of_block {
                    Some(index) => block.argument(side + index)?.into(),
                    // Nothing that is yielded depends on it.
                    None => b.zero(value.r#type()),
                });
            }
        }
        let yielded = combiner::inline(&b, walk::entry_block(reduce.op())?, &arguments)?;
        let yielded = positions
            .iter()
            .map(|position| yielded[*position])
            .collect::<Vec<_>>();
        b.op(YieldOp::NAME, &yielded, &[]);
        Ok(region)
    }

    /// A named combiner of `element` as a region of `gl`.
    pub(super) fn named_combiner(
        &self,
        kind: ReduceKind,
        element: Type<'c>,
    ) -> Result<Region<'c>, PassError<'c>> {
        let location = self.b.location();
        let region = Region::new();
        let block = region.append_block(Block::new(&[(element, location), (element, location)]));
        let b = Builder::at_end(block, location);
        let sides = [block.argument(0)?.into(), block.argument(1)?.into()];
        let (name, attributes) = self.named(kind, element)?;
        let yielded = b.value_with(name, &sides, element, &attributes);
        b.op(YieldOp::NAME, &[yielded], &[]);
        Ok(region)
    }

    /// The op that a named combiner of `element` stands for, with its attributes.
    fn named(
        &self,
        kind: ReduceKind,
        element: Type<'c>,
    ) -> Result<(&'static str, NamedAttributes<'c>), PassError<'c>> {
        let (name, flags) = named_combiner::op(kind, types::is_float(element));
        let flags = flags
            .map(|flags| {
                Attribute::parse(self.b.context(), flags).ok_or_else(|| self.internal("no fast-math flags"))
            })
            .transpose()?;
        Ok((name, flags.map(|flags| ("fastmath", flags)).into_iter().collect()))
    }
}
