//! Bulk copies of a box of a tensor, in tile mode.

use super::{
    super::{
        body::Body,
        error::{Result, unsupported},
        op::Op,
    },
    bulk::place,
    guard, push,
};
use crate::program::{Completion, Instruction, Register};

/// The coordinates in segment `segment`, innermost first.
fn coordinates(op: &Op<'_, '_>, body: &Body<'_>, segment: usize) -> Result<Vec<Register>> {
    op.segment(segment)?.map(|index| body.scalar(op, index)).collect()
}

/// Segments: destination, map, coordinates, mbarrier, im2col offsets, multicast mask, cache hint, predicate.
pub(super) fn load(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    op.only("mode", "tile")?;
    if op.attribute("group").is_some() {
        return Err(unsupported("has a cta_group, which is not modelled"));
    }
    let instruction = Instruction::TensorCopy {
        map: body.scalar(op, 1)?,
        coordinates: coordinates(op, body, 2)?,
        shared: place(op, body, 0)?,
        store: false,
        completion: Completion::Mbarrier(body.scalar(op, op.segment(3)?.start)?),
        multicast: body.maybe(op, op.optional(5)?)?,
        reduce: None,
        guard: guard(op, body, op.optional(7)?)?,
    };
    push(body, instruction)
}

/// Segments: map, source, coordinates, cache hint, predicate.
pub(super) fn store(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    op.only("mode", "tile")?;
    let instruction = Instruction::TensorCopy {
        map: body.scalar(op, 0)?,
        coordinates: coordinates(op, body, 2)?,
        shared: place(op, body, 1)?,
        store: true,
        completion: Completion::Group,
        multicast: None,
        reduce: None,
        guard: guard(op, body, op.optional(4)?)?,
    };
    push(body, instruction)
}

/// A prefetch of a box into L2, which names only the tensor map.
pub(super) fn prefetch(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    op.only("mode", "tile")?;
    let address = body.scalar(op, 0)?;
    push(body, Instruction::Prefetch { address })
}
