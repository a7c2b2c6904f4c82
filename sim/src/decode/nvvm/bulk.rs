//! Bulk copies of one piece of memory. Cache hints change nothing that can be observed.

use super::{
    super::{
        body::Body,
        error::{Result, internal, unsupported},
        llvm::memory::pointee,
        op::Op,
    },
    push,
};
use crate::program::{BulkPlace, Completion, Instruction};

/// The memory that operand `index` points to.
pub(super) fn place(op: &Op<'_, '_>, body: &Body<'_>, index: usize) -> Result<BulkPlace> {
    Ok(BulkPlace {
        space: pointee(op.operand_type(index)?)?,
        address: body.scalar(op, index)?,
    })
}

/// Operands: destination, source, mbarrier, size; multicast mask and cache hint are optional.
pub(super) fn global_to_shared(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let instruction = Instruction::BulkCopy {
        destination: place(op, body, 0)?,
        source: place(op, body, 1)?,
        bytes: body.scalar(op, 3)?,
        completion: Completion::Mbarrier(body.scalar(op, 2)?),
        multicast: body.maybe(op, op.optional(4)?)?,
        reduce: None,
        guard: None,
    };
    push(body, instruction)
}

/// Operands: destination, source, size; cache hint and byte mask are optional.
pub(super) fn shared_to_global(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    if op.optional(4)?.is_some() {
        return Err(unsupported("has a byte mask, which is not modelled"));
    }
    let instruction = Instruction::BulkCopy {
        destination: place(op, body, 0)?,
        source: place(op, body, 1)?,
        bytes: body.scalar(op, 2)?,
        completion: Completion::Group,
        multicast: None,
        reduce: None,
        guard: None,
    };
    push(body, instruction)
}

/// Operands: destination, source, mbarrier, size.
pub(super) fn shared_to_cluster(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let instruction = Instruction::BulkCopy {
        destination: place(op, body, 0)?,
        source: place(op, body, 1)?,
        bytes: body.scalar(op, 3)?,
        completion: Completion::Mbarrier(body.scalar(op, 2)?),
        multicast: None,
        reduce: None,
        guard: None,
    };
    push(body, instruction)
}

/// A prefetch into L2.
pub(super) fn prefetch(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let address = body.scalar(op, 0)?;
    push(body, Instruction::Prefetch { address })
}

pub(super) fn wait(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let pending = u32::try_from(op.need_integer("group")?).map_err(internal)?;
    push(
        body,
        Instruction::BulkWait {
            pending,
            read: op.flag("read"),
        },
    )
}
