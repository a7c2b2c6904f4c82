//! Translates `norm.gather` to `gl.gather`, with the mask that keeps it within the buffer.

use melior::ir::{BlockLike, Type, Value, ValueLike, r#type::IntegerType};
use norma_dialects::{gl, norm::GatherOp};

use crate::mlir::{comparison::IntegerPredicate, pass::PassError, types};

use super::{Body, Translated};

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    pub(super) fn gather(&mut self, gather: GatherOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let coordinates = gather.coordinates().into_iter();
        let coordinates = coordinates.map(|coordinate| self.value(coordinate));
        let coordinates = coordinates.collect::<Result<Vec<_>, _>>()?;
        let axes = coordinates
            .iter()
            .fold(0, |axes, coordinate| axes | coordinate.axes);
        let widened = coordinates.iter().map(|coordinate| self.widen(*coordinate, axes));
        let widened = widened.collect::<Result<Vec<_>, _>>()?;
        let i1: Type<'c> = IntegerType::new(self.b.context(), 1).into();
        let mask_type = self.tiles.ty(i1, axes)?;
        let buffer = gather.buffer()?;
        let mut mask = None;
        for (axis, coordinate) in widened.iter().enumerate() {
            let limit = self.size_of_axis(buffer, axis)?;
            let limit = self.tiles.widen(&self.b, limit, limit.r#type(), 0, axes)?;
            // As an unsigned number, a negative coordinate is beyond every size.
            let less = self.b.i64_attribute(IntegerPredicate::UnsignedLess as i64);
            let is_less = (self.b).value_with(
                "arith.cmpi",
                &[*coordinate, limit],
                mask_type,
                &[("predicate", less)],
            );
            mask = Some(match mask {
                None => is_less,
                Some(others) => self.b.value("arith.andi", &[others, is_less], mask_type),
            });
        }
        let mask = mask.unwrap_or_else(|| self.b.integer(i1, 1));
        let element = gather.result()?.r#type();
        let position = self.buffer_position(buffer)?;
        let built = gl::GatherOp::build(
            self.b.location(),
            self.entry.argument(position)?.into(),
            &widened,
            mask,
            self.tiles.ty(element, axes)?,
        )?;
        let value = self.b.insert(built).result(0)?.into();
        let zero_outside = 0;
        for (result, value, element) in [(gather.result()?, value, element), (gather.inside()?, mask, i1)] {
            self.define(
                result,
                Translated {
                    value,
                    element,
                    axes,
                    zero_outside,
                },
            );
        }
        Ok(())
    }

    fn buffer_position(&self, buffer: Value<'c, 'a>) -> Result<usize, PassError<'c>> {
        let position = self.space.buffers.iter().position(|known| *known == buffer);
        Ok(position.ok_or_else(|| self.internal("expected a buffer of the kernel"))?)
    }

    /// The size of an axis of a buffer of the kernel, as an index.
    fn size_of_axis(&self, buffer: Value<'c, 'a>, axis: usize) -> Result<Value<'c, 'a>, PassError<'c>> {
        let shape = types::shape(buffer.r#type()).unwrap_or_default();
        if let Some(Some(size)) = shape.get(axis) {
            return Ok(self.b.index(*size));
        }
        self.dynamic_size(self.buffer_position(buffer)?, axis)
    }
}
