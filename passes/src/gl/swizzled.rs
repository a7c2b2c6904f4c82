//! Shared memory in the order in which a swizzle of a tensor map leaves a tile: its type, and the span of the swizzle that a type is for.

use melior::{
    Context,
    ir::{OperationRef, ValueLike},
};
use norma_dialects::{
    gl::{MemDescType, SharedLinearAttr, TensorLoadOp, TensorMapType, TensorStoreOp},
    layout,
};
use norma_layout::tensor_swizzle;
use norma_targets::{BOX_ALIGNMENT, SWIZZLE_REPEATS, SWIZZLE_SPANS};

use crate::mlir::types;

/// The memory of the shape and elements of `tile` that copies with a swizzle over `span` bytes fill or read, for a tile in rows of `row`
/// elements; `None` if rows are shorter than the span, or the next tile would not begin where the swizzle repeats.
pub fn memory<'c>(
    context: &'c Context,
    tile: MemDescType<'c>,
    row: i64,
    span: i64,
) -> Option<MemDescType<'c>> {
    let bytes = types::element_bytes(tile.element_type())?;
    let order = tensor_swizzle(tile.shape(), row, bytes, span).ok()??;
    let whole = tile.shape().iter().product::<i64>() * bytes;
    let bases = layout::bases_attribute(context, &order);
    let ty = || {
        let order = SharedLinearAttr::get(context, bases).into();
        MemDescType::get(context, tile.shape(), tile.element_type(), order)
    };
    (whole % alignment(span) == 0).then(ty)
}

/// The bytes over which the copies to or from a memory, in rows of `row` elements, are swizzled; `None` for memory that they access row by
/// row.
pub fn span_of<'c>(context: &'c Context, tile: MemDescType<'c>, row: i64) -> Option<i64> {
    let is_for = |span: &i64| memory(context, tile, row, *span) == Some(tile);
    SWIZZLE_SPANS.into_iter().find(is_for)
}

/// The alignment in bytes that the shared memory of an op needs if the copy engine accesses it by that op: that of a box, or more with a
/// swizzle.
pub fn alignment_of(op: OperationRef<'_, '_>) -> i64 {
    let load = TensorLoadOp::from_op(op).and_then(|load| load.map().ok());
    let store = || TensorStoreOp::from_op(op).and_then(|store| store.map().ok());
    let map = load
        .or_else(store)
        .and_then(|map| TensorMapType::from_type(map.r#type()));
    map.map_or(BOX_ALIGNMENT, |map| alignment(map.swizzle()).max(BOX_ALIGNMENT))
}

/// The alignment in bytes of memory that is swizzled over `span` bytes.
fn alignment(span: i64) -> i64 {
    span * SWIZZLE_REPEATS
}
