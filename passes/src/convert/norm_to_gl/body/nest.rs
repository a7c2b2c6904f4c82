//! Emits loops: one `scf.for` for the steps that need no guard, and one each for the steps before and behind these
//! ([`super::peel`]). Steps whose tiles are held are emitted one by one before the loops ([`super::held`]).
//!
//! A reduction over the loop carries its running total as a tile whose axes within a thread have been reduced already; the
//! threads' totals are combined once, behind the loop. The running total of a scan is passed to all threads in each step.

use melior::ir::{BlockLike, Location, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::{ReduceOp, ScanOp};

use crate::{
    kernel::nests::Nest,
    mlir::{pass::PassError, region, walk},
};

use super::{Body, Carried, peel::Peeling};

/// A number of steps.
#[derive(Clone, Copy)]
pub(super) enum Bound<'c, 'a> {
    Known(i64),
    /// Of type index.
    Value(Value<'c, 'a>),
}

/// Steps that are emitted together.
enum Steps<'c, 'a> {
    /// The step of this number, by itself.
    Held(i64),
    /// The steps from one number to before another one, in a loop.
    Loop(Bound<'c, 'a>, Bound<'c, 'a>),
}

/// A part of a loop's steps, and the guards that hold for the whole tile in all of them.
struct Part<'c, 'a> {
    steps: Steps<'c, 'a>,
    holding: Vec<usize>,
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

        let peeling = self.peel(nest.dim, steps)?;
        let held = self.count_held(nest, steps);
        let mut parts = self.parts(peeling.as_ref(), steps, held);
        if self.is_reversed(nest) {
            parts.reverse();
        }
        let visited = self.nests_visited.clone();
        let before = self.known_guards.clone();
        for part in parts {
            self.nests_visited.clone_from(&visited);
            self.known_guards.extend(part.holding);
            match part.steps {
                Steps::Held(step) => self.held_step(nest, step)?,
                Steps::Loop(lower, upper) => self.steps(nest, lower, upper, location)?,
            }
            self.known_guards.clone_from(&before);
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

    /// The parts that a loop is emitted as: each of its `held` first steps by itself, and loops behind these, for the steps before those
    /// in which the guards hold for the whole tile, for these steps, and for those behind them ([`tail`]).
    fn parts(&self, peeling: Option<&Peeling<'c, 'a>>, steps: Bound<'c, 'a>, held: i64) -> Vec<Part<'c, 'a>> {
        let known = |bound| match bound {
            Bound::Known(count) => Some(count),
            Bound::Value(_) => None,
        };
        let mut parts = Vec::new();
        for step in 0..held {
            let mut holding = Vec::new();
            if let Some(peeling) = peeling {
                if step >= peeling.from {
                    holding.extend(&peeling.of_head);
                }
                if known(peeling.full).is_some_and(|full| step < full) {
                    holding.extend(&peeling.of_tail);
                }
            }
            parts.push(Part {
                steps: Steps::Held(step),
                holding,
            });
        }
        let mut add = |lower, upper, holding| {
            let steps = Steps::Loop(lower, upper);
            parts.push(Part { steps, holding });
        };
        let first = Bound::Known(held);
        let Some(peeling) = peeling else {
            if held == 0 || known(steps) != Some(held) {
                add(first, steps, Vec::new());
            }
            return parts;
        };
        let from = Bound::Known(peeling.from.max(held));
        let full = match known(from) {
            Some(0) => peeling.full,
            _ => self.greatest(from, peeling.full),
        };
        if peeling.from > held {
            let is_long = known(peeling.full).is_some_and(|full| full >= peeling.from);
            let holding = if is_long {
                peeling.of_tail.clone()
            } else {
                Vec::new()
            };
            add(first, from, holding);
        }
        if known(full) != known(from) {
            let holding = [peeling.of_head.as_slice(), &peeling.of_tail].concat();
            add(from, full, holding);
        }
        let is_whole = known(full).is_some() && known(full) == known(steps);
        if peeling.has_tail && !is_whole {
            for (lower, upper) in tail(full, steps) {
                add(lower, upper, peeling.of_head.clone());
            }
        }
        parts
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

    pub(super) fn bound(&self, bound: Bound<'c, 'a>) -> Value<'c, 'a> {
        match bound {
            Bound::Known(count) => self.b.index(count),
            Bound::Value(value) => value,
        }
    }

    pub(super) fn least(&self, one: Bound<'c, 'a>, other: Bound<'c, 'a>) -> Bound<'c, 'a> {
        self.extreme("arith.minsi", i64::min, one, other)
    }

    pub(super) fn greatest(&self, one: Bound<'c, 'a>, other: Bound<'c, 'a>) -> Bound<'c, 'a> {
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

/// The loops for the steps from `full` on, in which guards mask off points behind the last one: one for each step where these are two.
/// Rows whose alignment differs end in either of two steps if their longest one ends just behind the first of these. In a loop over
/// both, no vector of either would be known to be whole. Softmax over 4095 columns, which end in the second or third step of 2048, reaches
/// 2057 GB/s with such a loop, and over 4097, which all end in the third step, 3204 (H200).
fn tail<'c, 'a>(full: Bound<'c, 'a>, steps: Bound<'c, 'a>) -> Vec<(Bound<'c, 'a>, Bound<'c, 'a>)> {
    match (full, steps) {
        (Bound::Known(full), Bound::Known(steps)) if steps - full == 2 => {
            let bounds = [full, full + 1, steps].map(Bound::Known);
            vec![(bounds[0], bounds[1]), (bounds[1], bounds[2])]
        }
        (full, steps) => vec![(full, steps)],
    }
}
