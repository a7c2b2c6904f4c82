//! Whether a partition of warps learns at an mbarrier that the preceding kernels have ended: a later one waits for them, and releases
//! it there.
//!
//! One thread's wait is enough for the whole grid: the memory operations of the preceding kernels are then performed and visible
//! to it (PTX ISA, `griddepcontrol`). A producer waits before it expects bytes at an mbarrier or draws a tile, and its arrival
//! there releases what it has observed to the threads that wait at the mbarrier. So what they access behind such a wait needs no
//! other.

use std::collections::HashSet;

use melior::ir::{BlockRef, OperationRef, RegionLike, operation::OperationLike};
use norma_dialects::gl::{AwaitTileOp, DrawTileOp, MBarrierExpectOp, MBarrierWaitOp, WarpSpecializeOp};

use crate::{
    gl::global_memory,
    mlir::{values::key, walk},
};

/// Whether every access of partition `index` to global memory comes after a wait at an mbarrier at which a later partition
/// arrives.
pub(super) fn is_released(specialize: WarpSpecializeOp<'_, '_>, index: usize) -> bool {
    let op = specialize.op();
    let mut partitions = op.regions().skip(index);
    let body = partitions.next().and_then(|body| body.first_block());
    let later = partitions.filter_map(|partition| partition.first_block());
    let ops = later.flat_map(walk::in_block).flat_map(walk::pre_order);
    let releasing = ops.filter_map(released_at).collect();
    body.is_some_and(|body| is_behind_waits(body, &releasing))
}

/// Whether every access in a block comes after a wait in the same block, or in one around the access, at an mbarrier of `releasing`.
fn is_behind_waits(block: BlockRef<'_, '_>, releasing: &HashSet<usize>) -> bool {
    for op in walk::in_block(block) {
        if waited_at(op).is_some_and(|mbarrier| releasing.contains(&mbarrier)) {
            return true;
        }
        let mut blocks = op.regions().filter_map(|region| region.first_block()).peekable();
        let is_structured = blocks.peek().is_some();
        let is_behind = is_structured && blocks.all(|nested| is_behind_waits(nested, releasing));
        if global_memory::touches(op) && !is_behind {
            return false;
        }
    }
    true
}

/// The mbarrier at which a thread arrives that waits for the preceding kernels before.
fn released_at(op: OperationRef<'_, '_>) -> Option<usize> {
    let expected = MBarrierExpectOp::from_op(op).map(MBarrierExpectOp::barriers);
    let drawn = DrawTileOp::from_op(op).map(DrawTileOp::drawn);
    expected.or(drawn)?.ok().map(key)
}

/// The mbarrier that an op waits at.
fn waited_at(op: OperationRef<'_, '_>) -> Option<usize> {
    let waited = MBarrierWaitOp::from_op(op).map(MBarrierWaitOp::barriers);
    let drawn = AwaitTileOp::from_op(op).map(AwaitTileOp::drawn);
    waited.or(drawn)?.ok().map(key)
}
