//! Operations of a warp.

use super::super::{
    body::Body,
    error::{Result, unsupported},
    op::Op,
    shape::Scalar,
};
use crate::program::{Format, Instruction, IntegerPredicate, ShuffleKind, VoteKind, WarpReduceOp};

pub(super) fn shuffle(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let kind = match op.need_keyword("kind")?.as_str() {
        "bfly" => ShuffleKind::Butterfly,
        "up" => ShuffleKind::Up,
        "down" => ShuffleKind::Down,
        "idx" => ShuffleKind::Index,
        other => return Err(unsupported(format!("has kind {other}, which is not modelled"))),
    };
    let to = body.fresh();
    let in_range = op.flag("return_value_and_is_valid").then(|| body.fresh());
    let instruction = Instruction::Shuffle {
        kind,
        to,
        in_range,
        mask: body.scalar(op, 0)?,
        value: body.scalar(op, 1)?,
        offset: body.scalar(op, 2)?,
        clamp: body.scalar(op, 3)?,
    };
    body.push(instruction);
    body.result(op, [to].into_iter().chain(in_range).collect())
}

pub(super) fn vote(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let kind = match op.need_keyword("kind")?.as_str() {
        "any" => VoteKind::Any,
        "all" => VoteKind::All,
        "ballot" => VoteKind::Ballot,
        "uni" => VoteKind::Uniform,
        other => return Err(unsupported(format!("has kind {other}, which is not modelled"))),
    };
    let (mask, value) = (body.scalar(op, 0)?, body.scalar(op, 1)?);
    let to = body.scalar_result(op)?;
    body.push(Instruction::Vote {
        kind,
        to,
        mask,
        value,
    });
    Ok(())
}

/// `match.sync`; the predicate of its `all` form says whether the resulting mask is not empty.
pub(super) fn matching(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let (mask, value) = (body.scalar(op, 0)?, body.scalar(op, 1)?);
    let to = body.fresh();
    let (kind, all) = match op.need_keyword("kind")?.as_str() {
        "any" => (VoteKind::MatchAny, false),
        "all" => (VoteKind::MatchAll, true),
        other => return Err(unsupported(format!("has kind {other}, which is not modelled"))),
    };
    body.push(Instruction::Vote {
        kind,
        to,
        mask,
        value,
    });
    let mut results = vec![to];
    if all {
        let zero = body.constant(0);
        results.push(body.compare(IntegerPredicate::Ne, 32, to, zero));
    }
    body.result(op, results)
}

pub(super) fn elect(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let mask = body.maybe(op, (op.operands() > 0).then_some(0))?;
    let to = body.scalar_result(op)?;
    body.push(Instruction::Elect { to, mask });
    Ok(())
}

pub(super) fn reduce(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let ty = op.operand_type(0)?;
    let keyword = op.need_keyword("kind")?;
    if op.flag("abs") {
        return Err(unsupported("reduces absolute values, which is not modelled"));
    }
    let kind = match (Scalar::of(ty)?, keyword.as_str(), op.flag("nan")) {
        (Scalar::Integer(32), "add", false) => WarpReduceOp::Add,
        (Scalar::Integer(32), "min", false) => WarpReduceOp::MinSigned,
        (Scalar::Integer(32), "max", false) => WarpReduceOp::MaxSigned,
        (Scalar::Integer(32), "umin", false) => WarpReduceOp::MinUnsigned,
        (Scalar::Integer(32), "umax", false) => WarpReduceOp::MaxUnsigned,
        (Scalar::Integer(32), "and", false) => WarpReduceOp::And,
        (Scalar::Integer(32), "or", false) => WarpReduceOp::Or,
        (Scalar::Integer(32), "xor", false) => WarpReduceOp::Xor,
        (Scalar::Float(Format::F32), "fmin", false) => WarpReduceOp::MinNum,
        (Scalar::Float(Format::F32), "fmax", false) => WarpReduceOp::MaxNum,
        (Scalar::Float(Format::F32), "fmin", true) => WarpReduceOp::Minimum,
        (Scalar::Float(Format::F32), "fmax", true) => WarpReduceOp::Maximum,
        _ => {
            return Err(unsupported(format!(
                "has kind {keyword} of {ty}, which is not modelled"
            )));
        }
    };
    let (value, mask) = (body.scalar(op, 0)?, body.scalar(op, 1)?);
    let to = body.scalar_result(op)?;
    body.push(Instruction::WarpReduce {
        op: kind,
        to,
        mask,
        value,
    });
    Ok(())
}

pub(super) fn barrier(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let mask = body.scalar(op, 0)?;
    body.push(Instruction::WarpBarrier { mask });
    Ok(())
}
