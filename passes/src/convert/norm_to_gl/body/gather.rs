//! Translates `norm.gather` to `gl.gather`, with the mask that keeps it within the buffer.
//!
//! The mask is computed over the axes that the computed values vary over, and those that are added to them: for a row whose number was
//! read, once for each row.

use melior::ir::{AffineExpr, Attribute, BlockLike, Type, Value, ValueLike, r#type::IntegerType};
use norma_dialects::{
    gl::{self, CoordinatesOp},
    norm::GatherOp,
};

use crate::{
    gl::quotient_form::QuotientForm,
    kernel::space::Access,
    mlir::{
        affine::{Leaf, substitute},
        comparison::IntegerPredicate,
        pass::PassError,
        types,
    },
};

use super::{
    super::{placement::Axes, tiles::Tiles},
    Body, Translated, set_of,
};

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    pub(super) fn gather(&mut self, position: usize, gather: GatherOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let access = self.access(self.space.access(gather.op())?)?;
        let inside = self.inside(&access)?;
        let dims = access.dims();
        let axes = self.placement.axes(&dims) | inside.axes;
        let guards = self.guards_over(&dims);
        let local = self.localize(&access.coordinates, &self.sides(&guards), axes)?;
        let (result, element) = (gather.result()?, gather.result()?.r#type());
        let visit = self.next_visit(position);
        let built = gl::GatherOp::build(
            self.b.location(),
            self.entry.argument(access.buffer)?.into(),
            &local.indices,
            &local.places,
            &local.limits,
            Some(self.as_tile(inside, axes)?),
            local.access,
            local.guards,
            self.cache_hints(&access, visit, self.moves_whole_sectors(&access)),
            None,
            self.tiles.tile(element, axes)?,
        )?;
        let tile = self.b.insert(built).result(0)?.into();
        let translated = Translated {
            value: Tiles::unwrap(&self.b, tile, element, axes),
            element,
            axes,
            zero_outside: set_of(&guards),
        };
        self.define(result, translated);
        self.define(gather.inside()?, inside);
        Ok(())
    }

    /// Whether the condition of an access holds, and each coordinate that depends on computed values lies within the buffer. The others
    /// do so anyway.
    pub(super) fn inside(&mut self, access: &Access<'c, 'a>) -> Result<Translated<'c, 'a>, PassError<'c>> {
        let i1: Type<'c> = IntegerType::new(self.b.context(), 1).into();
        let mut inside = match access.condition {
            Some(condition) => Some(self.value(condition)?),
            None => None,
        };
        for (axis, coordinate) in access.coordinates.iter().enumerate() {
            if access.indirect_in(axis).next().is_none() {
                continue;
            }
            let coordinate = self.coordinate(*coordinate)?;
            let limit = self.scalar(self.size_of_axis(access.buffer, axis)?);
            // As an unsigned number, a negative coordinate is beyond every size.
            let less = self.b.i64_attribute(IntegerPredicate::UnsignedLess as i64);
            let is_less = self.both("arith.cmpi", [coordinate, limit], i1, &[("predicate", less)])?;
            inside = Some(match inside {
                None => is_less,
                Some(others) => self.both("arith.andi", [others, is_less], i1, &[])?,
            });
        }
        Ok(inside.unwrap_or_else(|| self.scalar(self.b.integer(i1, 1))))
    }

    /// The value of a coordinate, which is a sum of multiples of computed values and an expression over dims and numbers.
    fn coordinate(&mut self, coordinate: AffineExpr<'c>) -> Result<Translated<'c, 'a>, PassError<'c>> {
        let context = self.b.context();
        let index = Type::index(context);
        let scalars = self.space.scalars.len();
        let (dims, values) = (self.space.dims.len(), self.space.symbols());
        // What is left without the computed values.
        let rest = substitute(coordinate, &mut |leaf| match leaf {
            Leaf::Dim(dim) => AffineExpr::dim(context, dim),
            Leaf::Symbol(symbol) if symbol < scalars => AffineExpr::symbol(context, symbol),
            Leaf::Symbol(_) => AffineExpr::constant(context, 0),
        });
        let mut sum = None;
        if !rest.is_constant() || rest.constant_value() != 0 {
            let used = (0..dims)
                .filter(|dim| rest.is_function_of_dim(*dim))
                .collect::<Vec<_>>();
            sum = Some(self.affine(rest, self.placement.axes(&used))?);
        }
        let form = QuotientForm::of(coordinate, dims, values.len());
        let form = form.ok_or_else(|| self.internal("expected a coordinate without products"))?;
        for (value, factor) in values.into_iter().zip(form.symbols).skip(scalars) {
            let value = match factor {
                0 => continue,
                1 => self.value(value)?,
                _ => {
                    let factors = [self.value(value)?, self.scalar(self.b.index(factor))];
                    self.both("arith.muli", factors, index, &[])?
                }
            };
            sum = Some(match sum {
                None => value,
                Some(sum) => self.both("arith.addi", [sum, value], index, &[])?,
            });
        }
        Ok(sum.unwrap_or_else(|| self.scalar(self.b.index(0))))
    }

    /// The value of an expression over dims and numbers, over `axes`.
    fn affine(
        &mut self,
        expression: AffineExpr<'c>,
        axes: Axes,
    ) -> Result<Translated<'c, 'a>, PassError<'c>> {
        let element = Type::index(self.b.context());
        let local = self.localize(&[expression], &[], axes)?;
        let tile = self.tiles.tile(element, axes)?;
        let built = CoordinatesOp::build(self.b.location(), &local.indices, local.access, tile)?;
        let tile = self.b.insert(built).result(0)?.into();
        Ok(Translated {
            value: Tiles::unwrap(&self.b, tile, element, axes),
            element,
            axes,
            zero_outside: 0,
        })
    }

    fn scalar(&self, value: Value<'c, 'a>) -> Translated<'c, 'a> {
        Translated {
            value,
            element: value.r#type(),
            axes: 0,
            zero_outside: 0,
        }
    }

    /// The result, of elements `element`, of an elementwise op on two values, over the axes of both.
    fn both(
        &self,
        name: &str,
        operands: [Translated<'c, 'a>; 2],
        element: Type<'c>,
        attributes: &[(&str, Attribute<'c>)],
    ) -> Result<Translated<'c, 'a>, PassError<'c>> {
        let axes = operands[0].axes | operands[1].axes;
        let widened = [self.widen(operands[0], axes)?, self.widen(operands[1], axes)?];
        Ok(Translated {
            value: self
                .b
                .value_with(name, &widened, self.tiles.ty(element, axes)?, attributes),
            element,
            axes,
            zero_outside: 0,
        })
    }

    /// The size of an axis of a buffer of the kernel, as an index.
    fn size_of_axis(&self, buffer: usize, axis: usize) -> Result<Value<'c, 'a>, PassError<'c>> {
        let shape = types::shape(self.space.buffers[buffer].r#type()).unwrap_or_default();
        match shape.get(axis) {
            Some(Some(size)) => Ok(self.b.index(*size)),
            _ => self.dynamic_size(buffer, axis),
        }
    }
}
