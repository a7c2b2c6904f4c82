//! Branches and ends.

use super::{
    super::error::{Result, unsupported},
    assembly::{Assembly, operands},
    qualifiers::Qualifiers,
    statement::Operand,
};
use crate::program::{Edge, Instruction};

pub(super) fn branch(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    q.take("uni");
    q.done()?;
    let [Operand::Name(name)] = found else {
        return Err(operands(found));
    };
    let edge = |target| Edge {
        target,
        moves: Vec::new(),
    };
    let taken = edge(asm.label(name));
    let Some(guard) = asm.guard() else {
        return asm.push(Instruction::Branch(taken));
    };
    let next = asm.body.label();
    let (yes, no) = if guard.negated {
        (edge(next), taken)
    } else {
        (taken, edge(next))
    };
    asm.push(Instruction::ConditionalBranch {
        condition: guard.register,
        yes,
        no,
    })?;
    asm.body.place(next);
    Ok(())
}

pub(super) fn end(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>) -> Result<()> {
    if q.root() == "ret" {
        return Err(unsupported("is not modelled within a function"));
    }
    q.done()?;
    asm.push(Instruction::Return)
}

pub(super) fn trap(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>) -> Result<()> {
    q.done()?;
    asm.push(Instruction::Trap)
}
