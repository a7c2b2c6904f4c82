//! Taking aggregates and vectors apart and putting them together: this only renames registers, unless an index is known
//! only at run time.

use std::ops::Range;

use super::super::{
    body::Body,
    error::{Result, internal},
    op::Op,
    shape::Shape,
};
use crate::program::{IntegerPredicate, Register};

pub(super) fn extract_value(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let place = place(op, &*Shape::of(op.operand_type(0)?)?)?;
    let registers = body.operand(op, 0)?[place].to_vec();
    body.result(op, registers)
}

pub(super) fn insert_value(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let place = place(op, &*Shape::of(op.operand_type(0)?)?)?;
    let mut registers = body.operand(op, 0)?;
    registers[place].copy_from_slice(&body.operand(op, 1)?);
    body.result(op, registers)
}

/// The scalars of the part at `position`.
fn place(op: &Op<'_, '_>, shape: &Shape) -> Result<Range<usize>> {
    let position = op
        .integers("position")
        .ok_or_else(|| internal("lacks its position"))?;
    let (mut first, mut count) = (0, shape.count());
    let mut inner = None;
    for index in position {
        let part = inner
            .as_deref()
            .unwrap_or(shape)
            .part(index as u64)
            .ok_or_else(|| internal("has a position outside of its type"))?;
        first += part.first;
        count = part.shape.count();
        inner = Some(part.shape);
    }
    Ok(first..first + count)
}

pub(super) fn extract_element(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let components = body.operand(op, 0)?;
    let index = body.scalar(op, 1)?;
    if let Some(known) = body.known(index) {
        let register = match components.get(known as usize) {
            Some(register) => *register,
            // Poison in LLVM.
            None => body.undefined(),
        };
        return body.result(op, vec![register]);
    }
    let bits = Shape::of(op.operand_type(1)?)?.element()?.bits();
    let mut chosen = body.undefined();
    for (number, component) in components.into_iter().enumerate() {
        let here = is(body, index, bits, number);
        chosen = body.select(here, component, chosen);
    }
    body.result(op, vec![chosen])
}

pub(super) fn insert_element(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let mut components = body.operand(op, 0)?;
    let value = body.scalar(op, 1)?;
    let index = body.scalar(op, 2)?;
    if let Some(known) = body.known(index) {
        if let Some(slot) = components.get_mut(known as usize) {
            *slot = value;
        }
        return body.result(op, components);
    }
    let bits = Shape::of(op.operand_type(2)?)?.element()?.bits();
    for (number, slot) in components.iter_mut().enumerate() {
        let here = is(body, index, bits, number);
        *slot = body.select(here, value, *slot);
    }
    body.result(op, components)
}

fn is(body: &mut Body<'_>, index: Register, bits: u8, number: usize) -> Register {
    let number = body.constant(number as u64);
    body.compare(IntegerPredicate::Eq, bits, index, number)
}

pub(super) fn shuffle(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let mut components = body.operand(op, 0)?;
    components.extend(body.operand(op, 1)?);
    let mask = op.integers("mask").ok_or_else(|| internal("lacks its mask"))?;
    let registers = mask
        .into_iter()
        .map(|index| match components.get(index as usize) {
            Some(register) => *register,
            // -1 is poison.
            None => body.undefined(),
        })
        .collect();
    body.result(op, registers)
}
