//! `norm-hoist-reads`: a kernel's reads are issued before anything waits for one of them.
//!
//! Matches a `norm.kernel` whose schedule has `early_reads`. A read depends on dims and numbers alone, and a kernel's buffers do not
//! overlap, but for results that overwrite an argument at the points that read it (`norm.may_alias`). So a read may stand anywhere
//! before its uses. At the start, what a later phase needs is under way while the first reduction waits. Its live range in registers
//! then begins at the start, which the schedule weighs. Reads keep their order.

use melior::ir::{BlockLike, OperationRef, RegionLike, operation::OperationLike};
use mlir_sys::mlirOperationMoveBefore;
use norma_dialects::norm::{KernelOp, ReadOp};

use crate::{
    mlir::{
        pass::{PassContext, PassResult},
        walk,
    },
    table::{NormHoistReads, NormHoistReadsStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormHoistReads>) -> PassResult<'c> {
    for kernel in walk::all(op, KernelOp::from_op) {
        if !kernel.schedule().is_some_and(|schedule| schedule.early_reads()) {
            continue;
        }
        let mut next = kernel
            .body()?
            .first_block()
            .and_then(|block| block.first_operation());
        let mut first_other = None;
        while let Some(op) = next {
            next = op.next_in_block();
            match (ReadOp::from_op(op), first_other) {
                (None, None) => first_other = Some(op),
                (Some(_), Some(other)) => {
                    // SAFETY: both ops are alive and stand in one block; a read's operands are the block's arguments.
                    unsafe { mlirOperationMoveBefore(op.to_raw(), other.to_raw()) };
                    cx.count(NormHoistReadsStatistic::NumHoisted, 1);
                }
                _ => {}
            }
        }
    }
    Ok(())
}
