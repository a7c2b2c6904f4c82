//! Tiles in other layouts: their types, and the conversions to them.

use melior::ir::{Type, Value, ValueLike};
use norma_dialects::{gl::ConvertLayoutOp, layout};
use norma_layout::LinearLayout;

use crate::mlir::{builder::Builder, diagnostic::Diagnostic, types};

/// The type of a tile like one of type `ty`, in `layout`.
///
/// # Errors
///
/// Internal: `layout` is not one of tiles of this shape.
pub(super) fn tile_type<'c>(
    b: &Builder<'c, '_>,
    ty: Type<'c>,
    layout: &LinearLayout,
) -> Result<Type<'c>, Diagnostic<'c>> {
    let encoding = layout::to_attribute(b.context(), layout);
    let shape = types::shape(ty).unwrap_or_default();
    types::tensor(&shape, types::element(ty), Some(encoding.into()))
        .ok_or_else(|| Diagnostic::internal(b.location(), "the layout does not fit the tile"))
}

/// `tile` in `layout`: the tile itself if that is its layout, and a conversion otherwise.
///
/// # Errors
///
/// As [`tile_type`].
pub(super) fn in_layout<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    tile: Value<'c, 'a>,
    layout: &LinearLayout,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    if layout::of_tile(tile.r#type()).as_ref() == Ok(layout) {
        return Ok(tile);
    }
    let ty = tile_type(b, tile.r#type(), layout)?;
    Ok(b.value(ConvertLayoutOp::NAME, &[tile], ty))
}
