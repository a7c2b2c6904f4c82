//! Conversions between integers, floats, pointers and patterns.

use melior::ir::Type;

use super::{
    super::{
        body::Body,
        error::{Result, unsupported},
        op::Op,
        shape::{Scalar, Shape},
    },
    arithmetic::format,
    convert_each,
};
use crate::program::{Conversion, Rounding};

fn component(ty: Type<'_>) -> Result<Scalar> {
    Shape::of(ty)?.element()
}

/// A cast that changes no bits of its registers, as the bits above a narrower value are zero.
pub(super) fn rename(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    // The type must be one that is modelled.
    Shape::of(op.result_type(0)?)?;
    let registers = body.operand(op, 0)?;
    body.result(op, registers)
}

pub(super) fn truncate(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let to = component(op.result_type(0)?)?.bits();
    convert_each(op, body, Conversion::Truncate { to })
}

pub(super) fn sign_extend(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let from = component(op.operand_type(0)?)?.bits();
    let to = component(op.result_type(0)?)?.bits();
    convert_each(op, body, Conversion::SignExtend { from, to })
}

pub(super) fn float_to_float(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let conversion = Conversion::Float {
        from: format(component(op.operand_type(0)?)?)?,
        to: format(component(op.result_type(0)?)?)?,
        rounding: Rounding::NearestEven,
        saturate: false,
        relu: false,
    };
    convert_each(op, body, conversion)
}

pub(super) fn integer_to_float(op: &Op<'_, '_>, body: &mut Body<'_>, signed: bool) -> Result<()> {
    let conversion = Conversion::IntegerToFloat {
        from: component(op.operand_type(0)?)?.bits(),
        signed,
        to: format(component(op.result_type(0)?)?)?,
    };
    convert_each(op, body, conversion)
}

pub(super) fn float_to_integer(op: &Op<'_, '_>, body: &mut Body<'_>, signed: bool) -> Result<()> {
    let conversion = Conversion::FloatToInteger {
        from: format(component(op.operand_type(0)?)?)?,
        to: component(op.result_type(0)?)?.bits(),
        signed,
        rounding: Rounding::Zero,
    };
    convert_each(op, body, conversion)
}

pub(super) fn bitcast(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let from = component(op.operand_type(0)?)?.bits();
    let to = component(op.result_type(0)?)?.bits();
    let registers = body.operand(op, 0)?;
    let registers = body.repack(registers, from, to);
    body.result(op, registers)
}

pub(super) fn pointer_to_integer(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    match component(op.result_type(0)?)? {
        Scalar::Integer(64) => rename(op, body),
        Scalar::Integer(to) => convert_each(op, body, Conversion::Truncate { to }),
        other => Err(unsupported(format!(
            "expected an integer as result, got {other:?}"
        ))),
    }
}
