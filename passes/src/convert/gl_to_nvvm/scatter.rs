//! `gl.scatter`: one store for each vector, predicated by what masks it.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::gl::ScatterOp;
use norma_layout::HardwareDim;

use crate::mlir::{builder::Builder, conversion::Rejection};

use super::{
    emit::{Emit, Value},
    guards::Predicate,
    places::Places,
    threads, tile,
};

/// Lowers `gl.scatter`.
pub(super) fn scatter<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let scatter = ScatterOp::from_op(op).ok_or("expected gl.scatter")?;
    let tile = tile::Tile::of(&e, scatter.tile()?.r#type())?;
    let (value, operands) = operands.split_first().ok_or("expected a tile")?;
    let places = Places {
        tile: scatter.tile()?,
        buffer: scatter.buffer()?,
        indices: scatter.indices(),
        places: scatter.places().len(),
        limits: scatter.limits(),
        access: scatter.access()?,
        guards: scatter.guards(),
        vector: scatter.vector(),
    };
    let holds = match threads::first_holder(&e, &tile.layout) {
        Some(holder) => Predicate::When(holder),
        None => Predicate::Always,
    };
    let value = tile::to_memory(&e, *value)?;
    let copies = tile.layout.copies(HardwareDim::Register);
    places.each(&e, op, operands, |piece| {
        if piece.register & copies != 0 {
            return Ok(());
        }
        let part = e.slice(value, piece.register, piece.vector.count)?;
        let predicate = piece.predicate.and(&e, holds);
        piece
            .vector
            .store(&e, part, piece.pointer, predicate, scatter.cache())
    })?;
    b.erase(op);
    Ok(())
}
