//! Emits loops: one `scf.for` for the steps that need no guard, and one each for the steps before and behind these (peeling).
//!
//! A reduction over the loop carries its running total as a tile whose axes within a thread have been reduced already; the
//! threads' totals are combined once, behind the loop. The running total of a scan is passed to all threads in each step.

use melior::ir::{BlockLike, Location, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::{ReduceOp, ScanOp};

use crate::{
    gl::quotient_form::QuotientForm,
    kernel::nests::Nest,
    mlir::{pass::PassError, region, walk},
};

use super::{super::placement::Place, Body, Carried};

/// The steps of a loop in which its guards hold for the whole tile.
struct Peeling<'c, 'a> {
    /// The guards that hold from step `from` on: they mask off points before the first one.
    of_head: Vec<usize>,
    from: i64,
    /// The guards that hold until step `full`: they mask off points behind the last one.
    of_tail: Vec<usize>,
    full: Bound<'c, 'a>,
    /// Whether the steps from `full` on have any points.
    has_tail: bool,
}

/// In which steps a guard holds for the whole tile.
enum Holds<'c, 'a> {
    From(i64),
    Until {
        full: Bound<'c, 'a>,
        /// Whether it holds for a part of the tile in the steps behind these.
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
            let carried = self.carried_by(nest, *position);
            if self.carried.contains_key(&carried) {
                continue;
            }
            let op = self.space.ops[*position];
            let first = match (carried, ReduceOp::from_op(op), ScanOp::from_op(op)) {
                (Carried::Bound(_), Some(reduce), _) => self.first_bound(reduce)?,
                (Carried::Total(_), Some(reduce), _) => self.identities(reduce)?,
                (Carried::Total(_), None, Some(scan)) => self.before_first_step(scan)?,
                _ => {
                    let message = "expected what a loop carries to be a reduction or a scan";
                    return Err(self.internal(message).into());
                }
            };
            self.carried.insert(carried, first);
            outermost.push(carried);
        }

        let entered = self.nests_entered.clone();
        let peeling = self.peel(nest.dim, steps)?;
        let zero = Bound::Known(0);
        match peeling {
            Some(peeling) => self.peeled(nest, &peeling, steps, &entered, location)?,
            None => self.steps(nest, zero, steps, location)?,
        }

        for carried in outermost {
            let partial = self
                .carried
                .remove(&carried)
                .ok_or_else(|| self.internal("expected what the loop carried"))?;
            if let Carried::Total(position) = carried
                && let Some(reduce) = ReduceOp::from_op(self.space.ops[position])
            {
                self.b.set_location(reduce.op().location());
                self.finish(reduce, partial)?;
            }
        }
        Ok(())
    }

    /// Which value a loop carries for the op at `position`.
    fn carried_by(&self, nest: &Nest, position: usize) -> Carried {
        let reduce = ReduceOp::from_op(self.space.ops[position]);
        match reduce.and_then(|reduce| self.space.dim_of_nth(reduce)) == Some(nest.dim) {
            true => Carried::Bound(position),
            false => Carried::Total(position),
        }
    }

    /// The values that a loop carries.
    fn values_carried(&self, nest: &Nest) -> Vec<Value<'c, 'a>> {
        let carried = nest.carried.iter();
        let values = carried.filter_map(|position| self.carried.get(&self.carried_by(nest, *position)));
        values.flatten().copied().collect()
    }

    /// Emits up to three loops: for the steps before those in which the guards hold for the whole tile, for these steps, and
    /// for those behind them.
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
        // The steps of each loop, and the guards that hold in them.
        let mut loops = Vec::new();
        if peeling.from > 0 {
            let is_long = known(peeling.full).is_some_and(|full| full >= peeling.from);
            let settled = if is_long {
                peeling.of_tail.clone()
            } else {
                Vec::new()
            };
            loops.push((Bound::Known(0), from, settled));
        }
        if known(full) != Some(peeling.from) {
            let settled = [peeling.of_head.as_slice(), &peeling.of_tail].concat();
            loops.push((from, full, settled));
        }
        let is_whole = known(full).is_some() && known(full) == known(steps);
        if peeling.has_tail && !is_whole {
            loops.push((full, steps, peeling.of_head.clone()));
        }
        if self.is_reversed(nest) {
            loops.reverse();
        }
        let before = self.settled.clone();
        for (lower, upper, settled) in loops {
            self.nests_entered = entered.to_vec();
            self.settled.extend(settled);
            self.steps(nest, lower, upper, location)?;
            self.settled.clone_from(&before);
        }
        Ok(())
    }

    /// Whether a loop takes its steps in the opposite order, as a reversed scan that it carries requires.
    fn is_reversed(&self, nest: &Nest) -> bool {
        let is_reversed =
            |position: &usize| ScanOp::from_op(self.space.ops[*position]).is_some_and(|scan| scan.reverse());
        nest.carried.iter().any(is_reversed)
    }

    /// Emits the loop from `lower` to `upper`.
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
        let last = match self.is_reversed(nest) {
            true => Some(self.last_of_both(lower, upper)),
            false => None,
        };
        let carried = self.values_carried(nest);
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
        let step = Value::from(block.argument(0)?);
        let coordinate = match last {
            Some(last) => self.b.value("arith.subi", &[last, step], index),
            None => step,
        };
        self.define_coordinate(nest.dim, coordinate);
        self.set_carried(nest, |index| Ok(block.argument(1 + index)?.into()))?;
        self.items(&nest.body)?;
        let yielded = self.values_carried(nest);
        self.b.set_location(location);
        self.b.op("scf.yield", &yielded, &[]);
        self.values = outside;
        self.b.move_after(loop_op);
        self.set_carried(nest, |index| Ok(loop_op.result(index)?.into()))
    }

    /// The sum of the first and of the last step from `lower` to `upper`.
    fn last_of_both(&self, lower: Bound<'c, 'a>, upper: Bound<'c, 'a>) -> Value<'c, 'a> {
        if let (Bound::Known(lower), Bound::Known(upper)) = (lower, upper) {
            return self.b.index(lower + upper - 1);
        }
        let index = Type::index(self.b.context());
        let sum = self
            .b
            .value("arith.addi", &[self.bound(lower), self.bound(upper)], index);
        self.b.value("arith.subi", &[sum, self.b.index(1)], index)
    }

    /// Sets the values that the loop carries to `value(0)`, `value(1)` and so on.
    fn set_carried(
        &mut self,
        nest: &Nest,
        value: impl Fn(usize) -> Result<Value<'c, 'a>, PassError<'c>>,
    ) -> Result<(), PassError<'c>> {
        let mut next = 0;
        for position in &nest.carried {
            let carried = self.carried_by(nest, *position);
            for slot in self.carried.get_mut(&carried).into_iter().flatten() {
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

    /// The steps of a loop over `dim` in which its guards hold at every point of the tile; `None` if no guard can be removed.
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

    /// For a guard `a * step + scalars + remainders of scalars + tile < limit`, the steps in which it holds for the whole tile,
    /// whatever the remainders are. `None` if the guard is not of that form.
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
        // The most that remainders add; their dims occur nowhere else.
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
                // `from` may lie beyond the last step, whose number is known only at run time.
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
