//! `gl.gather`: one load for each vector, predicated by what masks it.
//!
//! Within a vector the places and the mask are the same, so that those of its first element move and mask all of it. A vector of which a
//! guard may admit only a part is loaded element by element.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::gl::GatherOp;

use crate::mlir::conversion::{ConversionBuilder, Rejection};

use super::{
    access::Access,
    emit::{Emit, Value},
    form::Scalars,
    global::Vector,
    guards::{Predicate, Reach},
    params::Buffer,
    places::Places,
    tile,
};

/// Lowers `gl.gather`.
pub(super) fn gather<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let gather = GatherOp::from_op(op).ok_or("expected gl.gather")?;
    let tile = tile::Tile::of(&e, gather.tile()?.r#type())?;
    let element = tile::memory_element(&e, tile.element);
    let vector = Vector::of(&e, &tile.layout, gather.vector(), element)?;
    let (buffer, rest) = operands.split_first().ok_or("expected a buffer")?;
    let (indices, limits) = (gather.indices(), gather.limits());
    let (of_indices, rest) = rest.split_at(indices.len());
    let (places, rest) = rest.split_at(gather.places().len());
    let (of_limits, mask) = rest.split_at(limits.len());
    let strides = Buffer::of(&e, op, gather.buffer()?)?.strides(&e)?;
    let places = Places::of(
        &e,
        gather.access()?,
        indices.len(),
        places,
        mask.first(),
        &strides,
    )?;
    let indices = Scalars::new(of_indices, indices);
    let access = Access::new(
        &e,
        &tile.layout,
        (0..tile.layout.num_registers()).collect(),
        indices,
    )?;
    let map = places.left_out_of(&e, gather.access()?)?;
    let addresses = access.addresses(map, *buffer, &strides, element, vector.count)?;
    let guards = match gather.guards() {
        Some(guards) => Some(places.left_out_of(&e, guards)?),
        None => None,
    };
    let guards = access.guards(guards, &Scalars::new(of_limits, limits))?;
    let single = Vector::of(&e, &tile.layout, None, element)?;
    let mut result = e.splat(e.b.zero(element), tile.layout.num_registers())?;
    for first in vector.first_registers() {
        let (parts, reach) = match guards.within(first, vector.count)? {
            Reach::Whole(predicate) => (&vector, Some(predicate)),
            Reach::Part { .. } => (&single, None),
        };
        for register in (first..first + vector.count).step_by(parts.count) {
            let guard = match reach {
                Some(predicate) => predicate,
                None => guards.at(register)?,
            };
            let predicate = guard.and(&e, places.mask(register));
            if matches!(predicate, Predicate::Never) {
                continue;
            }
            let pointer = places.moved(&e, addresses.of(&e, register), element, register);
            let part = parts.load(&e, pointer, predicate, gather.cache())?;
            result = e.insert(part, result, register);
        }
    }
    b.replace(op, &[tile::from_memory(&e, result, tile.element)?]);
    Ok(())
}
