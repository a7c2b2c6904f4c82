//! `gl.gather`: one predicated load for each element.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::gl::GatherOp;

use crate::mlir::{
    conversion::{ConversionBuilder, Rejection},
    types,
};

use super::{
    emit::{Emit, Value},
    global::Vector,
    guards::Predicate,
    params::{Buffer, Stride},
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
    let [buffer, coordinates @ .., mask] = operands else {
        return Err("expected a buffer and a mask".into());
    };
    let result = gather.result()?.r#type();
    let element = tile::llvm_element(types::element(result), |bits| e.int(bits));
    let single = Vector::single(&e, tile::memory_element(&e, element))?;
    let strides = Buffer::of(&e, op, gather.buffer()?)?.strides(&e)?;
    let elements_of = |value: Value<'c, 'a>| match types::is_vector(value.r#type()) {
        true => e.elements(value).map_err(|error| e.internal(error)),
        false => Ok(vec![value]),
    };
    let masks = elements_of(*mask)?;
    let coordinates = coordinates.iter().map(|coordinate| elements_of(*coordinate));
    let coordinates = coordinates.collect::<Result<Vec<_>, _>>()?;
    let mut loaded = Vec::with_capacity(masks.len());
    for (register, mask) in masks.into_iter().enumerate() {
        let terms = coordinates
            .iter()
            .zip(&strides)
            .map(|(coordinate, stride)| match stride {
                Stride::Static(stride) => e.scale(coordinate[register], *stride),
                Stride::Dynamic(stride) => e.muli(coordinate[register], *stride),
            });
        let pointer = match e.sum(terms) {
            None => *buffer,
            Some(offset) => e.element_pointer(*buffer, single.element, offset),
        };
        let value = single.load(&e, pointer, Predicate::When(mask), None)?;
        let value = tile::from_memory(&e, value, element)?;
        loaded.extend(e.elements(value).map_err(|error| e.internal(error))?);
    }
    let value = match (types::is_tensor(result), &loaded[..]) {
        (false, [value]) => *value,
        _ => e.pack(&loaded)?,
    };
    b.replace(op, &[value]);
    Ok(())
}
