//! Copies of whole granules of the copy engine around runs that begin and end within one.
//!
//! Elements of a copy to shared memory that its guards do not admit are undefined, so that a copy may bring them as well. Then
//! each granule that holds an admitted element is copied as a whole, as where rows begin anywhere. Such a granule lies in the
//! buffer, whose address is a multiple of the granule, unless the buffer ends within it. Of that one the admitted elements are
//! loaded one by one.

use melior::ir::{AffineExpr, AffineMap, Type, Value, ValueLike};
use norma_dialects::gl::CopyToSharedOp;
use norma_targets::COPY_ENGINE_GRANULE;

use crate::{
    gl::{access, divisibility},
    mlir::{affine_value, builder::Builder, types},
};

use super::tile_copy::TileCopy;

/// A buffer of which elements around a tile may be read: nothing writes it during the kernel, and only its outermost size
/// decides where it ends.
pub(super) struct Surroundings<'c, 'a> {
    buffer: Value<'c, 'a>,
    strides: Vec<i64>,
    /// The elements of a granule.
    granule: i64,
}

impl<'c: 'a, 'a> Surroundings<'c, 'a> {
    /// The surroundings of a tile that is copied from a buffer; `None` if only the tile itself may be accessed.
    pub fn of(copy: &TileCopy<'c, 'a>, element_bytes: i64) -> Option<Self> {
        let buffer = copy.buffer;
        let may_be_read = CopyToSharedOp::from_op(copy.op).is_some()
            && access::is_only_read(buffer)
            && access::has_static_end(buffer)
            && divisibility::alignment(buffer) % COPY_ENGINE_GRANULE == 0
            && COPY_ENGINE_GRANULE % element_bytes == 0;
        let (strides, _) = types::strides_and_offset(buffer.r#type()).filter(|_| may_be_read)?;
        Some(Self {
            buffer,
            strides: strides.into_iter().collect::<Option<_>>()?,
            granule: COPY_ENGINE_GRANULE / element_bytes,
        })
    }

    /// The elements of a granule.
    pub fn granule(&self) -> i64 {
        self.granule
    }

    /// How many elements from a run's first one are copied, of type index: as many granules as hold the `admitted` ones, but
    /// none in which the buffer ends. `first` is the place of the run's first element in the buffer.
    pub fn copied(
        &self,
        b: &Builder<'c, 'a>,
        first: &[AffineExpr<'c>],
        indices: &[Value<'c, 'a>],
        admitted: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let context = b.context();
        let index = Type::index(context);
        let constant = |value: i64| AffineExpr::constant(context, value);
        let granule = constant(self.granule);
        let apply = |value: AffineExpr<'c>, operands: &[Value<'c, 'a>]| {
            let map = AffineMap::new(context, operands.len() - 1, 1, &[value]);
            affine_value::apply(b, map, operands)
        };
        let symbol = AffineExpr::symbol(context, 0);
        let held = apply(AffineExpr::ceil_div(symbol, granule) * granule, &[admitted]);

        let size = b.value("memref.dim", &[self.buffer, b.index(0)], index);
        let sizes = types::shape(self.buffer.r#type()).unwrap_or_default();
        let ends = sizes.iter().enumerate().map(|(axis, size)| match (axis, size) {
            (1.., Some(size)) => constant(*size),
            _ => symbol,
        });
        let distances = ends.zip(first).zip(&self.strides);
        let left = distances.fold(constant(1), |left, ((end, place), stride)| {
            left + (end + *place * constant(-1) + constant(-1)) * constant(*stride)
        });
        let operands = [indices, &[size]].concat();
        let room = apply(AffineExpr::floor_div(left, granule) * granule, &operands);
        let copied = b.value("arith.minsi", &[held, room], index);
        b.value("arith.maxsi", &[copied, b.index(0)], index)
    }
}
