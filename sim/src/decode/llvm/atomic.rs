//! Atomic operations and fences.

use super::{
    super::{
        body::Body,
        error::{Result, invalid, unsupported},
        op::Op,
        shape::{Scalar, Shape},
    },
    memory::{atomic_order, is_cta_scope, pointee},
};
use crate::memory::atomic;
use crate::program::{
    AtomicFormat, AtomicOp, Fence, FloatOp, Instruction, IntegerOp, IntegerPredicate, Register,
};

/// Fails for an atomic operation that no device has on values of that format.
pub(in super::super) fn check(op: AtomicOp, format: AtomicFormat) -> Result<()> {
    match atomic::exists(op, format) {
        true => Ok(()),
        false => Err(invalid(format!(
            "has operation {op:?} on {format:?}, which PTX does not have"
        ))),
    }
}

/// What `llvm.atomicrmw` does to its operand first.
enum Before {
    Nothing,
    Negate,
}

pub(super) fn read_modify_write(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let shape = Shape::of(op.operand_type(1)?)?;
    let scalar = shape.element()?;
    let bits = scalar.bits();
    // The numbers are those of LLVM's `AtomicBinOp`.
    let (kind, signed, before) = match op.need_integer("bin_op")? {
        0 => (AtomicOp::Exchange, false, Before::Nothing),
        1 | 11 => (AtomicOp::Add, false, Before::Nothing),
        2 | 12 => (AtomicOp::Add, false, Before::Negate),
        3 => (AtomicOp::And, false, Before::Nothing),
        5 => (AtomicOp::Or, false, Before::Nothing),
        6 => (AtomicOp::Xor, false, Before::Nothing),
        7 => (AtomicOp::Max, true, Before::Nothing),
        8 => (AtomicOp::Min, true, Before::Nothing),
        9 | 13 => (AtomicOp::Max, false, Before::Nothing),
        10 | 14 => (AtomicOp::Min, false, Before::Nothing),
        15 => (AtomicOp::Increment, false, Before::Nothing),
        16 => (AtomicOp::Decrement, false, Before::Nothing),
        other => {
            return Err(unsupported(format!(
                "has operation {other}, which is not modelled"
            )));
        }
    };
    let format = match (&*shape, scalar) {
        (Shape::Vector { count: 2, .. }, Scalar::Float(format)) if bits == 16 => AtomicFormat::Pair(format),
        (Shape::Scalar(_), Scalar::Float(format)) if kind != AtomicOp::Exchange => {
            AtomicFormat::Float(format)
        }
        (Shape::Scalar(_), _) if signed => AtomicFormat::Signed(bits),
        (Shape::Scalar(_), _) => AtomicFormat::Unsigned(bits),
        _ => return Err(unsupported("works on a vector that is not modelled")),
    };
    check(kind, format)?;
    let mut operand = body.operand(op, 1)?;
    if let Before::Negate = before {
        operand = operand
            .into_iter()
            .map(|register| negate(body, register, scalar))
            .collect();
    }
    let width = if operand.len() == 2 { 32 } else { bits };
    let operand = body.repack(operand, bits, width)[0];
    let to = body.fresh();
    let instruction = Instruction::Atomic {
        space: pointee(op.operand_type(0)?)?,
        order: atomic_order(op, "ordering")?,
        op: kind,
        format,
        to: Some(to),
        address: body.scalar(op, 0)?,
        operand,
        expected: None,
        guard: None,
    };
    body.push(instruction);
    let old = body.repack(vec![to], width, bits);
    body.result(op, old)
}

fn negate(body: &mut Body<'_>, register: Register, scalar: Scalar) -> Register {
    match scalar {
        Scalar::Float(format) => {
            let to = body.fresh();
            body.push(Instruction::Float {
                op: FloatOp::Neg,
                format,
                flush: false,
                to,
                a: register,
                b: register,
            });
            to
        }
        _ => {
            let zero = body.constant(0);
            body.integer(IntegerOp::Sub, scalar.bits(), zero, register)
        }
    }
}

/// `llvm.cmpxchg`, which returns the old value and whether it was the expected one.
pub(super) fn compare_and_swap(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let bits = Scalar::of(op.operand_type(1)?)?.bits();
    let format = AtomicFormat::Unsigned(bits);
    check(AtomicOp::CompareAndSwap, format)?;
    let success = atomic_order(op, "success_ordering")?;
    let failure = atomic_order(op, "failure_ordering")?;
    let (address, expected, operand) = (body.scalar(op, 0)?, body.scalar(op, 1)?, body.scalar(op, 2)?);
    let to = body.fresh();
    let mut order = success;
    order.acquire |= failure.acquire;
    body.push(Instruction::Atomic {
        space: pointee(op.operand_type(0)?)?,
        order,
        op: AtomicOp::CompareAndSwap,
        format,
        to: Some(to),
        address,
        operand,
        expected: Some(expected),
        guard: None,
    });
    let swapped = body.compare(IntegerPredicate::Eq, bits, to, expected);
    body.result(op, vec![to, swapped])
}

pub(super) fn fence(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    atomic_order(op, "ordering")?;
    let cta = is_cta_scope(op)?;
    body.push(Instruction::Fence(Fence::AcquireRelease { cta }));
    Ok(())
}
