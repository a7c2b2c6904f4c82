//! Addresses: of variables, of elements, and between address spaces.

use std::rc::Rc;

use melior::ir::{AttributeLike, Type};
use mlir_sys::*;

use super::super::{
    body::Body,
    error::{Result, internal, unsupported},
    op::Op,
    shape::{Scalar, Shape},
};
use crate::{
    address::SHARED_WINDOW,
    program::{Instruction, IntegerOp, Register, Space},
};

/// `llvm.mlir.addressof` of a variable in shared memory.
pub(super) fn address_of(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let name = op.need_text("global_name")?;
    // A variable that does not exist was reported when shared memory was laid out.
    let offset = body.shared.offset(name).unwrap_or(0);
    let register = body.constant(u64::from(offset));
    body.result(op, vec![register])
}

/// Marks an index of `llvm.getelementptr` that is an operand.
const DYNAMIC: i64 = i32::MIN as i64;

/// `llvm.getelementptr`: constant indices are added up here, the others by one instruction each.
pub(super) fn element(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let ty = op
        .attribute("elem_type")
        .ok_or_else(|| internal("lacks its element type"))?;
    // SAFETY: `elem_type` is a type attribute, as MLIR's verifier ensures.
    let mut shape = Shape::of(unsafe { Type::from_raw(mlirTypeAttrGetValue(ty.to_raw())) })?;
    let indices = op
        .integers("rawConstantIndices")
        .ok_or_else(|| internal("lacks its indices"))?;
    let mut address = body.scalar(op, 0)?;
    let mut offset = 0i64;
    let mut operand = 1;
    for (depth, index) in indices.into_iter().enumerate() {
        let known = match index {
            DYNAMIC => {
                let register = body.scalar(op, operand)?;
                let bits = Shape::of(op.operand_type(operand)?)?.element()?.bits();
                operand += 1;
                match body.known(register) {
                    Some(value) => Ok(sign_extend(value, bits)),
                    None => Err((register, bits)),
                }
            }
            index => Ok(index),
        };
        let stride = if depth == 0 {
            shape.size()
        } else {
            match (&*Rc::clone(&shape), known) {
                (Shape::Struct { .. }, Ok(field)) => {
                    let part = shape
                        .part(field as u64)
                        .ok_or_else(|| internal("has an index outside of its struct"))?;
                    offset += part.offset as i64;
                    shape = part.shape;
                    continue;
                }
                (Shape::Array { element, .. }, _) => {
                    shape = element.clone();
                    shape.size()
                }
                (Shape::Vector { element, .. }, _) => {
                    shape = Rc::new(Shape::Scalar(*element));
                    shape.size()
                }
                _ => return Err(internal("indexes what has no parts")),
            }
        };
        match known {
            Ok(known) => offset += known * stride as i64,
            Err((index, bits)) => address = advance(body, address, index, bits, stride as i64),
        }
    }
    if offset != 0 {
        let offset = body.constant(offset as u64);
        address = advance(body, address, offset, 64, 1);
    }
    body.result(op, vec![address])
}

fn advance(body: &mut Body<'_>, a: Register, b: Register, bits: u8, scale: i64) -> Register {
    let to = body.fresh();
    body.push(Instruction::Address {
        to,
        a,
        b,
        bits,
        scale,
    });
    if body.invariant.contains(&a) {
        body.invariant.insert(to);
    }
    to
}

fn sign_extend(value: u64, bits: u8) -> i64 {
    let above = 64 - u32::from(bits);
    ((value << above) as i64) >> above
}

/// `llvm.addrspacecast`.
pub(super) fn cast(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let pointee = |ty: Type<'_>| match Scalar::of(ty)? {
        Scalar::Pointer(space) => Ok(space),
        other => Err(internal(format!("expected a pointer, got {other:?}"))),
    };
    let (from, to) = (pointee(op.operand_type(0)?)?, pointee(op.result_type(0)?)?);
    let address = body.scalar(op, 0)?;
    let register = cast_address(body, address, from, to)?;
    body.result(op, vec![register])
}

/// Converts an address from one space to another.
pub(in super::super) fn cast_address(
    body: &mut Body<'_>,
    address: Register,
    from: Space,
    to: Space,
) -> Result<Register> {
    let window = |body: &mut Body<'_>, op| {
        let window = body.constant(SHARED_WINDOW);
        body.integer(op, 64, address, window)
    };
    match (from, to) {
        (Space::Shared | Space::Cluster, Space::Generic) => Ok(window(body, IntegerOp::Add)),
        (Space::Generic, Space::Shared | Space::Cluster) => Ok(window(body, IntegerOp::Sub)),
        (from, to) if from == to => Ok(address),
        // The cluster's window contains the CTA's own.
        (Space::Shared, Space::Cluster) => Ok(address),
        (Space::Generic, _) | (_, Space::Generic) => Ok(address),
        (from, to) => Err(unsupported(format!(
            "casts from {from:?} to {to:?} memory, which do not overlap"
        ))),
    }
}
