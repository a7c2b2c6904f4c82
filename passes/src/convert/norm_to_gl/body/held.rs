//! Tiles that stay in registers from the first loop over a row to the later ones: those of the loops' first steps (`held_steps`).
//!
//! These steps are peeled off each loop that reads again what another one reads. The first of the loops loads their tiles, the later
//! ones take what it has loaded. Steps keep their order, so that sums are the same bits as without held tiles. Held tiles are read once,
//! which is always right: an element that a result may be written over is read for the last time at the point that writes it.
//!
//! A held step is taken even if a dynamic extent turns out to have fewer steps: guards mask all of its points then.

use melior::ir::ValueLike;
use norma_dialects::{gl::OptimizationBarrierOp, norm::ReadOp};

use crate::{
    kernel::nests::{Item, Nest},
    mlir::pass::{PassError, PassResult},
};

use super::{super::placement::Place, Body, Translated, nest::Bound};

/// A step that is peeled off a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct HeldStep {
    dim: usize,
    number: i64,
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    /// How many steps are peeled off a loop of so many `steps`.
    pub(super) fn count_held(&self, nest: &Nest, steps: Bound<'c, 'a>) -> i64 {
        let mut dims = 0..self.space.dims.len();
        let is_only_loop = dims.all(|dim| dim == nest.dim || self.placement.place(dim) != Place::Loop);
        match steps {
            // Within another loop a held tile would not be there for the loops behind it.
            _ if !is_only_loop || !self.reads_again(nest) => 0,
            Bound::Known(steps) => steps.min(self.mapping.held_steps),
            Bound::Value(_) => self.mapping.held_steps,
        }
    }

    /// Whether a loop reads what another one reads too, at places that differ from step to step.
    fn reads_again(&self, nest: &Nest) -> bool {
        nest.body.iter().any(|item| match item {
            Item::Op(position) => self.is_read_by_several(*position, nest.dim),
            Item::Loop(_) => false,
        })
    }

    fn is_read_by_several(&self, position: usize, dim: usize) -> bool {
        let op = self.space.ops[position];
        let access = self.space.access(op).ok().flatten();
        self.nests_of[position] > 1
            && ReadOp::from_op(op).is_some()
            && access.is_some_and(|access| access.dims().contains(&dim))
    }

    /// Emits a step of a loop by itself.
    pub(super) fn held_step(&mut self, nest: &Nest, number: i64) -> PassResult<'c> {
        let outside = self.values.clone();
        let step = self.b.index(number);
        self.define_coordinate(nest.dim, step);
        self.held_step = Some(HeldStep {
            dim: nest.dim,
            number,
        });
        self.items(&nest.body)?;
        self.held_step = None;
        self.values = outside;
        Ok(())
    }

    /// The number of the step that is being emitted, if the tile of the read at `position` is held from there on.
    pub(super) fn holds(&self, position: usize) -> Option<i64> {
        let step = self.held_step?;
        self.is_read_by_several(position, step.dim).then_some(step.number)
    }

    /// The tile that an earlier loop has left for the read at `position` in a step. Each loop gets a value of its own, as with
    /// `norm.cache`: if it were the same value, conversions of it in two loops would be merged, and the wider elements held instead.
    pub(super) fn held_tile(
        &mut self,
        position: usize,
        step: i64,
    ) -> Result<Option<Translated<'c, 'a>>, PassError<'c>> {
        let Some(held) = self.held.get_mut(&(position, step)) else {
            return Ok(None);
        };
        if held.axes != 0 {
            let ty = held.value.r#type();
            held.value = self.b.value(OptimizationBarrierOp::NAME, &[held.value], ty);
        }
        Ok(Some(*held))
    }
}
