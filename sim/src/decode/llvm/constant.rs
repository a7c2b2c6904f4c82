//! Constants.

use melior::ir::{Attribute, AttributeLike};
use mlir_sys::*;

use super::super::{
    body::Body,
    error::{Result, internal, unsupported},
    op::{self, Op},
    shape::{Scalar, Shape},
};

pub(super) fn constant(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let value = op.attribute("value").ok_or_else(|| internal("lacks its value"))?;
    let shape = Shape::of(op.result_type(0)?)?;
    let patterns = patterns(value, &shape)?;
    let registers = patterns
        .into_iter()
        .map(|pattern| body.constant(pattern))
        .collect();
    body.result(op, registers)
}

pub(super) fn zero(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let count = Shape::of(op.result_type(0)?)?.count();
    let zero = body.constant(0);
    body.result(op, vec![zero; count])
}

pub(super) fn undefined(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let count = Shape::of(op.result_type(0)?)?.count();
    let undefined = body.undefined();
    body.result(op, vec![undefined; count])
}

/// The patterns of a constant's scalars.
fn patterns(value: Attribute<'_>, shape: &Shape) -> Result<Vec<u64>> {
    let raw = value.to_raw();
    let not_modelled = || unsupported(format!("has value {value}, which is not modelled"));
    if let Some(patterns) = dense(value, shape) {
        return match patterns.len() == shape.count() {
            true => Ok(patterns),
            false => Err(not_modelled()),
        };
    }
    // SAFETY: the attribute is alive, and each accessor is for its kind.
    unsafe {
        if mlirAttributeIsAArray(raw)
            && let Shape::Struct { fields, .. } = shape
        {
            return (0..mlirArrayAttrGetNumElements(raw))
                .zip(fields)
                .map(|(index, field)| {
                    patterns(Attribute::from_raw(mlirArrayAttrGetElement(raw, index)), field)
                })
                .collect::<Result<Vec<_>>>()
                .map(|parts| parts.concat());
        }
        let scalar = shape.element()?;
        let pattern = match scalar {
            Scalar::Float(format) if mlirAttributeIsAFloat(raw) => {
                format.element().encode_float(mlirFloatAttrGetValueDouble(raw))
            }
            _ => op::integer(value).ok_or_else(not_modelled)? as u64 & mask(scalar.bits()),
        };
        Ok(vec![pattern; shape.count()])
    }
}

/// The patterns of dense elements, all of the scalar that `shape` is made of. MLIR stores them one after another at the
/// width of their type, and i1 packed as bits.
pub(super) fn dense(value: Attribute<'_>, shape: &Shape) -> Option<Vec<u64>> {
    let raw = value.to_raw();
    let scalar = *shape.scalars().first()?;
    // SAFETY: the attribute is alive and of dense elements; a splat stores one, and indices stay below the count.
    unsafe {
        if !mlirAttributeIsADenseElements(raw) {
            return None;
        }
        let count = usize::try_from(mlirElementsAttrGetNumElements(raw)).ok()?;
        let stored = if mlirDenseElementsAttrIsSplat(raw) {
            1
        } else {
            count
        };
        let patterns: Vec<u64> = match scalar.bits() {
            1 if stored == 1 => vec![u64::from(mlirDenseElementsAttrGetBoolSplatValue(raw) != 0)],
            1 => (0..count)
                .map(|index| u64::from(mlirDenseElementsAttrGetBoolValue(raw, index as isize)))
                .collect(),
            8 | 16 | 32 | 64 => {
                let bytes = usize::from(scalar.bytes());
                let data = mlirDenseElementsAttrGetRawData(raw).cast::<u8>();
                std::slice::from_raw_parts(data, stored * bytes)
                    .chunks_exact(bytes)
                    .map(|chunk| {
                        chunk
                            .iter()
                            .rev()
                            .fold(0, |pattern, byte| pattern << 8 | u64::from(*byte))
                    })
                    .collect()
            }
            _ => return None,
        };
        Some(patterns.into_iter().cycle().take(count).collect())
    }
}

/// The low `bits` bits.
fn mask(bits: u8) -> u64 {
    u64::MAX >> (64 - u32::from(bits))
}
