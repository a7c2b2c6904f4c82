//! Loops: one `scf.for` for the steps that no guard concerns, and one for those that are left.
//!
//! What a reduction over the loop has come to is carried from step to step as a tile, from which the axes within a thread
//! have been reduced already; the threads meet once, behind the loop.

use melior::ir::{
    Block, BlockLike, Location, Region, RegionLike, Type, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::norm::ReduceOp;

use crate::{
    kernel::nests::Nest,
    mlir::{linear_form::LinearForm, pass::PassError, walk},
};

use super::{super::placement::Place, Body};

/// How many steps of a loop a guard leaves alone.
struct Peeling<'c, 'a> {
    /// The guards that hold in all of the first `full` steps.
    settled: Vec<usize>,
    full: Bound<'c, 'a>,
    /// Whether steps behind those have points at all.
    has_tail: bool,
}

/// A number of steps.
#[derive(Clone, Copy)]
enum Bound<'c, 'a> {
    Known(i64),
    /// Of type index.
    Value(Value<'c, 'a>),
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    pub(super) fn nest(&mut self, nest: &Nest) -> Result<(), PassError<'c>> {
        let location = self.space.location();
        self.b.set_location(location);
        let extent = self.space.extents[nest.dim];
        let steps = if extent.is_constant() {
            Bound::Known(extent.constant_value().max(0))
        } else {
            Bound::Value(self.size_expression(extent)?)
        };
        let reductions = nest
            .carried
            .iter()
            .map(|position| {
                let reduce = ReduceOp::from_op(self.space.ops[*position])
                    .ok_or_else(|| self.internal("expected what a loop carries to be a reduction"))?;
                Ok((*position, reduce))
            })
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        let mut outermost = Vec::new();
        for (position, reduce) in &reductions {
            if !self.carried.contains_key(position) {
                let identities = self.identities(*reduce)?;
                self.carried.insert(*position, identities);
                outermost.push((*position, *reduce));
            }
        }

        let entered = self.nests_entered.clone();
        let peeling = self.peel(nest.dim, steps)?;
        let zero = Bound::Known(0);
        match peeling {
            Some(peeling) => {
                let known = |bound| match bound {
                    Bound::Known(count) => Some(count),
                    Bound::Value(_) => None,
                };
                if known(peeling.full) != Some(0) {
                    let before = self.settled.clone();
                    self.settled.extend(&peeling.settled);
                    self.steps(nest, zero, peeling.full, location)?;
                    self.settled = before;
                }
                let is_whole = known(peeling.full).is_some() && known(peeling.full) == known(steps);
                if peeling.has_tail && !is_whole {
                    self.nests_entered = entered;
                    self.steps(nest, peeling.full, steps, location)?;
                }
            }
            None => self.steps(nest, zero, steps, location)?,
        }

        for (position, reduce) in outermost {
            let partial = self
                .carried
                .remove(&position)
                .ok_or_else(|| self.internal("expected what the loop carried"))?;
            self.b.set_location(reduce.op().location());
            self.finish(reduce, partial)?;
        }
        Ok(())
    }

    /// Writes the loop from `lower` to `upper`.
    fn steps(
        &mut self,
        nest: &Nest,
        lower: Bound<'c, 'a>,
        upper: Bound<'c, 'a>,
        location: Location<'c>,
    ) -> Result<(), PassError<'c>> {
        self.b.set_location(location);
        let index = Type::index(self.b.context());
        let mut carried = Vec::new();
        for position in &nest.carried {
            carried.extend(self.carried.get(position).into_iter().flatten().copied());
        }
        let mut operands = vec![self.bound(lower), self.bound(upper), self.b.index(1)];
        operands.extend(&carried);
        let types = carried.iter().map(|value| value.r#type()).collect::<Vec<_>>();
        let mut arguments = vec![(index, location)];
        arguments.extend(types.iter().map(|ty| (*ty, location)));
        let region = Region::new();
        region.append_block(Block::new(&arguments));
        let loop_op = self.b.op_with("scf.for", &operands, &types, &[], vec![region]);
        let block = walk::entry_block(loop_op)?;

        let outside = self.values.clone();
        self.b.move_to_end(block);
        self.define_coordinate(nest.dim, block.argument(0)?.into());
        self.set_carried(nest, |index| Ok(block.argument(1 + index)?.into()))?;
        self.items(&nest.body)?;
        let mut yielded = Vec::new();
        for position in &nest.carried {
            yielded.extend(self.carried.get(position).into_iter().flatten().copied());
        }
        self.b.set_location(location);
        self.b.op("scf.yield", &yielded, &[]);
        self.values = outside;
        self.b.move_after(loop_op);
        self.set_carried(nest, |index| Ok(loop_op.result(index)?.into()))
    }

    /// Gives what the loop carries new values, counted through.
    fn set_carried(
        &mut self,
        nest: &Nest,
        value: impl Fn(usize) -> Result<Value<'c, 'a>, PassError<'c>>,
    ) -> Result<(), PassError<'c>> {
        let mut next = 0;
        for position in &nest.carried {
            for slot in self.carried.get_mut(position).into_iter().flatten() {
                *slot = value(next)?;
                next += 1;
            }
        }
        Ok(())
    }

    fn bound(&self, bound: Bound<'c, 'a>) -> Value<'c, 'a> {
        match bound {
            Bound::Known(count) => self.b.index(count),
            Bound::Value(value) => value,
        }
    }

    /// The steps of a loop over `dim` for which its guards hold at every point of the tile; `None` where no guard can be
    /// taken out.
    fn peel(&mut self, dim: usize, steps: Bound<'c, 'a>) -> Result<Option<Peeling<'c, 'a>>, PassError<'c>> {
        let mut peeling: Option<Peeling<'c, 'a>> = None;
        for position in 0..self.space.guards.len() {
            if self.settled.contains(&position) {
                continue;
            }
            let Some((full, has_tail)) = self.full_steps(position, dim, steps)? else {
                continue;
            };
            peeling = Some(match peeling {
                None => Peeling {
                    settled: vec![position],
                    full,
                    has_tail,
                },
                Some(mut other) => {
                    other.settled.push(position);
                    other.full = self.least(other.full, full);
                    other.has_tail |= has_tail;
                    other
                }
            });
        }
        Ok(peeling)
    }

    /// For `a * step + scalars + tile < limit`, the number of steps for which it holds for the whole tile, and whether more
    /// steps have any point. `None` if the guard is not of that form.
    fn full_steps(
        &mut self,
        guard: usize,
        dim: usize,
        steps: Bound<'c, 'a>,
    ) -> Result<Option<(Bound<'c, 'a>, bool)>, PassError<'c>> {
        let [lhs, limit] = self.space.guards[guard];
        let num_dims = self.space.dims.len();
        let is_scalar = (0..num_dims).all(|dim| !limit.is_function_of_dim(dim));
        let Some(form) = LinearForm::of(lhs, num_dims, self.space.sizes.len())
            .filter(|form| is_scalar && form.dims[dim] > 0 && form.symbols.iter().all(|factor| *factor == 0))
        else {
            return Ok(None);
        };
        let mut reach = form.constant;
        let mut scalars = Vec::new();
        for (other, factor) in form.dims.iter().copied().enumerate() {
            if factor == 0 || other == dim {
                continue;
            }
            match self.placement.place(other) {
                Place::Tile(axis) => reach += factor.max(0) * (self.placement.tile_shape()[axis] - 1),
                Place::Grid | Place::Loop => {
                    let Some(coordinate) = self
                        .values
                        .get(&crate::mlir::values::key(self.space.dims[other]))
                        .map(|coordinate| coordinate.value)
                    else {
                        return Ok(None);
                    };
                    scalars.push((coordinate, factor));
                }
            }
        }
        let has_tail = reach > form.constant;
        let step = form.dims[dim];
        if let (Bound::Known(steps), true, true) = (steps, scalars.is_empty(), limit.is_constant()) {
            let room = (limit.constant_value() - reach).max(0);
            let full = room.unsigned_abs().div_ceil(step.unsigned_abs()) as i64;
            return Ok(Some((Bound::Known(full.min(steps)), has_tail)));
        }
        let index = Type::index(self.b.context());
        let mut room = self.size_expression(limit)?;
        for (coordinate, factor) in scalars {
            let moved = match factor {
                1 => coordinate,
                factor => self
                    .b
                    .value("arith.muli", &[coordinate, self.b.index(factor)], index),
            };
            room = self.b.value("arith.subi", &[room, moved], index);
        }
        if reach != 0 {
            room = self.b.value("arith.subi", &[room, self.b.index(reach)], index);
        }
        let room = self.b.value("arith.maxsi", &[room, self.b.index(0)], index);
        let full = match step {
            1 => room,
            step => self.divide_up(room, self.b.index(step)),
        };
        Ok(Some((self.least(Bound::Value(full), steps), has_tail)))
    }

    fn least(&self, one: Bound<'c, 'a>, other: Bound<'c, 'a>) -> Bound<'c, 'a> {
        match (one, other) {
            (Bound::Known(one), Bound::Known(other)) => Bound::Known(one.min(other)),
            (one, other) => {
                let operands = [self.bound(one), self.bound(other)];
                let index = Type::index(self.b.context());
                Bound::Value(self.b.value("arith.minsi", &operands, index))
            }
        }
    }
}
