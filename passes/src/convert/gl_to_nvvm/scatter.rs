//! `gl.scatter`: one store for each vector, predicated by what masks it.
//!
//! As in [`super::gather`], the place and the mask of a vector are those of its first element, and a vector of which a guard may admit
//! only a part is stored element by element.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::gl::ScatterOp;
use norma_layout::HardwareDim;

use crate::mlir::conversion::{ConversionBuilder, Rejection};

use super::{
    access::Access,
    emit::{Emit, Value},
    form::Scalars,
    global::Vector,
    guards::{Predicate, Reach},
    params::Buffer,
    places::Places,
    threads, tile,
};

/// Lowers `gl.scatter`.
pub(super) fn scatter<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let scatter = ScatterOp::from_op(op).ok_or("expected gl.scatter")?;
    let tile = tile::Tile::of(&e, scatter.tile()?.r#type())?;
    let element = tile::memory_element(&e, tile.element);
    let vector = Vector::of(&e, &tile.layout, scatter.vector(), element)?;
    let [value, buffer, rest @ ..] = operands else {
        return Err("expected a tile and a buffer".into());
    };
    let (indices, limits) = (scatter.indices(), scatter.limits());
    let (of_indices, rest) = rest.split_at(indices.len());
    let (places, rest) = rest.split_at(scatter.places().len());
    let (of_limits, mask) = rest.split_at(limits.len());
    let strides = Buffer::of(&e, op, scatter.buffer()?)?.strides(&e)?;
    let places = Places::of(
        &e,
        scatter.access()?,
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
    let map = places.left_out_of(&e, scatter.access()?)?;
    let addresses = access.addresses(map, *buffer, &strides, element, vector.count)?;
    let guards = match scatter.guards() {
        Some(guards) => Some(places.left_out_of(&e, guards)?),
        None => None,
    };
    let guards = access.guards(guards, &Scalars::new(of_limits, limits))?;
    let holds = match threads::first_holder(&e, &tile.layout) {
        Some(holder) => Predicate::When(holder),
        None => Predicate::Always,
    };
    let value = tile::to_memory(&e, *value)?;
    let single = Vector::of(&e, &tile.layout, None, element)?;
    let copies = tile.layout.copies(HardwareDim::Register);
    for first in vector.first_registers().filter(|register| register & copies == 0) {
        let (parts, reach) = match guards.within(first, vector.count)? {
            Reach::Whole(predicate) => (&vector, Some(predicate)),
            Reach::Part { .. } => (&single, None),
        };
        for register in (first..first + vector.count).step_by(parts.count) {
            let guard = match reach {
                Some(predicate) => predicate,
                None => guards.at(register)?,
            };
            let predicate = guard.and(&e, places.mask(register)).and(&e, holds);
            if matches!(predicate, Predicate::Never) {
                continue;
            }
            let part = e.slice(value, register, parts.count)?;
            let pointer = places.moved(&e, addresses.of(&e, register), element, register);
            parts.store(&e, part, pointer, predicate, scatter.cache())?;
        }
    }
    b.erase(op);
    Ok(())
}
