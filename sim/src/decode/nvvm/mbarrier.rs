//! Mbarriers.

use super::{
    super::{
        body::Body,
        error::{Result, internal},
        llvm::memory::pointee,
        op::Op,
        shape::Scalar,
    },
    guard, push, relaxed,
};
use crate::{
    address::SHARED_WINDOW,
    program::{Instruction, IntegerOp, MbarrierOp, MemoryOrder, Register, Space, WaitKind},
};

/// The mbarrier of operand 0 and its memory. PTX requires a generic address to be one of the own CTA's shared memory.
fn place(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<(Space, Register)> {
    let address = body.scalar(op, 0)?;
    match pointee(op.operand_type(0)?)? {
        Space::Generic => Ok((Space::Shared, from_generic(body, address))),
        space @ (Space::Shared | Space::Cluster) => Ok((space, address)),
        other => Err(internal(format!(
            "expected an mbarrier in shared memory, got {other:?}"
        ))),
    }
}

/// Converts a generic address to a shared one.
pub(in super::super) fn from_generic(body: &mut Body<'_>, address: Register) -> Register {
    let window = body.constant(SHARED_WINDOW);
    body.integer(IntegerOp::Sub, 64, address, window)
}

fn releasing(op: &Op<'_, '_>) -> Result<MemoryOrder> {
    Ok(MemoryOrder {
        release: !op.flag("relaxed"),
        ..relaxed(op)?
    })
}

fn acquiring(op: &Op<'_, '_>) -> Result<MemoryOrder> {
    Ok(MemoryOrder {
        acquire: !op.flag("relaxed"),
        ..relaxed(op)?
    })
}

pub(super) fn init(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let (space, address) = place(op, body)?;
    let instruction = Instruction::Mbarrier {
        op: MbarrierOp::Init,
        space,
        address,
        count: Some(body.scalar(op, 1)?),
        transaction: None,
        state: None,
        order: MemoryOrder::default(),
        guard: guard(op, body, (op.operands() > 2).then_some(2))?,
    };
    push(body, instruction)
}

pub(super) fn invalidate(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let (space, address) = place(op, body)?;
    push(
        body,
        Instruction::Mbarrier {
            op: MbarrierOp::Invalidate,
            space,
            address,
            count: None,
            transaction: None,
            state: None,
            order: MemoryOrder::default(),
            guard: None,
        },
    )
}

pub(super) fn expect(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    transaction(op, body, MbarrierOp::ExpectTransaction)
}

pub(super) fn complete(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    transaction(op, body, MbarrierOp::CompleteTransaction)
}

/// `expect_tx` and `complete_tx`, which are relaxed (PTX ISA 8.8, "mbarrier.expect_tx").
fn transaction(op: &Op<'_, '_>, body: &mut Body<'_>, kind: MbarrierOp) -> Result<()> {
    let (space, address) = place(op, body)?;
    let instruction = Instruction::Mbarrier {
        op: kind,
        space,
        address,
        count: None,
        transaction: Some(body.scalar(op, 1)?),
        state: None,
        order: relaxed(op)?,
        guard: None,
    };
    push(body, instruction)
}

fn arrive_kind(drop: bool) -> MbarrierOp {
    if drop {
        MbarrierOp::ArriveDrop
    } else {
        MbarrierOp::Arrive
    }
}

/// The register of the phase state, if the op returns it.
fn state(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<Option<Register>> {
    match op.results() {
        0 => Ok(None),
        _ => body.scalar_result(op).map(Some),
    }
}

pub(super) fn arrive(op: &Op<'_, '_>, body: &mut Body<'_>, drop: bool) -> Result<()> {
    let (space, address) = place(op, body)?;
    let instruction = Instruction::Mbarrier {
        op: arrive_kind(drop),
        space,
        address,
        count: body.maybe(op, (op.operands() > 1).then_some(1))?,
        transaction: None,
        state: state(op, body)?,
        order: releasing(op)?,
        guard: None,
    };
    push(body, instruction)
}

pub(super) fn arrive_expecting(op: &Op<'_, '_>, body: &mut Body<'_>, drop: bool) -> Result<()> {
    let (space, address) = place(op, body)?;
    let instruction = Instruction::Mbarrier {
        op: arrive_kind(drop),
        space,
        address,
        count: None,
        transaction: Some(body.scalar(op, 1)?),
        state: state(op, body)?,
        order: releasing(op)?,
        guard: guard(op, body, (op.operands() > 2).then_some(2))?,
    };
    push(body, instruction)
}

pub(super) fn test(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    poll(op, body, WaitKind::Test)
}

pub(super) fn try_wait(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    poll(op, body, WaitKind::Try)
}

/// A test of a phase, given by the state that an arrival returned (i64) or by a parity (i32).
fn poll(op: &Op<'_, '_>, body: &mut Body<'_>, kind: WaitKind) -> Result<()> {
    let (_, address) = place(op, body)?;
    let instruction = Instruction::MbarrierWait {
        kind,
        address,
        phase: body.scalar(op, 1)?,
        parity: Scalar::of(op.operand_type(1)?)? == Scalar::Integer(32),
        to: Some(body.scalar_result(op)?),
        order: acquiring(op)?,
    };
    push(body, instruction)
}

/// `nvvm.mbarrier.try_wait.parity`, which waits until the phase has completed.
pub(super) fn wait(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let (_, address) = place(op, body)?;
    let instruction = Instruction::MbarrierWait {
        kind: WaitKind::Loop,
        address,
        phase: body.scalar(op, 1)?,
        parity: true,
        to: None,
        order: acquiring(op)?,
    };
    push(body, instruction)
}
