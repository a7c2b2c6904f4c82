//! Loops: one `scf.for` for the steps that no guard concerns, and one each for those before and behind them.
//!
//! What a reduction over the loop has come to is carried from step to step as a tile, from which the axes within a thread
//! have been reduced already; the threads meet once, behind the loop. What a scan has come to is told to all threads in each step.

use melior::ir::{BlockLike, Location, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::{ReduceOp, ScanOp};

use crate::{
    gl::quotient_form::QuotientForm,
    kernel::nests::Nest,
    mlir::{pass::PassError, region, walk},
};

use super::{super::placement::Place, Body};

/// The steps of a loop that guards leave alone.
struct Peeling<'c, 'a> {
    /// The guards that hold from step `from` on: those of what lies before the first point.
    of_head: Vec<usize>,
    from: i64,
    /// The guards that hold until step `full`: those of what lies behind the last point.
    of_tail: Vec<usize>,
    full: Bound<'c, 'a>,
    /// Whether steps behind those have points at all.
    has_tail: bool,
}

/// In which steps a guard holds for the whole tile.
enum Holds<'c, 'a> {
    From(i64),
    Until {
        full: Bound<'c, 'a>,
        /// Whether it holds for a part of the tile behind those.
        has_tail: bool,
    },
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
        if self.placement.drawn(self.mapping) == Some(nest.dim) {
            self.begin_walk(self.bound(steps))?;
        }
        let mut outermost = Vec::new();
        for position in &nest.carried {
            if self.carried.contains_key(position) {
                continue;
            }
            let op = self.space.ops[*position];
            let first = match (ReduceOp::from_op(op), ScanOp::from_op(op)) {
                (Some(reduce), _) => self.identities(reduce)?,
                (None, Some(scan)) => self.before_first_step(scan)?,
                (None, None) => {
                    let message = "expected what a loop carries to be a reduction or a scan";
                    return Err(self.internal(message).into());
                }
            };
            self.carried.insert(*position, first);
            outermost.push(*position);
        }

        let entered = self.nests_entered.clone();
        let peeling = self.peel(nest.dim, steps)?;
        let zero = Bound::Known(0);
        match peeling {
            Some(peeling) => self.peeled(nest, &peeling, steps, &entered, location)?,
            None => self.steps(nest, zero, steps, location)?,
        }

        for position in outermost {
            let partial = self
                .carried
                .remove(&position)
                .ok_or_else(|| self.internal("expected what the loop carried"))?;
            if let Some(reduce) = ReduceOp::from_op(self.space.ops[position]) {
                self.b.set_location(reduce.op().location());
                self.finish(reduce, partial)?;
            }
        }
        Ok(())
    }

    /// Writes the loops before, of, and behind the steps that the guards leave alone.
    fn peeled(
        &mut self,
        nest: &Nest,
        peeling: &Peeling<'c, 'a>,
        steps: Bound<'c, 'a>,
        entered: &[usize],
        location: Location<'c>,
    ) -> Result<(), PassError<'c>> {
        let known = |bound| match bound {
            Bound::Known(count) => Some(count),
            Bound::Value(_) => None,
        };
        let from = Bound::Known(peeling.from);
        let full = match peeling.from {
            0 => peeling.full,
            _ => self.greatest(from, peeling.full),
        };
        let before = self.settled.clone();
        if peeling.from > 0 {
            if known(peeling.full).is_some_and(|full| full >= peeling.from) {
                self.settled.extend(&peeling.of_tail);
            }
            self.steps(nest, Bound::Known(0), from, location)?;
            self.settled.clone_from(&before);
            self.nests_entered = entered.to_vec();
        }
        if known(full) != Some(peeling.from) {
            self.settled.extend(&peeling.of_head);
            self.settled.extend(&peeling.of_tail);
            self.steps(nest, from, full, location)?;
            self.settled.clone_from(&before);
        }
        let is_whole = known(full).is_some() && known(full) == known(steps);
        if peeling.has_tail && !is_whole {
            self.nests_entered = entered.to_vec();
            self.settled.extend(&peeling.of_head);
            self.steps(nest, full, steps, location)?;
            self.settled = before;
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
        if let Some(walk) = self.walk {
            return self.drawn_steps(walk, nest, self.bound(upper), location);
        }
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
        let region = region::of_block(&arguments);
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
        let mut peeling = Peeling {
            of_head: Vec::new(),
            from: 0,
            of_tail: Vec::new(),
            full: steps,
            has_tail: false,
        };
        for position in 0..self.space.guards.len() {
            if self.settled.contains(&position) {
                continue;
            }
            match self.full_steps(position, dim, steps)? {
                None => {}
                Some(Holds::From(from)) => {
                    peeling.of_head.push(position);
                    peeling.from = peeling.from.max(from);
                }
                Some(Holds::Until { full, has_tail }) => {
                    peeling.full = match peeling.of_tail.is_empty() {
                        true => full,
                        false => self.least(peeling.full, full),
                    };
                    peeling.of_tail.push(position);
                    peeling.has_tail |= has_tail;
                }
            }
        }
        let is_empty = peeling.of_head.is_empty() && peeling.of_tail.is_empty();
        Ok((!is_empty).then_some(peeling))
    }

    /// For `a * step + scalars + remainders of scalars + tile < limit`, in which steps it holds for the whole tile, whatever
    /// the remainders. `None` if the guard is not of that form.
    fn full_steps(
        &mut self,
        guard: usize,
        dim: usize,
        steps: Bound<'c, 'a>,
    ) -> Result<Option<Holds<'c, 'a>>, PassError<'c>> {
        let [lhs, limit] = self.space.guards[guard];
        let num_dims = self.space.dims.len();
        let is_scalar = (0..num_dims).all(|dim| !limit.is_function_of_dim(dim));
        let Some(mut form) = QuotientForm::of(lhs, num_dims, self.space.sizes.len()).filter(|_| is_scalar)
        else {
            return Ok(None);
        };
        // What remainders add at most; their dims stand nowhere else.
        let mut reach = 0;
        while let Some((factor, remainder)) = form.take_remainder(num_dims) {
            let of_tile = |dim: usize| matches!(self.placement.place(dim), Place::Tile(_));
            let mut dims = remainder.numerator.dims.iter().enumerate();
            if dims.any(|(other, factor)| *factor != 0 && (other == dim || of_tile(other))) {
                return Ok(None);
            }
            reach += factor.max(0) * (remainder.divisor - 1);
        }
        let step = form.dims[dim];
        if step == 0 || !form.quotients.is_empty() || form.symbols.iter().any(|factor| *factor != 0) {
            return Ok(None);
        }
        reach += form.constant;
        let least = reach;
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
        if step < 0 {
            let Some(constant) = (scalars.is_empty() && limit.is_constant()).then(|| limit.constant_value())
            else {
                return Ok(None);
            };
            // The first step in which `reach - |a| * step` is below the limit.
            let above = (reach - constant + 1).max(0);
            let from = above.unsigned_abs().div_ceil(step.unsigned_abs()) as i64;
            return Ok(match steps {
                Bound::Known(steps) => Some(Holds::From(from.min(steps))),
                // A step that is not there has no points, but nothing says so before the run.
                Bound::Value(_) => None,
            });
        }
        let has_tail = reach > least;
        if let (Bound::Known(steps), true, true) = (steps, scalars.is_empty(), limit.is_constant()) {
            let room = (limit.constant_value() - reach).max(0);
            let full = room.unsigned_abs().div_ceil(step.unsigned_abs()) as i64;
            return Ok(Some(Holds::Until {
                full: Bound::Known(full.min(steps)),
                has_tail,
            }));
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
        Ok(Some(Holds::Until {
            full: self.least(Bound::Value(full), steps),
            has_tail,
        }))
    }

    fn least(&self, one: Bound<'c, 'a>, other: Bound<'c, 'a>) -> Bound<'c, 'a> {
        self.extreme("arith.minsi", i64::min, one, other)
    }

    fn greatest(&self, one: Bound<'c, 'a>, other: Bound<'c, 'a>) -> Bound<'c, 'a> {
        self.extreme("arith.maxsi", i64::max, one, other)
    }

    fn extreme(
        &self,
        name: &str,
        of_known: impl Fn(i64, i64) -> i64,
        one: Bound<'c, 'a>,
        other: Bound<'c, 'a>,
    ) -> Bound<'c, 'a> {
        match (one, other) {
            (Bound::Known(one), Bound::Known(other)) => Bound::Known(of_known(one, other)),
            (one, other) => {
                let operands = [self.bound(one), self.bound(other)];
                Bound::Value(self.b.value(name, &operands, Type::index(self.b.context())))
            }
        }
    }
}
