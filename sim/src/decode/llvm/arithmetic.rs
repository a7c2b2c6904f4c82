//! Arithmetic, comparisons and selects, on scalars or component by component.

use super::super::{
    body::Body,
    error::{Result, internal, unsupported},
    op::Op,
    shape::Scalar,
};
use crate::program::{
    ApproximateFunction, FloatOp, FloatPredicate, Format, Instruction, IntegerOp, IntegerPredicate,
};

pub(super) fn integer(op: &Op<'_, '_>, body: &mut Body<'_>, kind: IntegerOp) -> Result<()> {
    body.each::<2>(op, |to, [a, b], scalar| {
        Ok(Instruction::Integer {
            op: kind,
            bits: scalar.bits(),
            to,
            a,
            b,
        })
    })
}

pub(super) fn integer_unary(op: &Op<'_, '_>, body: &mut Body<'_>, kind: IntegerOp) -> Result<()> {
    body.each::<1>(op, |to, [a], scalar| {
        Ok(Instruction::Integer {
            op: kind,
            bits: scalar.bits(),
            to,
            a,
            b: a,
        })
    })
}

/// The format of a float component.
pub(in super::super) fn format(scalar: Scalar) -> Result<Format> {
    match scalar {
        Scalar::Float(format) => Ok(format),
        other => Err(internal(format!("expected floats, got {other:?}"))),
    }
}

pub(super) fn float(op: &Op<'_, '_>, body: &mut Body<'_>, kind: FloatOp) -> Result<()> {
    let flush = body.flush;
    body.each::<2>(op, |to, [a, b], scalar| {
        let format = format(scalar)?;
        Ok(Instruction::Float {
            op: kind,
            format,
            flush: flush && format == Format::F32,
            to,
            a,
            b,
        })
    })
}

pub(super) fn float_unary(op: &Op<'_, '_>, body: &mut Body<'_>, kind: FloatOp) -> Result<()> {
    let flush = body.flush;
    body.each::<1>(op, |to, [a], scalar| {
        let format = format(scalar)?;
        Ok(Instruction::Float {
            op: kind,
            format,
            flush: flush && format == Format::F32,
            to,
            a,
            b: a,
        })
    })
}

/// Whether the op's fast-math flags allow an approximate function (`afn`).
fn allows_approximation(op: &Op<'_, '_>) -> bool {
    op.attribute("fastmathFlags").is_some_and(|flags| {
        flags
            .to_string()
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|flag| matches!(flag, "afn" | "fast"))
    })
}

/// `llvm.fdiv`, which LLVM turns into `div.approx` if the flags allow it and the type is f32.
pub(super) fn divide(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let approximate = allows_approximation(op);
    let flush = body.flush;
    body.each::<2>(op, |to, [a, b], scalar| {
        let format = format(scalar)?;
        Ok(match (format, approximate) {
            (Format::F32, true) => Instruction::Approximate {
                function: ApproximateFunction::Divide,
                flush,
                to,
                a,
                b,
            },
            _ => Instruction::Float {
                op: FloatOp::Div,
                format,
                flush: flush && format == Format::F32,
                to,
                a,
                b,
            },
        })
    })
}

/// `llvm.intr.sqrt`, which LLVM turns into `sqrt.approx` if the flags allow it and the type is f32.
pub(super) fn square_root(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    if allows_approximation(op) {
        return approximate(op, body, ApproximateFunction::SquareRoot, true);
    }
    float_unary(op, body, FloatOp::Sqrt)
}

/// A function that only the special function unit has. Most have a lowering only with `afn`.
pub(super) fn approximate(
    op: &Op<'_, '_>,
    body: &mut Body<'_>,
    function: ApproximateFunction,
    needs_flag: bool,
) -> Result<()> {
    if needs_flag && !allows_approximation(op) {
        return Err(unsupported(
            "is only modelled with fast-math flag afn: NVPTX has no lowering without it",
        ));
    }
    let flush = body.flush;
    body.each::<1>(op, |to, [a], scalar| match format(scalar)? {
        Format::F32 => Ok(Instruction::Approximate {
            function,
            flush,
            to,
            a,
            b: a,
        }),
        other => Err(unsupported(format!("is only modelled on f32, got {other:?}"))),
    })
}

pub(super) fn fused(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let flush = body.flush;
    body.each::<3>(op, |to, [a, b, c], scalar| {
        let format = format(scalar)?;
        Ok(Instruction::FusedMultiplyAdd {
            format,
            flush: flush && format == Format::F32,
            to,
            a,
            b,
            c,
        })
    })
}

/// In the order of LLVM's `ICmpPredicate`.
const INTEGER_PREDICATES: [IntegerPredicate; 10] = [
    IntegerPredicate::Eq,
    IntegerPredicate::Ne,
    IntegerPredicate::Slt,
    IntegerPredicate::Sle,
    IntegerPredicate::Sgt,
    IntegerPredicate::Sge,
    IntegerPredicate::Ult,
    IntegerPredicate::Ule,
    IntegerPredicate::Ugt,
    IntegerPredicate::Uge,
];

/// In the order of LLVM's `FCmpPredicate`.
const FLOAT_PREDICATES: [FloatPredicate; 16] = [
    FloatPredicate::False,
    FloatPredicate::Oeq,
    FloatPredicate::Ogt,
    FloatPredicate::Oge,
    FloatPredicate::Olt,
    FloatPredicate::Ole,
    FloatPredicate::One,
    FloatPredicate::Ord,
    FloatPredicate::Ueq,
    FloatPredicate::Ugt,
    FloatPredicate::Uge,
    FloatPredicate::Ult,
    FloatPredicate::Ule,
    FloatPredicate::Une,
    FloatPredicate::Uno,
    FloatPredicate::True,
];

fn predicate<T: Copy>(op: &Op<'_, '_>, all: &[T]) -> Result<T> {
    let number = op.need_integer("predicate")?;
    usize::try_from(number)
        .ok()
        .and_then(|number| all.get(number))
        .copied()
        .ok_or_else(|| unsupported(format!("has predicate {number}, which is not modelled")))
}

pub(super) fn compare_integers(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let predicate = predicate(op, &INTEGER_PREDICATES)?;
    body.each::<2>(op, |to, [a, b], scalar| {
        Ok(Instruction::CompareInteger {
            predicate,
            bits: scalar.bits(),
            to,
            a,
            b,
        })
    })
}

pub(super) fn compare_floats(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let predicate = predicate(op, &FLOAT_PREDICATES)?;
    body.each::<2>(op, |to, [a, b], scalar| {
        Ok(Instruction::CompareFloat {
            predicate,
            format: format(scalar)?,
            to,
            a,
            b,
        })
    })
}

/// `llvm.select`, whose condition may be one for all components.
pub(super) fn select(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let conditions = body.operand(op, 0)?;
    let (yes, no) = (body.operand(op, 1)?, body.operand(op, 2)?);
    let results = yes
        .into_iter()
        .zip(no)
        .enumerate()
        .map(|(component, (yes, no))| {
            let condition = conditions[if conditions.len() == 1 { 0 } else { component }];
            body.select(condition, yes, no)
        })
        .collect();
    body.result(op, results)
}
