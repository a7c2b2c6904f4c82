//! The scalar program of a kernel, op by op, as a program on tiles.
//!
//! Each value is translated once, to a tile over the dims it varies over. An op that combines values widens them to the
//! union of their dims first. A reduction sees the combiner's identity where a guard keeps points out: by a select, or
//! by nothing at all where the value is known to be the identity because every read gives zero there.

use std::collections::HashMap;

use melior::ir::{
    AffineExpr, AffineMap, Attribute, Block, BlockLike, BlockRef, OperationRef, Region, RegionLike, Type,
    Value, ValueLike,
    attribute::{DenseI32ArrayAttribute, IntegerAttribute},
    block::BlockArgument,
    operation::OperationLike,
    r#type::IntegerType,
};
use mlir_sys::mlirAffineMapAttrGet;
use norma_dialects::norm::{CacheOp, CachePlace, KernelOp, ReadOp, ReduceKind, ReduceOp, WriteOp};

use crate::support::{
    builder::Builder, diagnostic::Diagnostic, linear_form::LinearForm, pass::PassError, types,
};

use super::{
    space::{Dim, Space},
    tiles::{Axes, Tiles},
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

/// Translates the body of `kernel` into `entry`, whose arguments are the buffers.
pub(super) fn translate<'c: 'a, 'a>(
    kernel: KernelOp<'c, 'a>,
    space: &Space<'c, 'a>,
    tiles: &Tiles<'c>,
    entry: BlockRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let mut body = Body {
        space,
        tiles,
        b: Builder::at_end(entry, space.location()),
        entry,
        values: HashMap::new(),
        sizes: HashMap::new(),
    };
    body.coordinates()?;
    let mut next = space.block().first_operation();
    while let Some(op) = next {
        body.b.set_location(op.location());
        body.op(op)?;
        next = op.next_in_block();
    }
    body.b.set_location(kernel.op().location());
    body.b.op("gpu.return", &[], &[]);
    Ok(())
}

struct Body<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    tiles: &'s Tiles<'c>,
    b: Builder<'c, 'a>,
    entry: BlockRef<'c, 'a>,
    values: HashMap<usize, Translated<'c, 'a>>,
    sizes: HashMap<usize, Value<'c, 'a>>,
}

/// What identifies a value while the IR around it stays.
fn key(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    fn internal(&self, message: impl std::fmt::Display) -> Diagnostic<'c> {
        Diagnostic::internal(self.b.location(), message)
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

    // Dims and sizes.

    /// The CTA's place along each grid dim: the last grid dim varies fastest with the CTA's number.
    fn coordinates(&mut self) -> Result<(), PassError<'c>> {
        let context = self.b.context();
        let index = Type::index(context);
        let grid = self.space.grid();
        let dimension =
            Attribute::parse(context, "#gpu<dim x>").ok_or_else(|| self.internal("no grid dimension"))?;
        let mut rest = self
            .b
            .value_with("gpu.block_id", &[], index, &[("dimension", dimension)]);
        for (position, &dim) in grid.iter().enumerate().rev() {
            let coordinate = if position == 0 {
                rest
            } else {
                let extent = self.size_expression(self.space.extent(dim)?)?;
                let coordinate = self.b.value("arith.remui", &[rest, extent], index);
                rest = self.b.value("arith.divui", &[rest, extent], index);
                coordinate
            };
            let argument = self.dim_argument(dim)?;
            self.define(
                argument,
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

    fn dim_argument(&self, dim: usize) -> Result<Value<'c, 'a>, PassError<'c>> {
        Ok(self
            .space
            .block()
            .argument(self.space.buffers().len() + dim)?
            .into())
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
        let (buffer, axis) = self.space.sizes()[symbol];
        let memref = self.entry.argument(buffer)?.into();
        let axis = self.b.index(axis as i64);
        let size = self
            .b
            .value("memref.dim", &[memref, axis], Type::index(self.b.context()));
        self.sizes.insert(symbol, size);
        Ok(size)
    }

    // Accesses.

    /// The tile dims among dims of the space.
    fn axes_of(&self, dims: impl Iterator<Item = usize>) -> Axes {
        dims.fold(0, |axes, dim| match self.space.dims()[dim] {
            Dim::Tile(position) => axes | 1 << position,
            Dim::Grid(_) => axes,
        })
    }

    /// Expressions over all dims of the space and its sizes, re-expressed over scalar indices (the grid dims in use), the
    /// axes of a tile over `axes`, and limits (the sizes in use).
    fn localize(
        &mut self,
        expressions: &[AffineExpr<'c>],
        axes: Axes,
    ) -> Result<Localized<'c, 'a>, PassError<'c>> {
        let context = self.b.context();
        let num_dims = self.space.dims().len();
        let uses = |dim: usize| {
            expressions
                .iter()
                .any(|expression| expression.is_function_of_dim(dim))
        };
        let used = self
            .space
            .grid()
            .into_iter()
            .filter(|dim| uses(*dim))
            .collect::<Vec<_>>();
        let mut indices = Vec::new();
        for dim in &used {
            let argument = self.dim_argument(*dim)?;
            indices.push(self.value(argument)?.value);
        }
        let replacements = (0..num_dims)
            .map(|dim| match self.space.dims()[dim] {
                Dim::Grid(_) => match used.iter().position(|grid| *grid == dim) {
                    Some(position) => AffineExpr::dim(context, position),
                    None => AffineExpr::constant(context, 0),
                },
                Dim::Tile(position) if axes >> position & 1 == 1 => {
                    AffineExpr::dim(context, indices.len() + Tiles::position(axes, position))
                }
                Dim::Tile(_) => AffineExpr::constant(context, 0),
            })
            .collect::<Vec<_>>();
        let num_symbols = self.space.sizes().len();
        let num_local = indices.len() + axes.count_ones() as usize;
        let replacing = AffineMap::new(context, num_local, num_symbols, &replacements);
        let map = AffineMap::new(context, num_dims, num_symbols, expressions);
        let results = expressions
            .iter()
            .map(|expression| expression.compose(replacing))
            .collect::<Vec<_>>();
        let mut local = AffineMap::new(context, num_local, num_symbols, &results);
        // Only the symbols in use become limits.
        let mut limits = Vec::new();
        for symbol in 0..num_symbols {
            let is_used = (0..map.result_count()).any(|result| {
                map.result(result)
                    .ok()
                    .and_then(|expression| LinearForm::of(expression, num_dims, num_symbols))
                    .is_none_or(|form| form.symbols[symbol] != 0)
            });
            if is_used {
                let from = AffineExpr::symbol(context, symbol);
                let to = AffineExpr::symbol(context, limits.len());
                local = local.replace(from, to, num_local, num_symbols);
                limits.push(self.size(symbol)?);
            }
        }
        Ok(Localized {
            map: local,
            indices,
            limits,
        })
    }

    /// An access over dims of the space, given as operands of a read or write.
    fn access(
        &mut self,
        indices: &[Value<'c, 'a>],
        access: AffineMap<'c>,
    ) -> Result<(Vec<AffineExpr<'c>>, Vec<usize>), PassError<'c>> {
        let context = self.b.context();
        let dims = indices
            .iter()
            .map(|index| self.space.dim_of(*index))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| self.internal("expected indices to be dims"))?;
        let renumbered = dims
            .iter()
            .map(|dim| AffineExpr::dim(context, *dim))
            .collect::<Vec<_>>();
        let renumbering = AffineMap::new(
            context,
            self.space.dims().len(),
            self.space.sizes().len(),
            &renumbered,
        );
        let coordinates = (0..access.result_count())
            .map(|result| Ok(access.result(result)?.compose(renumbering)))
            .collect::<Result<Vec<_>, melior::Error>>()?;
        let used = (0..self.space.dims().len())
            .filter(|dim| {
                coordinates
                    .iter()
                    .any(|coordinate| coordinate.is_function_of_dim(*dim))
            })
            .collect();
        Ok((coordinates, used))
    }

    /// The guards over `dims` alone, as pairs. A guard over some of them and others cannot be said of a tile over `dims`;
    /// one over none of them is no concern of it.
    fn guards_over(&self, dims: &[usize]) -> Result<Vec<AffineExpr<'c>>, PassError<'c>> {
        let Some(guards) = self.space.guards() else {
            return Ok(Vec::new());
        };
        let mut pairs = Vec::new();
        for pair in 0..guards.result_count() / 2 {
            let (lhs, rhs) = (guards.result(2 * pair)?, guards.result(2 * pair + 1)?);
            let over = (0..self.space.dims().len())
                .filter(|dim| lhs.is_function_of_dim(*dim) || rhs.is_function_of_dim(*dim))
                .collect::<Vec<_>>();
            if over.iter().all(|dim| dims.contains(dim)) {
                pairs.extend([lhs, rhs]);
            } else if over
                .iter()
                .any(|dim| dims.contains(dim) && matches!(self.space.dims()[*dim], Dim::Tile(_)))
            {
                return Err(Diagnostic::unsupported(
                    self.b.location(),
                    format!("expected an access that uses all or none of the dims of guard {lhs} < {rhs}"),
                )
                .into());
            }
        }
        Ok(pairs)
    }

    fn read(&mut self, read: ReadOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let buffer = self.buffer(read.buffer()?)?;
        let result = read.result()?;
        let element = result.r#type();
        let (coordinates, dims) = self.access(&read.indices(), read.access()?)?;
        let axes = self.axes_of(dims.iter().copied());
        let guards = self.guards_over(&dims)?;
        if axes == 0 {
            return self.read_scalar(buffer, &coordinates, result);
        }
        let num_coordinates = coordinates.len();
        let all = coordinates
            .into_iter()
            .chain(guards.iter().copied())
            .collect::<Vec<_>>();
        let local = self.localize(&all, axes)?;
        let (access, guards) = local.split(num_coordinates);
        let mut operands = vec![buffer];
        operands.extend(&local.indices);
        let mut attributes = vec![("access", access)];
        let mut segments = [1, local.indices.len() as i32, 0, 0];
        if let Some(guards) = guards {
            operands.extend(&local.limits);
            operands.push(self.zero(element)?);
            segments[2..].copy_from_slice(&[local.limits.len() as i32, 1]);
            attributes.push(("guards", guards));
        }
        attributes.push((
            "operandSegmentSizes",
            DenseI32ArrayAttribute::new(self.b.context(), &segments).into(),
        ));
        let value = self
            .b
            .value_with("gl.load", &operands, self.tiles.ty(element, axes)?, &attributes);
        self.define(
            result,
            Translated {
                value,
                element,
                axes,
                zero_outside: guards.is_some(),
            },
        );
        Ok(())
    }

    /// A read that is the same for the whole CTA.
    fn read_scalar(
        &mut self,
        buffer: Value<'c, 'a>,
        coordinates: &[AffineExpr<'c>],
        result: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let location = self.b.location();
        let _ = (buffer, coordinates, result);
        Err(Diagnostic::unsupported(
            location,
            "expected a read that varies over a tile dim, got one for the whole CTA",
        )
        .into())
    }

    fn write(&mut self, write: WriteOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let buffer = self.buffer(write.buffer()?)?;
        let value = self.value(write.value()?)?;
        let (coordinates, dims) = self.access(&write.indices(), write.access()?)?;
        let axes = self.axes_of(dims.iter().copied());
        if axes == 0 {
            return Err(Diagnostic::unsupported(
                self.b.location(),
                "expected a write that varies over a tile dim, got one for the whole CTA",
            )
            .into());
        }
        let tile = self
            .tiles
            .widen(&self.b, value.value, value.element, value.axes, axes)?;
        let guards = self.guards_over(&dims)?;
        let num_coordinates = coordinates.len();
        let all = coordinates.into_iter().chain(guards).collect::<Vec<_>>();
        let local = self.localize(&all, axes)?;
        let (access, guards) = local.split(num_coordinates);
        let mut operands = vec![tile, buffer];
        operands.extend(&local.indices);
        let mut attributes = vec![("access", access)];
        let mut segments = [1, 1, local.indices.len() as i32, 0];
        if let Some(guards) = guards {
            operands.extend(&local.limits);
            segments[3] = local.limits.len() as i32;
            attributes.push(("guards", guards));
        }
        attributes.push((
            "operandSegmentSizes",
            DenseI32ArrayAttribute::new(self.b.context(), &segments).into(),
        ));
        self.b
            .op_with("gl.store", &operands, &[], &attributes, Vec::new());
        Ok(())
    }

    fn buffer(&self, argument: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let number = BlockArgument::try_from(argument)?.argument_number();
        Ok(self.entry.argument(number)?.into())
    }

    // Values.

    /// A value of the kernel's body: translated already, or the coordinate along a tile dim.
    fn value(&mut self, value: Value<'c, 'a>) -> Result<Translated<'c, 'a>, PassError<'c>> {
        if let Some(translated) = self.values.get(&key(value)) {
            return Ok(*translated);
        }
        let dim = self
            .space
            .dim_of(value)
            .ok_or_else(|| self.internal("expected a value of the kernel's body"))?;
        let context = self.b.context();
        let axes = self.axes_of([dim].into_iter());
        let local = self.localize(&[AffineExpr::dim(context, dim)], axes)?;
        let (map, _) = local.split(1);
        let index = Type::index(context);
        let tile = self.b.value_with(
            "gl.coordinates",
            &local.indices,
            self.tiles.ty(index, axes)?,
            &[("map", map)],
        );
        let translated = Translated {
            value: tile,
            element: index,
            axes,
            zero_outside: false,
        };
        self.define(value, translated);
        Ok(translated)
    }

    fn elementwise(&mut self, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let name = op.name();
        let name = name
            .as_string_ref()
            .as_str()
            .map_err(|error| self.internal(error))?;
        let dialect = name.split('.').next().unwrap_or_default();
        if !matches!(dialect, "arith" | "math") || op.region_count() != 0 || op.result_count() != 1 {
            return Err(Diagnostic::unsupported(
                self.b.location(),
                format!("expected ops of arith, math and norm in a kernel, got {name}"),
            )
            .into());
        }
        let operands = op
            .operands()
            .map(|operand| self.value(operand))
            .collect::<Result<Vec<_>, _>>()?;
        let axes = operands.iter().fold(0, |axes, operand| axes | operand.axes);
        let widened = operands
            .iter()
            .map(|operand| {
                self.tiles
                    .widen(&self.b, operand.value, operand.element, operand.axes, axes)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let element = op.result(0)?.r#type();
        let attributes = op.attributes().collect::<Vec<_>>();
        let attributes = attributes
            .iter()
            .filter_map(|(name, attribute)| Some((name.as_string_ref().as_str().ok()?, *attribute)))
            .collect::<Vec<(&str, Attribute<'c>)>>();
        let value = self
            .b
            .value_with(name, &widened, self.tiles.ty(element, axes)?, &attributes);
        let zero =
            !operands.is_empty() && operands.iter().all(|operand| operand.zero_outside) && keeps_zero(name);
        self.define(
            op.result(0)?.into(),
            Translated {
                value,
                element,
                axes,
                zero_outside: zero,
            },
        );
        Ok(())
    }

    fn cache(&mut self, cache: CacheOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let place = cache.place()?;
        if place != CachePlace::Register {
            return Err(Diagnostic::unsupported(
                self.b.location(),
                format!("expected a value cached in registers, got {}", place.keyword()),
            )
            .into());
        }
        let source = self.value(cache.value()?)?;
        let value = if source.axes == 0 {
            source.value
        } else {
            self.b
                .value("gl.optimization_barrier", &[source.value], source.value.r#type())
        };
        self.define(cache.result()?, Translated { value, ..source });
        Ok(())
    }

    // Reductions.

    fn reduce(&mut self, reduce: ReduceOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let op = reduce.op();
        let dims = reduce
            .dims()
            .into_iter()
            .map(|dim| self.space.dim_of(dim))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| self.internal("expected dims of the space"))?;
        if let Some(dim) = dims
            .iter()
            .find(|dim| matches!(self.space.dims()[**dim], Dim::Grid(_)))
        {
            return Err(Diagnostic::unsupported(
                self.b.location(),
                format!("expected reductions over dims that a CTA holds whole, got dim {dim}, which is spread over the grid"),
            )
            .into());
        }
        let reduced = self.axes_of(dims.iter().copied());
        let mut operands = reduce
            .values()
            .into_iter()
            .map(|value| self.value(value))
            .collect::<Result<Vec<_>, _>>()?;
        let mut axes = operands.iter().fold(reduced, |axes, operand| axes | operand.axes);
        for (position, operand) in operands.iter_mut().enumerate() {
            operand.value = self
                .tiles
                .widen(&self.b, operand.value, operand.element, operand.axes, axes)?;
            operand.value = self.masked(reduce, *operand, axes, &dims, position)?;
        }
        let mut tiles = operands.iter().map(|operand| operand.value).collect::<Vec<_>>();
        // From the highest axis down, as slices are nested.
        for dim in (0..self.space.tile_shape().len())
            .rev()
            .filter(|dim| reduced >> dim & 1 == 1)
        {
            let axis = Tiles::position(axes, dim);
            axes &= !(1 << dim);
            let types = operands
                .iter()
                .map(|operand| self.tiles.ty(operand.element, axes))
                .collect::<Result<Vec<_>, _>>()?;
            if axes == 0 {
                return Err(Diagnostic::unsupported(
                    self.b.location(),
                    "expected a reduction that leaves a tile dim, got one over all of them",
                )
                .into());
            }
            let combiner = self.combiner(reduce)?;
            let axis = IntegerAttribute::new(IntegerType::new(self.b.context(), 64).into(), axis as i64);
            let step = self.b.op_with(
                "gl.reduce",
                &tiles,
                &types,
                &[("axis", axis.into())],
                vec![combiner],
            );
            tiles = step.results().map(Into::into).collect();
        }
        for (index, (tile, operand)) in tiles.into_iter().zip(&operands).enumerate() {
            self.define(
                op.result(index)?.into(),
                Translated {
                    value: tile,
                    element: operand.element,
                    axes,
                    zero_outside: false,
                },
            );
        }
        Ok(())
    }

    /// The operand with the identity where a guard over reduced dims fails.
    fn masked(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
        operand: Translated<'c, 'a>,
        axes: Axes,
        dims: &[usize],
        position: usize,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let over = (0..self.space.dims().len())
            .filter(|dim| match self.space.dims()[*dim] {
                Dim::Tile(position) => axes >> position & 1 == 1,
                Dim::Grid(_) => true,
            })
            .collect::<Vec<_>>();
        let guards = self.guards_over(&over)?;
        let concerned = guards
            .chunks(2)
            .filter(|pair| {
                dims.iter()
                    .any(|dim| pair.iter().any(|side| side.is_function_of_dim(*dim)))
            })
            .flatten()
            .copied()
            .collect::<Vec<_>>();
        let is_sum = reduce.kind() == Some(ReduceKind::Add);
        if concerned.is_empty() || (is_sum && operand.zero_outside) {
            return Ok(operand.value);
        }
        let identity = self.identity(reduce, operand.element, position)?;
        let identity = self.tiles.widen(&self.b, identity, operand.element, 0, axes)?;
        let local = self.localize(&concerned, axes)?;
        let (_, guards) = local.split(0);
        let guards = guards.ok_or_else(|| self.internal("expected guards"))?;
        let segments = [local.indices.len() as i32, local.limits.len() as i32];
        let segments = DenseI32ArrayAttribute::new(self.b.context(), &segments);
        let operands = local
            .indices
            .iter()
            .chain(&local.limits)
            .copied()
            .collect::<Vec<_>>();
        let i1 = IntegerType::new(self.b.context(), 1).into();
        let mask = self.b.value_with(
            "gl.mask",
            &operands,
            self.tiles.ty(i1, axes)?,
            &[("guards", guards), ("operandSegmentSizes", segments.into())],
        );
        Ok(self.b.value(
            "arith.select",
            &[mask, operand.value, identity],
            operand.value.r#type(),
        ))
    }

    /// The identity of a combiner, as a scalar.
    fn identity(
        &self,
        reduce: ReduceOp<'c, 'a>,
        element: Type<'c>,
        position: usize,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let Some(kind) = reduce.kind() else {
            let identities =
                melior::ir::attribute::ArrayAttribute::try_from(reduce.op().attribute("identity")?)?;
            return Ok(self.b.constant(identities.element(position)?, element));
        };
        if !types::is_float(element) {
            let bits = types::bit_width(element).unwrap_or(64) as u32;
            let value = match kind {
                ReduceKind::Add | ReduceKind::Or => 0,
                ReduceKind::Mul => 1,
                ReduceKind::And => -1,
                ReduceKind::Max => i64::MIN >> (64 - bits.min(64)),
                ReduceKind::Min => i64::MAX >> (64 - bits.min(64)),
            };
            return Ok(self.b.integer(element, value));
        }
        Ok(match kind {
            // -0 is what adding changes nothing to, not even a zero's sign.
            ReduceKind::Add => self.b.float(element, -0.0),
            ReduceKind::Mul => self.b.float(element, 1.0),
            ReduceKind::Max => self.b.float(element, f64::NEG_INFINITY),
            ReduceKind::Min => self.b.float(element, f64::INFINITY),
            ReduceKind::And | ReduceKind::Or => {
                return Err(self.internal("a logical combiner of floats").into());
            }
        })
    }

    /// The combiner as a region of `gl`.
    fn combiner(&self, reduce: ReduceOp<'c, 'a>) -> Result<Region<'c>, PassError<'c>> {
        let location = self.b.location();
        let op = reduce.op();
        let elements = reduce
            .values()
            .iter()
            .map(|value| value.r#type())
            .collect::<Vec<_>>();
        let arguments = elements
            .iter()
            .chain(&elements)
            .map(|ty| (*ty, location))
            .collect::<Vec<_>>();
        let region = Region::new();
        let block = region.append_block(Block::new(&arguments));
        let b = Builder::at_end(block, location);
        let mut map = HashMap::new();
        let yielded = match reduce.kind() {
            Some(kind) => {
                let element = elements[0];
                let (name, fast) = named_combiner(kind, types::is_float(element));
                let sides = [block.argument(0)?.into(), block.argument(1)?.into()];
                let flags = fast
                    .map(|flags| {
                        Attribute::parse(b.context(), flags)
                            .ok_or_else(|| self.internal("no fast-math flags"))
                    })
                    .transpose()?;
                let attributes = flags.map(|flags| ("fastmath", flags));
                vec![b.value_with(name, &sides, element, attributes.as_slice())]
            }
            None => {
                let source = op
                    .region(0)?
                    .first_block()
                    .ok_or_else(|| self.internal("expected a combiner"))?;
                for index in 0..source.argument_count() {
                    map.insert(key(source.argument(index)?.into()), block.argument(index)?.into());
                }
                self.inline(&b, source, &mut map)?
            }
        };
        b.op("gl.yield", &yielded, &[]);
        Ok(region)
    }

    /// Copies the ops of a combiner and gives what it yields.
    fn inline<'r>(
        &self,
        b: &Builder<'c, 'r>,
        source: BlockRef<'c, 'a>,
        map: &mut HashMap<usize, Value<'c, 'r>>,
    ) -> Result<Vec<Value<'c, 'r>>, PassError<'c>>
    where
        'c: 'r,
    {
        let mut next = source.first_operation();
        while let Some(op) = next {
            let operands = op
                .operands()
                .map(|operand| map.get(&key(operand)).copied())
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| {
                    Diagnostic::unsupported(
                        op.location(),
                        "expected a combiner that uses its own values alone",
                    )
                })?;
            next = op.next_in_block();
            if next.is_none() {
                return Ok(operands);
            }
            let name = op.name();
            let name = name
                .as_string_ref()
                .as_str()
                .map_err(|error| self.internal(error))?;
            let types = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
            let attributes = op.attributes().collect::<Vec<_>>();
            let attributes = attributes
                .iter()
                .filter_map(|(name, attribute)| Some((name.as_string_ref().as_str().ok()?, *attribute)))
                .collect::<Vec<(&str, Attribute<'c>)>>();
            let copy = b.op_with(name, &operands, &types, &attributes, Vec::new());
            for (index, result) in op.results().enumerate() {
                map.insert(key(result.into()), copy.result(index)?.into());
            }
        }
        Err(self.internal("expected a combiner that yields").into())
    }

    fn zero(&self, element: Type<'c>) -> Result<Value<'c, 'a>, PassError<'c>> {
        Ok(if types::is_float(element) {
            self.b.float(element, 0.0)
        } else {
            self.b.integer(element, 0)
        })
    }
}

/// Expressions over a tile's own dims, and what their dims and symbols stand for.
struct Localized<'c, 'a> {
    map: AffineMap<'c>,
    indices: Vec<Value<'c, 'a>>,
    limits: Vec<Value<'c, 'a>>,
}

impl<'c> Localized<'c, '_> {
    /// The first results as a map without symbols, and the others, if there are any, as guards.
    fn split(&self, count: usize) -> (Attribute<'c>, Option<Attribute<'c>>) {
        let context = self.map.context();
        // SAFETY: the reference is used while the map is.
        let context = unsafe { context.to_ref() };
        let results = (0..self.map.result_count())
            .filter_map(|result| self.map.result(result).ok())
            .collect::<Vec<_>>();
        let attribute = |symbols, results: &[AffineExpr<'c>]| {
            let map = AffineMap::new(context, self.map.dim_count(), symbols, results);
            // SAFETY: the map is alive.
            unsafe { Attribute::from_raw(mlirAffineMapAttrGet(map.to_raw())) }
        };
        let (first, rest) = results.split_at(count);
        (
            attribute(0, first),
            (!rest.is_empty()).then(|| attribute(self.limits.len(), rest)),
        )
    }
}

/// The op that a named combiner stands for. A sum may be taken in any order, so the sign of a zero and the rounding of a
/// product that is added are free.
fn named_combiner(kind: ReduceKind, float: bool) -> (&'static str, Option<&'static str>) {
    match (kind, float) {
        (ReduceKind::Add, true) => ("arith.addf", Some("#arith.fastmath<nsz,contract>")),
        (ReduceKind::Mul, true) => ("arith.mulf", None),
        (ReduceKind::Max, true) => ("arith.maximumf", None),
        (ReduceKind::Min, true) => ("arith.minimumf", None),
        (ReduceKind::Add, false) => ("arith.addi", None),
        (ReduceKind::Mul, false) => ("arith.muli", None),
        (ReduceKind::Max, false) => ("arith.maxsi", None),
        (ReduceKind::Min, false) => ("arith.minsi", None),
        (ReduceKind::And, _) => ("arith.andi", None),
        (ReduceKind::Or, _) => ("arith.ori", None),
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
