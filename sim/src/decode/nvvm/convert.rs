//! Conversions of packed floats, and byte permutation.

use melior::ir::{AttributeLike, Type};
use mlir_sys::mlirTypeAttrGetValue;

use super::{
    super::{
        body::Body,
        error::{Result, internal, unsupported},
        op::Op,
        shape::{Scalar, Shape},
    },
    push,
};
use crate::program::{ApproximateFunction, Conversion, Format, Instruction, Register, Rounding};

/// How the op rounds: its attribute `rnd`; `none` where the op rounds in one way only.
fn rounding(op: &Op<'_, '_>) -> Result<Rounding> {
    match op.keyword("rnd").as_deref() {
        None | Some("none" | "rn") => Ok(Rounding::NearestEven),
        Some("rz") => Ok(Rounding::Zero),
        Some(other) => Err(unsupported(format!("has rnd = {other}, which is not modelled"))),
    }
}

fn saturates(op: &Op<'_, '_>) -> Result<bool> {
    match op.keyword("sat").as_deref() {
        None | Some("none") => Ok(false),
        Some("satfinite") => Ok(true),
        Some(other) => Err(unsupported(format!("has sat = {other}, which is not modelled"))),
    }
}

fn format(ty: Type<'_>) -> Result<Format> {
    match Shape::of(ty)?.element()? {
        Scalar::Float(format) => Ok(format),
        other => Err(internal(format!("expected floats, got {other:?}"))),
    }
}

/// The 8-bit format that the attribute `name` states.
fn byte_format(op: &Op<'_, '_>, name: &str) -> Result<Format> {
    let ty = op
        .attribute(name)
        .ok_or_else(|| internal(format!("lacks '{name}'")))?;
    // SAFETY: it is a type attribute, as MLIR's verifier ensures.
    let ty = unsafe { Type::from_raw(mlirTypeAttrGetValue(ty.to_raw())) };
    match format(ty)? {
        format @ (Format::F8E4M3FN | Format::F8E5M2) => Ok(format),
        other => Err(unsupported(format!("converts {other:?}, which is not modelled"))),
    }
}

/// Two f32 to a vector of two f16 or bf16; the first operand is the second component.
pub(super) fn to_halves(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    if op.operands() > 2 {
        return Err(unsupported("rounds stochastically, which is not modelled"));
    }
    let conversion = Conversion::Float {
        from: Format::F32,
        to: format(op.result_type(0)?)?,
        rounding: rounding(op)?,
        saturate: saturates(op)?,
        relu: op.flag("relu"),
    };
    let (high, low) = (body.scalar(op, 0)?, body.scalar(op, 1)?);
    let low = body.convert(conversion, low);
    let high = body.convert(conversion, high);
    body.result(op, vec![low, high])
}

/// Two f32 to two fp8; the first operand is the high byte.
pub(super) fn floats_to_bytes(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let components = [body.scalar(op, 1)?, body.scalar(op, 0)?];
    to_bytes(op, body, Format::F32, components)
}

/// A vector of two f16 to two fp8, in the same order.
pub(super) fn halves_to_bytes(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let from = format(op.operand_type(0)?)?;
    match body.operand(op, 0)?[..] {
        [low, high] => to_bytes(op, body, from, [low, high]),
        _ => Err(internal("expected a vector of two")),
    }
}

/// To an i16, or a vector of two i8.
fn to_bytes(op: &Op<'_, '_>, body: &mut Body<'_>, from: Format, components: [Register; 2]) -> Result<()> {
    let conversion = Conversion::Float {
        from,
        to: byte_format(op, "dstTy")?,
        rounding: rounding(op)?,
        // All conversions to fp8 saturate (PTX ISA 8.8, "cvt").
        saturate: true,
        relu: op.flag("relu"),
    };
    let bytes = components
        .into_iter()
        .map(|component| body.convert(conversion, component))
        .collect();
    let bits = Shape::of(op.result_type(0)?)?.element()?.bits();
    let packed = body.repack(bytes, 8, bits);
    body.result(op, packed)
}

/// A vector of two i8 that hold fp8 to a vector of two f16.
pub(super) fn bytes_to_halves(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let conversion = Conversion::Float {
        from: byte_format(op, "srcType")?,
        to: format(op.result_type(0)?)?,
        rounding: Rounding::NearestEven,
        saturate: false,
        relu: op.flag("relu"),
    };
    let results = body
        .operand(op, 0)?
        .into_iter()
        .map(|component| body.convert(conversion, component))
        .collect();
    body.result(op, results)
}

/// `nvvm.prmt` in its default mode. Operands: low, high, selector.
pub(super) fn permute(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    op.only("mode", "default")?;
    let (a, b, selector) = (body.scalar(op, 0)?, body.scalar(op, 1)?, body.scalar(op, 2)?);
    let to = body.scalar_result(op)?;
    push(body, Instruction::PermuteBytes { to, a, b, selector })
}

pub(super) fn reciprocal(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let a = body.scalar(op, 0)?;
    let to = body.scalar_result(op)?;
    push(
        body,
        Instruction::Approximate {
            function: ApproximateFunction::Reciprocal,
            flush: true,
            to,
            a,
            b: a,
        },
    )
}
