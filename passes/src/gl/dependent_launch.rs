//! `gl-dependent-launch`: a kernel that may start before the one ahead of it has ended waits before it touches memory, and lets
//! the one behind it start in time.
//!
//! Matches kernels whose `gl.launch` says `dependent_launch`. What the kernels ahead wrote, this one may read, and what they still
//! read, it may write; so every path waits before the first access to global memory, each partition of warps for itself. The
//! kernel behind may start when no more is to be read than what the last loop has read: its CTAs take the places that are left,
//! and wait in turn. A kernel without a loop has nothing to wait for with that.
//!
//! The wait is no barrier to ptxas for loads that it takes to be of constant memory (`ld.global.nc`), so `convert-gl-to-nvvm`
//! promises nothing of the parameters of such kernels.

use melior::ir::{BlockRef, OperationRef, RegionLike, operation::OperationLike};
use norma_dialects::{
    attributes::kernel,
    gl::{
        AsyncCopyOp, BulkLoadOp, BulkStoreOp, DrawTileOp, GridDependencyLaunchOp, GridDependencyWaitOp,
        LaunchAttr, LoadOp, StoreOp, TensorLoadOp, TensorStoreOp, WarpSpecializeOp,
    },
};

use crate::{
    mlir::{
        builder::Builder,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{GlDependentLaunch, GlDependentLaunchStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlDependentLaunch>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        let launch = function
            .attribute(kernel::LAUNCH)
            .ok()
            .and_then(LaunchAttr::from_attribute);
        if launch.is_some_and(LaunchAttr::dependent_launch) {
            wait(walk::entry_block(function)?)?;
            launch_dependents(walk::entry_block(function)?)?;
            cx.count(GlDependentLaunchStatistic::NumKernels, 1);
        }
    }
    Ok(())
}

/// Waits before the first op of a block that touches global memory.
fn wait<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let Some(first) = walk::in_block(block).into_iter().find(|op| touches_memory(*op)) else {
        return Ok(());
    };
    match WarpSpecializeOp::from_op(first) {
        Some(specialize) => {
            for partition in specialize.op().regions() {
                if let Some(body) = partition.first_block() {
                    wait(body)?;
                }
            }
        }
        None => {
            Builder::before(first).op(GridDependencyWaitOp::NAME, &[], &[]);
        }
    }
    Ok(())
}

/// Lets the kernel behind start after the last loop of a block, or at its start.
fn launch_dependents<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let ops = walk::in_block(block);
    let specialized = ops.iter().copied().find_map(WarpSpecializeOp::from_op);
    if let Some(body) = specialized.and_then(|specialize| specialize.op().region(0).ok()?.first_block()) {
        return launch_dependents(body);
    }
    // Threads that have ended count as having run it: partitions other than the first do without.
    let is_loop =
        |op: &&OperationRef<'c, 'a>| ["scf.for", "scf.while"].contains(&norma_dialects::op_name(**op));
    let builder = match ops.iter().rev().find(is_loop) {
        Some(last) => Builder::after(*last),
        None => match ops.first() {
            Some(first) => Builder::before(*first),
            None => return Ok(()),
        },
    };
    builder.op(GridDependencyLaunchOp::NAME, &[], &[]);
    Ok(())
}

/// Whether an op, or one within it, accesses global memory.
fn touches_memory(op: OperationRef<'_, '_>) -> bool {
    const NAMES: [&str; 8] = [
        DrawTileOp::NAME,
        LoadOp::NAME,
        StoreOp::NAME,
        AsyncCopyOp::NAME,
        BulkLoadOp::NAME,
        BulkStoreOp::NAME,
        TensorLoadOp::NAME,
        TensorStoreOp::NAME,
    ];
    walk::pre_order(op)
        .into_iter()
        .any(|nested| NAMES.contains(&norma_dialects::op_name(nested)))
}
