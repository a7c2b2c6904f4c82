//! `gl-dependent-launch` (programmatic dependent launch): a kernel that may start before the preceding one has ended waits for
//! it before it touches global memory, and lets the following kernel start early.
//!
//! Matches kernels whose `gl.launch` says `dependent_launch`, and those that a function launches ahead of them. A dependent launch may read
//! what the preceding kernels wrote, and write what they still read; so every path waits before its first access to global memory, each
//! partition of warps for itself, unless a producer releases it ([`released`]). Both kinds of kernels let the following kernel start once
//! their last loop has ended, when they have little left to read: CTAs of the following kernel then take the places of CTAs that end, and
//! wait there. A kernel without a loop lets it start at once.
//!
//! ptxas may move loads that it takes to be of constant memory (`ld.global.nc`) ahead of the wait, so `convert-gl-to-nvvm`
//! marks no parameter of such kernels `noalias` or `readonly`.

mod released;

use std::collections::HashSet;

use melior::ir::{BlockRef, OperationRef, RegionLike, operation::OperationLike};
use norma_dialects::{
    gl::{GridDependencyLaunchOp, GridDependencyWaitOp, LaunchAttr, MBarrierExpectOp, WarpSpecializeOp},
    symbol_name,
};

use crate::{
    gl::{global_memory, launch},
    kernel::launch_order::LaunchOrder,
    mlir::{
        builder::Builder,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{GlDependentLaunch, GlDependentLaunchStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlDependentLaunch>) -> PassResult<'c> {
    let order = LaunchOrder::of(op);
    let functions = walk::named(op, "gpu.func");
    let is_dependent =
        |function: &OperationRef<'c, '_>| launch::of(*function).is_some_and(LaunchAttr::dependent_launch);
    let dependent = functions.iter().filter(|function| is_dependent(function));
    let dependent = dependent.filter_map(|function| symbol_name(*function));
    let dependent = dependent.collect::<HashSet<_>>();
    for function in functions {
        let body = walk::entry_block(function)?;
        if is_dependent(&function) {
            wait(body)?;
            cx.count(GlDependentLaunchStatistic::NumKernels, 1);
        }
        let mut behind = symbol_name(function)
            .into_iter()
            .flat_map(|kernel| order.behind(kernel));
        if is_dependent(&function) || behind.any(|kernel| dependent.contains(kernel)) {
            launch_dependents(body)?;
        }
    }
    Ok(())
}

/// Inserts a wait before the first op of a block that touches global memory or expects something from there, or into each
/// partition that needs one if that op is `gl.warp_specialize`.
fn wait<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let ops = walk::in_block(block);
    if !ops.iter().copied().any(global_memory::touches) {
        return Ok(());
    }
    let expects = |op| !walk::named(op, MBarrierExpectOp::NAME).is_empty();
    let Some(first) = ops
        .into_iter()
        .find(|op| global_memory::touches(*op) || expects(*op))
    else {
        return Ok(());
    };
    match WarpSpecializeOp::from_op(first) {
        Some(specialize) => {
            for (index, partition) in specialize.op().regions().enumerate() {
                match partition.first_block() {
                    Some(body) if !released::is_released(specialize, index) => wait(body)?,
                    _ => {}
                }
            }
        }
        None => {
            Builder::before(first).op(GridDependencyWaitOp::NAME, &[], &[]);
        }
    }
    Ok(())
}

/// Lets the following kernel start after the last loop of a block, or at the block's start if it has none.
fn launch_dependents<'c: 'a, 'a>(block: BlockRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let ops = walk::in_block(block);
    let specialized = ops.iter().copied().find_map(WarpSpecializeOp::from_op);
    if let Some(body) = specialized.and_then(|specialize| specialize.op().region(0).ok()?.first_block()) {
        return launch_dependents(body);
    }
    // The first invocation by a thread counts for its CTA, and others have no effect (PTX ISA, `griddepcontrol`): one partition is enough.
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
