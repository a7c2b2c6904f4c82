//! Reductions: within each thread first, then across threads, one axis after the other.
//!
//! Within a thread the values of a tuple may vary over different axes. The number of elements in a partial variance is the same for all
//! columns of a tile, unless a guard masks points by column, and so is its reciprocal, which each step then computes once.

use std::collections::BTreeSet;

use melior::ir::{AffineExpr, Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    gl::{OfGroupOp, ReduceOp as TileReduceOp},
    norm::ReduceOp,
};

use crate::kernel::space::DimSet;
use crate::mlir::{
    combiner,
    pass::{PassError, PassResult},
    values::definition,
    walk,
};

use super::{
    super::{
        placement::{Axes, Place},
        tiles::Tiles,
    },
    Body, Carried, Translated,
};

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
}
