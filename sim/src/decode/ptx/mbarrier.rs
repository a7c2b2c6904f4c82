//! `mbarrier.*`.

use super::{
    super::{
        error::{Result, unsupported},
        nvvm::mbarrier::from_generic,
    },
    assembly::{Assembly, B32, B64, operands},
    qualifiers::Qualifiers,
    statement::Operand,
};
use crate::program::{Instruction, MbarrierOp, MemoryOrder, Register, Space, WaitKind};

pub(super) fn mbarrier(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    let waits = q.one_of(&[("test_wait", WaitKind::Test), ("try_wait", WaitKind::Try)]);
    if let Some(kind) = waits {
        return wait(asm, q, found, kind);
    }
    let op = q.one_of(&[
        ("init", MbarrierOp::Init),
        ("inval", MbarrierOp::Invalidate),
        ("arrive", MbarrierOp::Arrive),
        ("arrive_drop", MbarrierOp::ArriveDrop),
    ]);
    let expects = q.take("expect_tx");
    let op = match op {
        Some(op) => op,
        None if expects => MbarrierOp::ExpectTransaction,
        None if q.take("complete_tx") => MbarrierOp::CompleteTransaction,
        None => return Err(unsupported("is not modelled")),
    };
    let arrives = matches!(op, MbarrierOp::Arrive | MbarrierOp::ArriveDrop);
    q.take("noComplete");
    let order = order(q, arrives, false);
    let space = q.space();
    q.take("b64");
    q.done()?;
    let (state, address, last) = match (found, arrives) {
        ([address], false) => (None, address, None),
        ([address, last], false) => (None, address, Some(last)),
        // An arrival at another CTA's mbarrier returns no state; the operand may be written as `_` or left out.
        ([address @ Operand::Address(..)], true) => (None, address, None),
        ([address @ Operand::Address(..), last], true) => (None, address, Some(last)),
        ([state, address], true) => (Some(state), address, None),
        ([state, address, last], true) => (Some(state), address, Some(last)),
        _ => return Err(operands(found)),
    };
    let (space, address) = place(asm, space, address)?;
    let state = match state {
        Some(Operand::Name(name)) if name == "_" => None,
        Some(state) => Some(asm.destination(state)?),
        None => None,
    };
    let last = last.map(|last| asm.source(last, B32)).transpose()?;
    let transacts = expects || op == MbarrierOp::CompleteTransaction;
    let (count, transaction) = if transacts { (None, last) } else { (last, None) };
    let guard = asm.guard();
    asm.push(Instruction::Mbarrier {
        op,
        space,
        address,
        count,
        transaction,
        state,
        order,
        guard,
    })
}

/// Takes order and scope; unless stated otherwise, arrivals release and waits acquire, at CTA scope.
fn order(q: &mut Qualifiers<'_>, releases: bool, acquires: bool) -> MemoryOrder {
    let relaxed = q.take("relaxed");
    q.take("release");
    q.take("acquire");
    MemoryOrder {
        release: releases && !relaxed,
        acquire: acquires && !relaxed,
        strong: true,
        cta: q.scope().unwrap_or(true),
    }
}

fn place(asm: &mut Assembly<'_, '_>, space: Space, operand: &Operand) -> Result<(Space, Register)> {
    let address = asm.address(operand)?;
    Ok(match space {
        Space::Generic => (Space::Shared, from_generic(asm.body, address)),
        space => (space, address),
    })
}

/// `test_wait` and `try_wait`; a time limit after the phase changes nothing that may be relied on.
fn wait(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand], kind: WaitKind) -> Result<()> {
    let parity = q.take("parity");
    let order = order(q, false, true);
    let space = q.space();
    q.take("b64");
    q.done()?;
    let (to, address, phase) = match found {
        [to, address, phase] => (to, address, phase),
        [to, address, phase, _limit] if kind == WaitKind::Try => (to, address, phase),
        _ => return Err(operands(found)),
    };
    let (_, address) = place(asm, space, address)?;
    let phase = asm.source(phase, if parity { B32 } else { B64 })?;
    let to = asm.destination(to)?;
    asm.push(Instruction::MbarrierWait {
        kind,
        address,
        phase,
        parity,
        to: Some(to),
        order,
    })
}
