//! Tiles that threads exchange through shared memory, in the order of a [`MemoryExchange`]: the memory's type, the tile that is stored and
//! the tile that is loaded, whose registers are numbered so that vectors are lowest.

use melior::ir::{Type, Value, ValueLike};
use norma_dialects::{
    gl::{ConvertLayoutOp, LocalLoadOp, MemDescType, SharedLinearAttr},
    layout,
};
use norma_layout::{LinearLayout, MemoryExchange};

use crate::mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError, types};

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
    let in_vectors = tile_type(b, ty, &exchange.loaded)?;
    let load = LocalLoadOp::build(b.location(), memory, &[], &[], None, None, in_vectors)?;
    let loaded: Value<'c, 'a> = b.insert(load).result(0)?.into();
    Ok(match loaded.r#type() == ty {
        true => loaded,
        false => b.value(ConvertLayoutOp::NAME, &[loaded], ty),
    })
}

/// `tile` in `layout`, which differs from its own in the numbers of registers at most.
///
/// # Errors
///
/// User: the tile's encoding is no layout. Internal: `layout` is not one of tiles like it.
pub(super) fn renumbered<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    tile: Value<'c, 'a>,
    layout: &LinearLayout,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let found = layout::of_tile(tile.r#type()).map_err(|error| Diagnostic::user(b.location(), error))?;
    if found == *layout {
        return Ok(tile);
    }
    Ok(b.value(
        ConvertLayoutOp::NAME,
        &[tile],
        tile_type(b, tile.r#type(), layout)?,
    ))
}

/// The type of a tile like one of type `ty`, but in `layout`; `ty` itself if that is its layout.
fn tile_type<'c>(
    b: &Builder<'c, '_>,
    ty: Type<'c>,
    layout: &LinearLayout,
) -> Result<Type<'c>, Diagnostic<'c>> {
    if layout::of_tile(ty).as_ref() == Ok(layout) {
        return Ok(ty);
    }
    let encoding = layout::to_attribute(b.context(), layout);
    let shape = types::shape(ty).unwrap_or_default();
    types::tensor(&shape, types::element(ty), Some(encoding.into()))
        .ok_or_else(|| Diagnostic::internal(b.location(), "the layout does not fit the tile"))
}
