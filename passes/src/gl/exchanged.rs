//! Tiles that threads exchange through shared memory, in the order of a [`MemoryExchange`]: the memory's type, the tile that is stored and
//! the tile that is loaded, whose registers are numbered so that vectors are lowest.

use melior::ir::{Type, Value, ValueLike};
use norma_dialects::{
    gl::{ConvertLayoutOp, LocalLoadOp, MemDescType, SharedLinearAttr},
    layout,
};
use norma_layout::MemoryExchange;

use super::tile_layouts::tile_type;
use crate::mlir::{builder::Builder, pass::PassError};

/// The memory of an exchange of tiles of `element`.
pub(super) fn memory<'c>(
    b: &Builder<'c, '_>,
    exchange: &MemoryExchange,
    element: Type<'c>,
) -> MemDescType<'c> {
    let bases = layout::bases_attribute(b.context(), &exchange.memory);
    let order = SharedLinearAttr::get(b.context(), bases);
    MemDescType::get(b.context(), exchange.stored.shape(), element, order.into())
}

/// Loads a tile of type `ty` from the memory of an exchange.
///
/// # Errors
///
/// Internal: the exchange is not one of tiles like `ty`.
pub(super) fn loaded<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    memory: Value<'c, 'a>,
    exchange: &MemoryExchange,
    ty: Type<'c>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let in_vectors = match layout::of_tile(ty).as_ref() == Ok(&exchange.loaded) {
        true => ty,
        false => tile_type(b, ty, &exchange.loaded)?,
    };
    let load = LocalLoadOp::build(b.location(), memory, &[], &[], None, None, in_vectors)?;
    let loaded: Value<'c, 'a> = b.insert(load).result(0)?.into();
    Ok(match loaded.r#type() == ty {
        true => loaded,
        false => b.value(ConvertLayoutOp::NAME, &[loaded], ty),
    })
}
