//! Lowers ops that rearrange or make a thread's registers without memory: broadcasts, register permutations, coordinates,
//! masks, splats, single elements, optimization barriers.

use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use norma_dialects::gl::{BroadcastOp, ConvertLayoutOp, CoordinatesOp, MaskOp};

use crate::mlir::{builder::Builder, conversion::Rejection, diagnostic::Diagnostic, types};

use super::{
    access::Access,
    emit::{Emit, Value},
    form::Scalars,
    shuffle,
    tile::{self, Tile},
};

/// Lowers `gl.broadcast`.
pub(super) fn broadcast<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let broadcast = BroadcastOp::from_op(op).ok_or("expected gl.broadcast")?;
    let parent = Tile::of(&e, broadcast.result()?.r#type())?.layout;
    let slice = parent
        .slice(broadcast.axis()? as usize)
        .map_err(|error| e.internal(error))?;
    b.replace(op, &[e.shuffle(operands[0], &slice.slice_register)?]);
    Ok(())
}

/// Lowers a `gl.convert_layout` within a warp: registers are renumbered, or lanes exchange them.
pub(super) fn convert_layout<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let convert = ConvertLayoutOp::from_op(op).ok_or("expected gl.convert_layout")?;
    let from = Tile::of(&e, convert.source()?.r#type())?.layout;
    let to = Tile::of(&e, convert.result()?.r#type())?.layout;
    let map = from.register_map_to(&to).map_err(|error| e.unsupported(error))?;
    let converted = match (map, from.warp_exchange_to(&to)) {
        (Some(map), _) => e.shuffle(operands[0], &map)?,
        (None, Some(exchange)) => shuffle::exchange(&e, operands[0], &exchange)?,
        (None, None) => {
            let message = format!(
                "expected a conversion within a warp, got {from} to {to}; run gl-expand-conversions first"
            );
            return Err(Diagnostic::user(op.location(), message).into());
        }
    };
    b.replace(op, &[converted]);
    Ok(())
}

/// Lowers `gl.coordinates`.
pub(super) fn coordinates<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let coordinates = CoordinatesOp::from_op(op).ok_or("expected gl.coordinates")?;
    let layout = Tile::of(&e, coordinates.tile()?.r#type())?.layout;
    let registers = (0..layout.num_registers()).collect();
    let indices = Scalars::new(operands, coordinates.indices());
    let values = Access::new(&e, &layout, registers, indices)?.values(coordinates.map()?)?;
    b.replace(op, &[e.pack(&values)?]);
    Ok(())
}

/// Lowers `gl.mask`.
pub(super) fn mask<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let mask = MaskOp::from_op(op).ok_or("expected gl.mask")?;
    let layout = Tile::of(&e, mask.tile()?.r#type())?.layout;
    let (indices, limits) = operands.split_at(mask.indices().len());
    let indices = Scalars::new(indices, mask.indices());
    let limits = Scalars::new(limits, mask.limits());
    let registers = (0..layout.num_registers()).collect();
    let guards = Access::new(&e, &layout, registers, indices)?.guards(Some(mask.guards()?), &limits)?;
    let bits = (0..layout.num_registers())
        .map(|register| Ok(guards.at(register)?.value(&e)))
        .collect::<Result<Vec<_>, Diagnostic<'c>>>()?;
    b.replace(op, &[e.pack(&bits)?]);
    Ok(())
}

/// Lowers `tensor.splat`.
pub(super) fn splat<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let layout = Tile::of(&e, op.result(0)?.r#type())?.layout;
    b.replace(op, &[e.splat(operands[0], layout.num_registers())?]);
    Ok(())
}

/// Lowers `tensor.extract` of a tile without axes: every thread holds its element.
pub(super) fn extract<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let tile = op.operand(0)?.r#type();
    if operands.len() != 1 {
        return Err(e
            .unsupported(format!(
                "expected the element of a tile without axes, got one of {tile}"
            ))
            .into());
    }
    b.replace(op, &e.elements(operands[0])?);
    Ok(())
}

/// Lowers `gl.optimization_barrier` to an empty piece of inline PTX that LLVM cannot see through.
pub(super) fn optimization_barrier<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let given = operands[0].r#type();
    let bytes = match tile::as_loaded(operands[0]) {
        Some(bytes) => bytes,
        None => tile::to_memory(&e, operands[0])?,
    };
    let count = types::vector_len(given);
    let element_bytes = tile::element_bytes(&e, types::element(bytes.r#type()))?;
    // PTX has registers of 16, 32 and 64 bits: an odd number of bytes is widened.
    let is_odd = !(count * element_bytes).is_multiple_of(2);
    let (value, element_bytes) = match is_odd {
        true => {
            let wide = e.vector_of(count, e.int(16))?;
            (b.value("arith.extui", &[bytes], wide), 2)
        }
        false => (bytes, element_bytes),
    };
    let (bits, constraint) = match (count * element_bytes).is_multiple_of(4) {
        true => (32, "r"),
        false => (16, "h"),
    };
    let words_ty = e.vector_of(count * element_bytes * 8 / bits, e.int(bits as u32))?;
    let words = e.elements(e.bitcast(value, words_ty))?;
    let mut opaque = Vec::with_capacity(words.len());
    for word in words {
        let op = e.inline_ptx(
            "",
            &format!("={constraint},0"),
            &[word],
            Some(word.r#type()),
            true,
        );
        opaque.push(op.result(0)?.into());
    }
    let result = e.bitcast(e.pack(&opaque)?, value.r#type());
    let result = match is_odd {
        true => b.value("arith.trunci", &[result], bytes.r#type()),
        false => result,
    };
    let result = tile::from_memory(&e, result, types::element(given))?;
    b.replace(op, &[result]);
    Ok(())
}
