//! `gl.gather`: one load for each vector, predicated by what masks it.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::gl::GatherOp;

use crate::mlir::{builder::Builder, conversion::Rejection};

use super::{
    emit::{Emit, Value},
    places::Places,
    tile,
};

/// Lowers `gl.gather`.
pub(super) fn gather<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let gather = GatherOp::from_op(op).ok_or("expected gl.gather")?;
    let tile = tile::Tile::of(&e, gather.tile()?.r#type())?;
    let places = Places {
        tile: gather.tile()?,
        buffer: gather.buffer()?,
        indices: gather.indices(),
        places: gather.places().len(),
        limits: gather.limits(),
        access: gather.access()?,
        guards: gather.guards(),
        vector: gather.vector(),
    };
    let zero = e.b.zero(tile::memory_element(&e, tile.element));
    let mut result = e.splat(zero, tile.layout.num_registers())?;
    places.each(&e, op, operands, |piece| {
        let part = piece
            .vector
            .load(&e, piece.pointer, piece.predicate, gather.cache())?;
        result = e.insert(part, result, piece.register);
        Ok(())
    })?;
    b.replace(op, &[tile::from_memory(&e, result, tile.element)?]);
    Ok(())
}
