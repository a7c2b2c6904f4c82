//! Operations of a warp, and `mapa`.

use super::{
    super::{
        error::{Result, unsupported},
        nvvm::mbarrier::from_generic,
    },
    assembly::{Assembly, B32, B64, PREDICATE, operands},
    qualifiers::{Kind, Qualifiers},
    statement::Operand,
};
use crate::{
    address::SHARED_WINDOW,
    program::{
        Format, Instruction, IntegerOp, IntegerPredicate, Register, ShuffleKind, Space, VoteKind,
        WarpReduceOp,
    },
};

/// A result, or a result and a predicate.
fn pair(asm: &mut Assembly<'_, '_>, operand: &Operand) -> Result<(Register, Option<Register>)> {
    match operand {
        Operand::Pair(to, predicate) => Ok((asm.destination(to)?, Some(asm.destination(predicate)?))),
        to => Ok((asm.destination(to)?, None)),
    }
}

pub(super) fn shuffle(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    if !q.take("sync") {
        return Err(unsupported("is only modelled with .sync"));
    }
    let kind = q
        .one_of(&[
            ("bfly", ShuffleKind::Butterfly),
            ("up", ShuffleKind::Up),
            ("down", ShuffleKind::Down),
            ("idx", ShuffleKind::Index),
        ])
        .ok_or_else(|| unsupported("has no mode that is modelled"))?;
    let ty = q.ty()?;
    q.done()?;
    let [to, value, offset, clamp, mask] = found else {
        return Err(operands(found));
    };
    let value = asm.source(value, ty)?;
    let (offset, clamp, mask) = (
        asm.source(offset, B32)?,
        asm.source(clamp, B32)?,
        asm.source(mask, B32)?,
    );
    let (to, in_range) = pair(asm, to)?;
    asm.push(Instruction::Shuffle {
        kind,
        to,
        in_range,
        mask,
        value,
        offset,
        clamp,
    })
}

pub(super) fn vote(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    if !q.take("sync") {
        return Err(unsupported("is only modelled with .sync"));
    }
    let kind = q
        .one_of(&[
            ("all", VoteKind::All),
            ("any", VoteKind::Any),
            ("uni", VoteKind::Uniform),
            ("ballot", VoteKind::Ballot),
        ])
        .ok_or_else(|| unsupported("has no mode that is modelled"))?;
    q.ty()?;
    q.done()?;
    let [to, value, mask] = found else {
        return Err(operands(found));
    };
    let (value, mask) = (asm.source(value, PREDICATE)?, asm.source(mask, B32)?);
    let to = asm.destination(to)?;
    asm.push(Instruction::Vote {
        kind,
        to,
        mask,
        value,
    })
}

pub(super) fn matching(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    q.take("sync");
    let kind = q
        .one_of(&[("any", VoteKind::MatchAny), ("all", VoteKind::MatchAll)])
        .ok_or_else(|| unsupported("has no mode that is modelled"))?;
    let ty = q.ty()?;
    q.done()?;
    let [to, value, mask] = found else {
        return Err(operands(found));
    };
    let (value, mask) = (asm.source(value, ty)?, asm.source(mask, B32)?);
    let (to, predicate) = pair(asm, to)?;
    asm.push(Instruction::Vote {
        kind,
        to,
        mask,
        value,
    })?;
    if let Some(predicate) = predicate {
        let b = asm.body.constant(0);
        asm.push(Instruction::CompareInteger {
            predicate: IntegerPredicate::Ne,
            bits: 32,
            to: predicate,
            a: to,
            b,
        })?;
    }
    Ok(())
}

pub(super) fn active_mask(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
) -> Result<()> {
    q.ty()?;
    q.done()?;
    let [to] = found else {
        return Err(operands(found));
    };
    let to = asm.destination(to)?;
    let zero = asm.body.constant(0);
    asm.push(Instruction::Vote {
        kind: VoteKind::ActiveMask,
        to,
        mask: zero,
        value: zero,
    })
}

/// `elect.sync d|p, mask`: the leader's lane is the position of the only set bit in the ballot of the predicates.
pub(super) fn elect(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    q.take("sync");
    q.done()?;
    let [Operand::Pair(lane, predicate), mask] = found else {
        return Err(operands(found));
    };
    let mask = asm.source(mask, B32)?;
    let to = asm.destination(predicate)?;
    asm.push(Instruction::Elect { to, mask: Some(mask) })?;
    if **lane == Operand::Name("_".to_owned()) {
        return Ok(());
    }
    let lane = asm.destination(lane)?;
    let leaders = asm.body.fresh();
    asm.push(Instruction::Vote {
        kind: VoteKind::Ballot,
        to: leaders,
        mask,
        value: to,
    })?;
    asm.push(Instruction::Integer {
        op: IntegerOp::TrailingZeros,
        bits: 32,
        to: lane,
        a: leaders,
        b: leaders,
    })
}

pub(super) fn reduce(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    q.take("sync");
    let ty = q.ty()?;
    use WarpReduceOp::*;
    let known: &[_] = match ty.kind {
        Kind::Signed => &[("add", Add), ("min", MinSigned), ("max", MaxSigned)],
        Kind::Unsigned => &[("add", Add), ("min", MinUnsigned), ("max", MaxUnsigned)],
        Kind::Bits => &[("and", And), ("or", Or), ("xor", Xor)],
        Kind::Float(Format::F32) if q.take("NaN") => &[("min", Minimum), ("max", Maximum)],
        Kind::Float(Format::F32) => &[("min", MinNum), ("max", MaxNum)],
        _ => return Err(unsupported("has a type that is not modelled")),
    };
    let op = q
        .one_of(known)
        .ok_or_else(|| unsupported("has no operation that is modelled"))?;
    q.done()?;
    let [to, value, mask] = found else {
        return Err(operands(found));
    };
    let (value, mask) = (asm.source(value, ty)?, asm.source(mask, B32)?);
    let to = asm.destination(to)?;
    asm.push(Instruction::WarpReduce { op, to, mask, value })
}

/// `mapa`, of a shared or a generic address.
pub(super) fn map_to_cta(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
) -> Result<()> {
    let generic = q.space() == Space::Generic;
    q.ty()?;
    q.done()?;
    let [to, address, rank] = found else {
        return Err(operands(found));
    };
    let mut address = asm.source(address, B64)?;
    let rank = asm.source(rank, B32)?;
    if generic {
        address = from_generic(asm.body, address);
    }
    let to = asm.destination(to)?;
    asm.push(Instruction::MapToCta { to, address, rank })?;
    if generic {
        let b = asm.body.constant(SHARED_WINDOW);
        asm.push(Instruction::Integer {
            op: IntegerOp::Add,
            bits: 64,
            to,
            a: to,
            b,
        })?;
    }
    Ok(())
}
