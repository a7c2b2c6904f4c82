//! The scalar program of a kernel, op by op, as a program on tiles.
//!
//! Each value is translated once, to a tile over the dims it varies over. An op that combines values widens them to the
//! union of their dims first. `access` translates reads and writes, `reduction` reductions.

mod access;
mod reduction;

use std::collections::HashMap;

use melior::ir::{
    AffineExpr, Attribute, BlockLike, BlockRef, OperationRef, Type, Value, ValueLike,
    operation::OperationLike,
};
use norma_dialects::{
    gl::{CoordinatesOp, OptimizationBarrierOp},
    norm::{CacheOp, CachePlace, ReadOp, ReduceOp, WriteOp},
    op_name,
};

use crate::kernel::space::Space;
use crate::mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError, values::key};

use super::{
    placement::{Axes, Placement},
    tiles::Tiles,
};

/// A translated value.
#[derive(Clone, Copy)]
struct Translated<'c, 'a> {
    value: Value<'c, 'a>,
    element: Type<'c>,
    axes: Axes,
    /// Whether it is +0 at every point that a guard keeps out.
    zero_outside: bool,
}

/// Translates the body of a kernel into `entry`, whose arguments are the buffers.
pub(super) fn translate<'c: 'a, 'a>(
    space: &Space<'c, 'a>,
    placement: &Placement,
    tiles: &Tiles<'c>,
    entry: BlockRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let mut body = Body {
        space,
        placement,
        tiles,
        b: Builder::at_end(entry, space.location()),
        entry,
        values: HashMap::new(),
        sizes: HashMap::new(),
    };
    body.coordinates()?;
    for op in &space.ops {
        body.b.set_location(op.location());
        body.op(*op)?;
    }
    body.b.set_location(space.location());
    body.b.op("gpu.return", &[], &[]);
    Ok(())
}

struct Body<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    placement: &'s Placement,
    tiles: &'s Tiles<'c>,
    b: Builder<'c, 'a>,
    entry: BlockRef<'c, 'a>,
    values: HashMap<usize, Translated<'c, 'a>>,
    /// The sizes in use, by affine symbol.
    sizes: HashMap<usize, Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    fn internal(&self, message: impl std::fmt::Display) -> Diagnostic<'c> {
        Diagnostic::internal(self.b.location(), message)
    }

    fn unsupported(&self, message: impl std::fmt::Display) -> Diagnostic<'c> {
        Diagnostic::unsupported(self.b.location(), message)
    }

    fn define(&mut self, value: Value<'c, 'a>, translated: Translated<'c, 'a>) {
        self.values.insert(key(value), translated);
    }

    fn op(&mut self, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        if let Some(read) = ReadOp::from_op(op) {
            self.read(read)
        } else if let Some(write) = WriteOp::from_op(op) {
            self.write(write)
        } else if let Some(reduce) = ReduceOp::from_op(op) {
            self.reduce(reduce)
        } else if let Some(cache) = CacheOp::from_op(op) {
            self.cache(cache)
        } else {
            self.elementwise(op)
        }
    }

    /// The CTA's place along each grid dim: the last grid dim varies fastest with the CTA's number.
    fn coordinates(&mut self) -> Result<(), PassError<'c>> {
        let context = self.b.context();
        let index = Type::index(context);
        let dimension =
            Attribute::parse(context, "#gpu<dim x>").ok_or_else(|| self.internal("no grid dimension"))?;
        let mut rest = self
            .b
            .value_with("gpu.block_id", &[], index, &[("dimension", dimension)]);
        let grid = self.placement.grid().collect::<Vec<_>>();
        for (position, &dim) in grid.iter().enumerate().rev() {
            let coordinate = if position == 0 {
                rest
            } else {
                let extent = self.size_expression(self.space.extents[dim])?;
                let coordinate = self.b.value("arith.remui", &[rest, extent], index);
                rest = self.b.value("arith.divui", &[rest, extent], index);
                coordinate
            };
            self.define(
                self.space.dims[dim],
                Translated {
                    value: coordinate,
                    element: index,
                    axes: 0,
                    zero_outside: false,
                },
            );
        }
        Ok(())
    }

    /// An expression over the sizes, as a value of type index.
    fn size_expression(&mut self, expression: AffineExpr<'c>) -> Result<Value<'c, 'a>, PassError<'c>> {
        if expression.is_constant() {
            return Ok(self.b.index(expression.constant_value()));
        }
        if expression.is_symbol() {
            return self.size(expression.symbol_position());
        }
        if !expression.is_binary() {
            return Err(self
                .internal(format!("expected an expression over sizes, got {expression}"))
                .into());
        }
        let lhs = self.size_expression(expression.lhs())?;
        let rhs = self.size_expression(expression.rhs())?;
        let op = if expression.is_add() {
            "arith.addi"
        } else if expression.is_mul() {
            "arith.muli"
        } else if expression.is_floor_div() {
            "arith.divui"
        } else if expression.is_ceil_div() {
            "arith.ceildivui"
        } else {
            "arith.remui"
        };
        Ok(self.b.value(op, &[lhs, rhs], Type::index(self.b.context())))
    }

    /// The size that an affine symbol stands for.
    fn size(&mut self, symbol: usize) -> Result<Value<'c, 'a>, PassError<'c>> {
        if let Some(size) = self.sizes.get(&symbol) {
            return Ok(*size);
        }
        let (buffer, axis) = self.space.sizes[symbol];
        let memref = self.entry.argument(buffer)?.into();
        let axis = self.b.index(axis as i64);
        let size = self
            .b
            .value("memref.dim", &[memref, axis], Type::index(self.b.context()));
        self.sizes.insert(symbol, size);
        Ok(size)
    }

    /// A value of the kernel's body: translated already, or the coordinate along a tile dim.
    fn value(&mut self, value: Value<'c, 'a>) -> Result<Translated<'c, 'a>, PassError<'c>> {
        if let Some(translated) = self.values.get(&key(value)) {
            return Ok(*translated);
        }
        let dim = self
            .space
            .dim_position(value)
            .ok_or_else(|| self.internal("expected a value of the kernel's body"))?;
        let context = self.b.context();
        let index = Type::index(context);
        let axes = self.placement.axes(&[dim]);
        let local = self.localize(&[AffineExpr::dim(context, dim)], &[], axes)?;
        let coordinates = CoordinatesOp::build(
            self.b.location(),
            &local.indices,
            local.access,
            self.tiles.ty(index, axes)?,
        )?;
        let translated = Translated {
            value: self.b.insert(coordinates).result(0)?.into(),
            element: index,
            axes,
            zero_outside: false,
        };
        self.define(value, translated);
        Ok(translated)
    }

    /// `value` over `axes`.
    fn widen(&self, value: Translated<'c, 'a>, axes: Axes) -> Result<Value<'c, 'a>, PassError<'c>> {
        self.tiles
            .widen(&self.b, value.value, value.element, value.axes, axes)
    }

    fn elementwise(&mut self, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let name = op_name(op);
        let dialect = name.split('.').next().unwrap_or_default();
        if !matches!(dialect, "arith" | "math") || op.region_count() != 0 || op.result_count() != 1 {
            return Err(self
                .unsupported(format!(
                    "expected ops of arith, math and norm in a kernel, got {name}"
                ))
                .into());
        }
        let operands = op
            .operands()
            .map(|operand| self.value(operand))
            .collect::<Result<Vec<_>, _>>()?;
        let axes = operands.iter().fold(0, |axes, operand| axes | operand.axes);
        let widened = operands
            .iter()
            .map(|operand| self.widen(*operand, axes))
            .collect::<Result<Vec<_>, _>>()?;
        let element = op.result(0)?.r#type();
        let tile = self.b.rebuild(op, &widened, &[self.tiles.ty(element, axes)?]);
        let are_zero = !operands.is_empty() && operands.iter().all(|operand| operand.zero_outside);
        self.define(
            op.result(0)?.into(),
            Translated {
                value: tile.result(0)?.into(),
                element,
                axes,
                zero_outside: are_zero && keeps_zero(name),
            },
        );
        Ok(())
    }

    fn cache(&mut self, cache: CacheOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let place = cache.place()?;
        if place != CachePlace::Register {
            return Err(self
                .unsupported(format!(
                    "expected a value cached in registers, got {}",
                    place.keyword()
                ))
                .into());
        }
        let source = self.value(cache.value()?)?;
        let value = if source.axes == 0 {
            source.value
        } else {
            self.b.value(
                OptimizationBarrierOp::NAME,
                &[source.value],
                source.value.r#type(),
            )
        };
        self.define(cache.result()?, Translated { value, ..source });
        Ok(())
    }
}

/// Whether an op of zeros is +0. Sums and products of +0 are; so are conversions.
fn keeps_zero(name: &str) -> bool {
    matches!(
        name,
        "arith.extf"
            | "arith.truncf"
            | "arith.mulf"
            | "arith.addf"
            | "arith.sitofp"
            | "arith.uitofp"
            | "math.absf"
            | "math.sqrt"
    )
}
