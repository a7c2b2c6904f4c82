//! `cp.async` of a thread: 4, 8 or 16 bytes.

use super::{
    super::{
        body::Body,
        error::{Result, internal},
        llvm::memory::pointee,
        op::Op,
    },
    mbarrier::from_generic,
    push,
};
use crate::program::{Instruction, Space};

pub(super) fn copy(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let bytes = match op.need_integer("size")? {
        size @ (4 | 8 | 16) => size as u8,
        other => return Err(internal(format!("expected 4, 8 or 16 bytes, got {other}"))),
    };
    let instruction = Instruction::CopyAsync {
        to: body.scalar(op, 0)?,
        from: body.scalar(op, 1)?,
        bytes,
        source_bytes: body.maybe(op, (op.operands() > 2).then_some(2))?,
        guard: None,
    };
    push(body, instruction)
}

pub(super) fn wait(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let pending = u32::try_from(op.need_integer("n")?).map_err(internal)?;
    push(
        body,
        Instruction::CopyAsyncWait {
            pending: Some(pending),
        },
    )
}

pub(super) fn arrive(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let mut address = body.scalar(op, 0)?;
    if pointee(op.operand_type(0)?)? == Space::Generic {
        address = from_generic(body, address);
    }
    push(
        body,
        Instruction::CopyAsyncArrive {
            address,
            counted: op.flag("noinc"),
        },
    )
}
