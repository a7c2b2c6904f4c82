//! `llvm.intr.vector.reduce.*`: from the first component to the last. Of floats only sums and products depend on the
//! order, and without `reassoc` LLVM prescribes this one.

use super::{
    super::{
        body::Body,
        error::{Result, unsupported},
        op::Op,
        shape::{Scalar, Shape},
    },
    arithmetic::format,
};
use crate::program::{FloatOp, Format, Instruction, IntegerOp, Register};

enum Step {
    Integer(IntegerOp),
    Float(FloatOp),
}

pub(super) fn vector(op: &Op<'_, '_>, body: &mut Body<'_>, kind: &str) -> Result<()> {
    let (step, start) = match kind {
        "add" => (Step::Integer(IntegerOp::Add), false),
        "mul" => (Step::Integer(IntegerOp::Mul), false),
        "and" => (Step::Integer(IntegerOp::And), false),
        "or" => (Step::Integer(IntegerOp::Or), false),
        "xor" => (Step::Integer(IntegerOp::Xor), false),
        "smax" => (Step::Integer(IntegerOp::MaxSigned), false),
        "smin" => (Step::Integer(IntegerOp::MinSigned), false),
        "umax" => (Step::Integer(IntegerOp::MaxUnsigned), false),
        "umin" => (Step::Integer(IntegerOp::MinUnsigned), false),
        "fmax" => (Step::Float(FloatOp::MaxNum), false),
        "fmin" => (Step::Float(FloatOp::MinNum), false),
        "fmaximum" => (Step::Float(FloatOp::Maximum), false),
        "fminimum" => (Step::Float(FloatOp::Minimum), false),
        "fadd" => (Step::Float(FloatOp::Add), true),
        "fmul" => (Step::Float(FloatOp::Mul), true),
        _ => return Err(unsupported("is not modelled")),
    };
    let input = usize::from(start);
    let scalar = Shape::of(op.operand_type(input)?)?.element()?;
    let mut values = Vec::new();
    if start {
        values.push(body.scalar(op, 0)?);
    }
    values.extend(body.operand(op, input)?);
    let mut values = values.into_iter();
    let first = values
        .next()
        .ok_or_else(|| unsupported("reduces an empty vector"))?;
    let result = values.try_fold(first, |a, b| combine(body, &step, scalar, a, b))?;
    body.result(op, vec![result])
}

fn combine(body: &mut Body<'_>, step: &Step, scalar: Scalar, a: Register, b: Register) -> Result<Register> {
    Ok(match step {
        Step::Integer(op) => body.integer(*op, scalar.bits(), a, b),
        Step::Float(op) => {
            let format = format(scalar)?;
            let to = body.fresh();
            body.push(Instruction::Float {
                op: *op,
                format,
                flush: body.flush && format == Format::F32,
                to,
                a,
                b,
            });
            to
        }
    })
}
