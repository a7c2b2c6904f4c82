//! Which steps of a loop need no guards (loop peeling).

use melior::ir::{AffineExpr, Type, Value};

use crate::{
    gl::quotient_form::QuotientForm,
    mlir::{pass::PassError, values::key},
};

use super::{super::placement::Place, Body, nest::Bound};

/// The steps of a loop in which its guards hold for the whole tile.
pub(super) struct Peeling<'c, 'a> {
    /// The guards that hold from step `from` on: they mask off points before the first one.
    pub of_head: Vec<usize>,
    pub from: i64,
    /// The guards that hold until step `full`: they mask off points behind the last one.
    pub of_tail: Vec<usize>,
    pub full: Bound<'c, 'a>,
    /// Whether the steps from `full` on have any points.
    pub has_tail: bool,
}

/// In which steps a guard holds for the whole tile.
enum Holds<'c, 'a> {
    /// In all from this one on.
    From(i64),
    /// In the first ones.
    Until {
        /// How many these are.
        full: Bound<'c, 'a>,
        /// Whether it holds for a part of the tile in the steps behind these.
        has_tail: bool,
    },
}

/// A guard `step * j + scalars + others < limit` of a loop over steps j.
struct LinearGuard<'c, 'a> {
    /// The factor of the step's number, not 0.
    step: i64,
    /// Coordinates of the grid and of loops around this one, each times a factor.
    scalars: Vec<(Value<'c, 'a>, i64)>,
    /// The largest value of `others` at the tile's first point, with every remainder in it at its largest.
    first: i64,
    /// The largest value of `others` at any point of the tile.
    greatest: i64,
    /// The limit, over sizes.
    limit: AffineExpr<'c>,
}

impl LinearGuard<'_, '_> {
    /// The limit, if the guard depends on nothing but the step and the point of the tile.
    fn constant_limit(&self) -> Option<i64> {
        let is_constant = self.scalars.is_empty() && self.limit.is_constant();
        is_constant.then(|| self.limit.constant_value())
    }
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    /// The steps of a loop over `dim` in which its guards hold at every point of the tile; `None` if no guard can be removed.
    pub(super) fn peel(
        &mut self,
        dim: usize,
        steps: Bound<'c, 'a>,
    ) -> Result<Option<Peeling<'c, 'a>>, PassError<'c>> {
        let mut peeling = Peeling {
            of_head: Vec::new(),
            from: 0,
            of_tail: Vec::new(),
            full: steps,
            has_tail: false,
        };
        for position in 0..self.space.guards.len() {
            if self.known_guards.contains(&position) {
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

    /// The steps of a loop over `dim` in which a guard holds for the whole tile. `None` if it is not linear in the step, or if the
    /// steps cannot be told from each other at compile time.
    fn full_steps(
        &mut self,
        guard: usize,
        dim: usize,
        steps: Bound<'c, 'a>,
    ) -> Result<Option<Holds<'c, 'a>>, PassError<'c>> {
        let Some(guard) = self.linear_guard(guard, dim) else {
            return Ok(None);
        };
        if guard.step < 0 {
            let Some(limit) = guard.constant_limit() else {
                return Ok(None);
            };
            // The first step in which `greatest - |step| * j` is below the limit.
            let above = (guard.greatest - limit + 1).max(0);
            let from = above.unsigned_abs().div_ceil(guard.step.unsigned_abs()) as i64;
            return Ok(match steps {
                Bound::Known(steps) => Some(Holds::From(from.min(steps))),
                // `from` may lie beyond the last step, whose number is known only at run time.
                Bound::Value(_) => None,
            });
        }
        let full = match (steps, guard.constant_limit()) {
            (Bound::Known(steps), Some(limit)) => {
                let room = (limit - guard.greatest).max(0);
                let full = room.unsigned_abs().div_ceil(guard.step.unsigned_abs()) as i64;
                Bound::Known(full.min(steps))
            }
            _ => {
                let full = self.count_full_steps(&guard)?;
                self.least(Bound::Value(full), steps)
            }
        };
        Ok(Some(Holds::Until {
            full,
            has_tail: guard.greatest > guard.first,
        }))
    }

    /// A guard of a loop over `dim` in linear form. `None` if it has none, or if a loop that is not open decides on it.
    fn linear_guard(&self, guard: usize, dim: usize) -> Option<LinearGuard<'c, 'a>> {
        let [lhs, limit] = self.space.guards[guard];
        let num_dims = self.space.dims.len();
        if (0..num_dims).any(|dim| limit.is_function_of_dim(dim)) {
            return None;
        }
        let mut form = QuotientForm::of(lhs, num_dims, self.space.sizes.len())?;
        // The most that remainders add; their dims occur nowhere else.
        let mut of_remainders = 0;
        while let Some((factor, remainder)) = form.take_remainder(num_dims) {
            let of_tile = |dim: usize| matches!(self.placement.place(dim), Place::Tile(_));
            let mut dims = remainder.numerator.dims.iter().enumerate();
            if dims.any(|(other, factor)| *factor != 0 && (other == dim || of_tile(other))) {
                return None;
            }
            of_remainders += factor.max(0) * (remainder.divisor - 1);
        }
        let step = form.dims[dim];
        if step == 0 || !form.quotients.is_empty() || form.symbols.iter().any(|factor| *factor != 0) {
            return None;
        }
        let first = form.constant + of_remainders;
        let mut greatest = first;
        let mut scalars = Vec::new();
        for (other, factor) in form.dims.iter().copied().enumerate() {
            if factor == 0 || other == dim {
                continue;
            }
            match self.placement.place(other) {
                Place::Tile(axis) => greatest += factor.max(0) * (self.placement.tile_shape()[axis] - 1),
                Place::Grid | Place::Loop => {
                    let coordinate = self.values.get(&key(self.space.dims[other]))?;
                    scalars.push((coordinate.value, factor));
                }
            }
        }
        Some(LinearGuard {
            step,
            scalars,
            first,
            greatest,
            limit,
        })
    }

    /// Computes the number of steps in which a guard whose step is positive holds for the whole tile, an index.
    fn count_full_steps(&mut self, guard: &LinearGuard<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let index = Type::index(self.b.context());
        let mut room = self.size_expression(guard.limit)?;
        for (coordinate, factor) in &guard.scalars {
            let moved = match factor {
                1 => *coordinate,
                factor => self
                    .b
                    .value("arith.muli", &[*coordinate, self.b.index(*factor)], index),
            };
            room = self.b.value("arith.subi", &[room, moved], index);
        }
        if guard.greatest != 0 {
            let greatest = self.b.index(guard.greatest);
            room = self.b.value("arith.subi", &[room, greatest], index);
        }
        let room = self.b.value("arith.maxsi", &[room, self.b.index(0)], index);
        Ok(match guard.step {
            1 => room,
            step => self.divide_up(room, self.b.index(step)),
        })
    }
}
