//! Reductions: within each thread first, then across threads, one axis after the other.
//!
//! At points that a guard masks off, a reduction sees its combiner's identity: by a select, or without one where the value is
//! known to be the identity, because every read gives zero there.
//!
//! Within a thread the values of a tuple may vary over different axes. The number of elements in a partial variance is the same for all
//! columns of a tile, unless a guard masks points by column, and so is its reciprocal, which each step then computes once.

use std::collections::{BTreeSet, HashMap};

use melior::ir::{
    AffineExpr, Attribute, Block, BlockLike, Region, RegionLike, Type, Value, ValueLike,
    operation::OperationLike, r#type::IntegerType,
};
use norma_dialects::{
    gl::{MaskOp, OfGroupOp, ReduceOp as TileReduceOp, YieldOp},
    norm::{ReduceKind, ReduceOp},
    op_name,
};

use crate::kernel::{named_combiner, space::DimSet};
use crate::mlir::{
    builder::Builder,
    combiner,
    linear_form::LinearForm,
    pass::{PassError, PassResult},
    types,
    values::{definition, key},
    walk,
};

use super::{
    super::{
        placement::{Axes, Place},
        tiles::Tiles,
    },
    Body, Carried, Guards, Translated, is_in,
};

/// Attributes of an op, with their names.
type NamedAttributes<'c> = Vec<(&'static str, Attribute<'c>)>;

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    /// Whether a reduction ranges over a loop dim.
    pub(super) fn ranges_over_loop(&self, reduce: ReduceOp<'c, 'a>) -> bool {
        let dims = self.space.dims_reduced_by(reduce);
        dims.iter().any(|dim| self.placement.place(*dim) == Place::Loop)
    }

    /// A reduction over tile dims alone.
    pub(super) fn reduce(&mut self, reduce: ReduceOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let mut axes = self.axes_of_operands(reduce)?;
        let reduced = self.reduced_axes(reduce);
        let tiles = self.contributions(reduce, &axes)?;
        let within = self.placement.register_axes();
        let mut tiles = self.reduce_axes(reduce, tiles, &mut axes, reduced & within)?;
        let across = reduced & !within;
        if across != 0 {
            tiles = self.widen_all(reduce, tiles, &mut axes)?;
            tiles = self.reduce_axes(reduce, tiles, &mut axes, across)?;
        }
        let tiles = self.scalars_of(reduce, tiles, &axes);
        self.define_results(reduce, &tiles, &axes)
    }

    /// One step of a reduction over loops: combines the step's contributions within each thread, and the result with the
    /// loop-carried total.
    pub(super) fn accumulate(
        &mut self,
        position: usize,
        reduce: ReduceOp<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let mut axes = self.axes_of_operands(reduce)?;
        let within = self.reduced_axes(reduce) & self.placement.register_axes();
        let tiles = self.contributions(reduce, &axes)?;
        let tiles = self.reduce_axes(reduce, tiles, &mut axes, within)?;
        let tiles = self.scalars_of(reduce, tiles, &axes);
        let before = self
            .carried
            .get(&Carried::Total(position))
            .cloned()
            .ok_or_else(|| self.internal("expected a reduction that a loop carries"))?;
        let after = self.combine(reduce, &before, &tiles, &axes)?;
        self.carried.insert(Carried::Total(position), after);
        Ok(())
    }

    /// Finishes a reduction over loops, once these have ended: combines the threads' totals.
    pub(super) fn finish(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
        partial: Vec<Value<'c, 'a>>,
    ) -> Result<(), PassError<'c>> {
        let reduced = self.reduced_axes(reduce);
        let mut axes = self.axes_of_totals(reduce)?;
        if axes.iter().all(|axes| *axes == 0) {
            // There are no threads to combine: the partial results are scalars already.
            return self.define_results(reduce, &partial, &axes);
        }
        let partial = self.widen_all(reduce, partial, &mut axes)?;
        let partial = self.combine_groups(reduce, partial, &axes)?;
        let across = reduced & !self.placement.register_axes();
        let tiles = self.reduce_axes(reduce, partial, &mut axes, across)?;
        let tiles = self.scalars_of(reduce, tiles, &axes);
        self.define_results(reduce, &tiles, &axes)
    }

    /// Combines the totals of all groups of consumers, in the order of the groups.
    fn combine_groups(
        &self,
        reduce: ReduceOp<'c, 'a>,
        own: Vec<Value<'c, 'a>>,
        axes: &[Axes],
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let mut combined = own.clone();
        for group in 1..self.mapping.consumer_groups {
            let others = own
                .iter()
                .map(|tile| {
                    let other = OfGroupOp::build(self.b.location(), *tile, group)?;
                    Ok(self.b.insert(other).result(0)?.into())
                })
                .collect::<Result<Vec<_>, PassError<'c>>>()?;
            combined = self.combine(reduce, &combined, &others, axes)?;
        }
        Ok(combined)
    }

    /// The identity of each value, over the axes of the loop-carried total.
    pub(super) fn identities(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let axes = self.axes_of_totals(reduce)?;
        reduce
            .values()
            .into_iter()
            .zip(axes)
            .enumerate()
            .map(|(position, (value, axes))| {
                let element = value.r#type();
                let identity = self.identity(reduce, element, position)?;
                self.tiles.widen(&self.b, identity, element, 0, axes)
            })
            .collect()
    }

    /// The axes of each value of the total that a loop carries: those of the operands that are not reduced within a thread.
    fn axes_of_totals(&self, reduce: ReduceOp<'c, 'a>) -> Result<Vec<Axes>, PassError<'c>> {
        let within = self.reduced_axes(reduce) & self.placement.register_axes();
        let operands = self.axes_of_operands(reduce)?;
        Ok(operands.into_iter().map(|axes| axes & !within).collect())
    }

    /// The tile dims that a reduction removes.
    pub(super) fn reduced_axes(&self, reduce: ReduceOp<'c, 'a>) -> Axes {
        self.placement.axes(&self.space.dims_reduced_by(reduce))
    }

    /// The tile dims that a reduction's operands vary over, and those that it removes.
    pub(super) fn operand_axes(&self, reduce: ReduceOp<'c, 'a>) -> Result<Axes, PassError<'c>> {
        let dims = self.space.dims_reduced_by(reduce);
        if let Some(dim) = dims.iter().find(|dim| self.placement.place(**dim) == Place::Grid) {
            let message = format!(
                "expected reductions over dims that a CTA holds whole, got dim {dim}, which is spread over the grid"
            );
            return Err(self.unsupported(message).into());
        }
        Ok(reduce
            .values()
            .into_iter()
            .map(|value| self.placement.axes(&self.space.dims_of(value)))
            .fold(self.reduced_axes(reduce), |axes, operand| axes | operand))
    }

    /// For each operand, the axes of the tile as which it is reduced: those that it varies over, those of the operands that its own result
    /// depends on (`combiner::needs`), the reduced axes, and those of guards that mask reduced points.
    fn axes_of_operands(&self, reduce: ReduceOp<'c, 'a>) -> Result<Vec<Axes>, PassError<'c>> {
        let all = self.operand_axes(reduce)?;
        let values = reduce.values();
        let needs = match reduce.kind() {
            None if reduce.nth().is_none() => combiner::needs(walk::entry_block(reduce.op())?, values.len()),
            _ => None,
        };
        let Some(needs) = needs else {
            return Ok(vec![all; values.len()]);
        };
        let reduced = self.space.dims_reduced_by(reduce);
        let uses = |guard: &[AffineExpr<'c>; 2], dim: usize| {
            let mut sides = guard.iter();
            sides.any(|side| side.is_function_of_dim(dim))
        };
        let masking = self.space.guards.iter();
        let masking = masking.filter(|guard| reduced.iter().any(|dim| uses(guard, *dim)));
        let of_guards = (0..self.space.dims.len())
            .filter(|dim| masking.clone().any(|guard| uses(guard, *dim)))
            .collect::<DimSet>();
        let common = self.reduced_axes(reduce) | (self.placement.axes(&of_guards) & all);
        let own = values
            .iter()
            .map(|value| Ok(common | self.axes_of(*value)?))
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        let closed = combiner::closed(needs);
        let joined = closed
            .iter()
            .map(|needed| needed.iter().fold(0, |axes, position| axes | own[*position]));
        Ok(joined.collect())
    }

    /// The axes that an operand of a reduction varies over: fewer than the kernel says where it is a value of a tuple.
    fn axes_of(&self, value: Value<'c, 'a>) -> Result<Axes, PassError<'c>> {
        let of_tuple = definition(value).and_then(ReduceOp::from_op);
        let Some(reduce) = of_tuple.filter(|reduce| reduce.values().len() > 1) else {
            return Ok(self.placement.axes(&self.space.dims_of(value)));
        };
        let reduced = self.reduced_axes(reduce);
        let own = self.axes_of_operands(reduce)?;
        let all = own.iter().fold(0, |all, axes| all | axes);
        let position = reduce.results().iter().position(|result| *result == value);
        // Threads combine whole tuples, as does what follows a loop.
        let is_within_thread =
            reduced & !self.placement.register_axes() == 0 && !self.ranges_over_loop(reduce);
        let axes = match is_within_thread {
            true => position.and_then(|position| own.get(position).copied()),
            false => Some(all),
        };
        Ok(axes.unwrap_or(all) & !reduced)
    }

    /// All tiles over the union of their axes.
    fn widen_all(
        &self,
        reduce: ReduceOp<'c, 'a>,
        tiles: Vec<Value<'c, 'a>>,
        axes: &mut [Axes],
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let all = axes.iter().fold(0, |all, axes| all | axes);
        let values = reduce.values();
        let tiles = tiles.into_iter().zip(&values).zip(&*axes);
        let widened = tiles
            .map(|((tile, value), from)| self.tiles.widen(&self.b, tile, value.r#type(), *from, all))
            .collect();
        axes.fill(all);
        widened
    }

    /// The operands over their `axes`, with the identity where a guard masks points off.
    fn contributions(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
        axes: &[Axes],
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let reduced = self.space.dims_reduced_by(reduce);
        let values = reduce.values().into_iter().zip(axes.to_vec()).enumerate();
        values
            .map(|(position, (value, axes))| {
                let operand = self.value(value)?;
                let wide = Translated {
                    value: self.widen(operand, axes)?,
                    axes,
                    ..operand
                };
                let neutral = self.zero_is_neutral(reduce, value);
                let value = self.masked(wide, &reduced, neutral, |body| {
                    body.identity(reduce, operand.element, position)
                })?;
                match reduce.nth() {
                    Some(_) => self.within_bound(reduce, value, operand.element, axes),
                    None => Ok(value),
                }
            })
            .collect()
    }

    /// Reduces over the axes in `over`, from the highest down. Without axes left the tiles are of rank 0. Values that vary over fewer axes than
    /// others are reduced by themselves, as what they depend on varies over no more.
    fn reduce_axes(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
        mut tiles: Vec<Value<'c, 'a>>,
        axes: &mut [Axes],
        over: Axes,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        for dim in (0..self.placement.tile_shape().len())
            .rev()
            .filter(|dim| over >> dim & 1 == 1)
        {
            let before = tiles.clone();
            for width in axes.iter().copied().collect::<BTreeSet<_>>() {
                let group = (0..tiles.len()).filter(|position| axes[*position] == width);
                let group = group.collect::<Vec<_>>();
                let reduced = self.reduce_axis(reduce, &before, axes, &group, dim)?;
                for (position, tile) in group.into_iter().zip(reduced) {
                    tiles[position] = tile;
                }
            }
            axes.iter_mut().for_each(|axes| *axes &= !(1 << dim));
        }
        Ok(tiles)
    }

    /// Reduces the values at the positions `group`, which vary over the same axes, along the axis `dim`. The values that their results
    /// depend on are reduced with them; only the group's results are returned.
    fn reduce_axis(
        &self,
        reduce: ReduceOp<'c, 'a>,
        tiles: &[Value<'c, 'a>],
        axes: &[Axes],
        group: &[usize],
        dim: usize,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let Some(width) = group.first().map(|position| axes[*position]) else {
            return Ok(Vec::new());
        };
        let values = reduce.values();
        let together = self.needed_by(reduce, group)?;
        let left = width & !(1 << dim);
        let mut operands = Vec::with_capacity(together.len());
        let mut types = Vec::with_capacity(together.len());
        for position in &together {
            let element = values[*position].r#type();
            operands.push(
                self.tiles
                    .widen(&self.b, tiles[*position], element, axes[*position], width)?,
            );
            types.push(self.tiles.tile(element, left)?);
        }
        let combiner = self.combiner(reduce, &together)?;
        let axis = Tiles::position(width, dim) as i64;
        let step = TileReduceOp::build(self.b.location(), &operands, axis, &types, combiner)?;
        let step = self.b.insert(step);
        let results = together.iter().zip(step.results());
        let of_group = results.filter(|(position, _)| group.contains(position));
        Ok(of_group.map(|(_, result)| result.into()).collect())
    }

    /// The positions in a tuple that the results at the positions `group` depend on, themselves included.
    fn needed_by(&self, reduce: ReduceOp<'c, 'a>, group: &[usize]) -> Result<Vec<usize>, PassError<'c>> {
        let count = reduce.values().len();
        if group.len() == count || reduce.kind().is_some() {
            return Ok(group.to_vec());
        }
        let needs = combiner::needs(walk::entry_block(reduce.op())?, count)
            .ok_or_else(|| self.internal("expected a combiner of tuples"))?;
        let closed = combiner::closed(needs);
        let needed = group.iter().flat_map(|position| &closed[*position]).copied();
        Ok(needed.collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// Tiles of rank 0 as scalars, where a reduction within each thread has left no axes; other tiles as they are.
    fn scalars_of(
        &self,
        reduce: ReduceOp<'c, 'a>,
        tiles: Vec<Value<'c, 'a>>,
        axes: &[Axes],
    ) -> Vec<Value<'c, 'a>> {
        if self.reduced_axes(reduce) == 0 {
            return tiles;
        }
        let values = reduce.values();
        let elements = values.iter().map(|value| value.r#type());
        tiles
            .into_iter()
            .zip(elements)
            .zip(axes)
            .map(|((tile, element), axes)| Tiles::unwrap(&self.b, tile, element, *axes))
            .collect()
    }

    fn define_results(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
        tiles: &[Value<'c, 'a>],
        axes: &[Axes],
    ) -> PassResult<'c> {
        for ((result, value), axes) in reduce.results().into_iter().zip(tiles).zip(axes) {
            let translated = Translated {
                value: *value,
                element: result.r#type(),
                axes: *axes,
                zero_outside: 0,
            };
            self.define(result, translated);
            if reduce.nth().is_some() {
                self.bound_next(reduce, translated)?;
            }
        }
        Ok(())
    }

    /// Two tuples of tiles, each value over its `axes`, combined element by element.
    fn combine(
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

    /// The guards at whose masked-off points a reduction may combine zeros instead of its identity: all for a sum. For a maximum of
    /// magnitudes those of blocks that have a point each, whose magnitude is at least zero.
    fn zero_is_neutral(&self, reduce: ReduceOp<'c, 'a>, value: Value<'c, 'a>) -> Guards {
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
    fn combiner(&self, reduce: ReduceOp<'c, 'a>, positions: &[usize]) -> Result<Region<'c>, PassError<'c>> {
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

/// The value of which `value` is the product with itself; `None` for anything else.
fn square_root<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
    let product = definition(value).filter(|op| walk::has_name(*op, "arith.mulf"))?;
    let [one, other] = [product.operand(0).ok()?, product.operand(1).ok()?];
    (one == other).then_some(one)
}
