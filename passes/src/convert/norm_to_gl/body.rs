//! Translates the scalar program of a kernel to a program on tiles.
//!
//! Each value is translated where the nests of [`crate::kernel::nests`] put its op, to a tile over the dims it varies over. An op that
//! combines values first broadcasts them to the union of their dims. `nest` emits loops; `peel` finds their steps that need no guards, and
//! `held` those whose tiles stay in registers. `drawn` emits loops whose tiles CTAs draw. `access` translates reads and writes, `gather`
//! and `scatter` those at computed places; `localize` puts their addresses in terms of a tile. `reduction` translates reductions, `nth`
//! those with several results, `scan` scans.

mod access;
mod combiners;
mod dense_rows;
mod drawn;
mod gather;
mod held;
mod localize;
mod masked_points;
mod nest;
mod nth;
mod peel;
mod reduction;
mod scan;
mod scatter;

use std::collections::{BTreeSet, HashMap};

use melior::ir::{
    AffineExpr, AffineMap, Attribute, BlockLike, BlockRef, OperationRef, Type, Value, ValueLike,
    operation::OperationLike,
};
use norma_dialects::{
    gl::{CoordinatesOp, OptimizationBarrierOp},
    norm::{CacheOp, CachePlace, GatherOp, ReadOp, ReduceOp, ScanOp, ScatterOp, WriteOp},
    op_name,
};

use crate::{
    kernel::{
        nests::{self, Item},
        space::Space,
    },
    mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError, values::key},
    schedule::mapping::Mapping,
};

use super::{
    placement::{Axes, Place, Placement},
    tiles::Tiles,
};

use drawn::Walk;
use held::HeldStep;

/// A set of the kernel's guards, as bits. Guards beyond the width are in no set: nothing is known of them.
type Guards = u64;

fn set_of(guards: &[usize]) -> Guards {
    let known = guards.iter().filter(|guard| **guard < Guards::BITS as usize);
    known.fold(0, |guards, guard| guards | 1 << guard)
}

/// Whether a guard is in a set.
fn is_in(guards: Guards, guard: usize) -> bool {
    guard < Guards::BITS as usize && guards >> guard & 1 == 1
}

/// A translated value.
#[derive(Clone, Copy)]
struct Translated<'c, 'a> {
    value: Value<'c, 'a>,
    element: Type<'c>,
    axes: Axes,
    /// The guards at whose masked-off points the value is +0.
    zero_outside: Guards,
}

/// Translates the body of a kernel into `entry`, whose arguments are the buffers and the scalars. Kernels that are launched later read the
/// buffers `read_later`.
pub(super) fn translate<'c: 'a, 'a>(
    space: &Space<'c, 'a>,
    placement: &Placement,
    mapping: &Mapping,
    tiles: &Tiles<'c>,
    read_later: BTreeSet<usize>,
    entry: BlockRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let items =
        nests::of(space).map_err(|refused| Diagnostic::unsupported(space.location(), refused.explained()))?;
    let occurrences = nests::occurrences(&items, space.ops.len());
    let mut body = Body {
        space,
        placement,
        mapping,
        tiles,
        read_later,
        b: Builder::at_end(entry, space.location()),
        entry,
        values: HashMap::new(),
        sizes: HashMap::new(),
        coordinates_of_cta: HashMap::new(),
        known_guards: BTreeSet::new(),
        carried: HashMap::new(),
        brought: HashMap::new(),
        walk: None,
        held: HashMap::new(),
        held_step: None,
        nests_of: occurrences,
        nests_visited: vec![0; space.ops.len()],
    };
    body.scalars()?;
    body.coordinates()?;
    body.items(&items)?;
    body.b.set_location(space.location());
    body.b.op("gpu.return", &[], &[]);
    Ok(())
}

/// A loop-carried value, named by the position of the op that it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Carried {
    /// The running total of a reduction over the loop, or of a scan along it.
    Total(usize),
    /// The bound of the next result of a reduction whose results the loop's dim counts (`nth`).
    Bound(usize),
}

/// A tile in shared memory, and the guards under which its elements are defined.
#[derive(Clone)]
struct Brought<'c, 'a> {
    memory: Value<'c, 'a>,
    indices: Vec<Value<'c, 'a>>,
    limits: Vec<Value<'c, 'a>>,
    guards: Option<AffineMap<'c>>,
    /// How often it has been loaded again.
    phase: i64,
}

struct Body<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    placement: &'s Placement,
    mapping: &'s Mapping,
    tiles: &'s Tiles<'c>,
    /// The buffers that kernels which are launched later read.
    read_later: BTreeSet<usize>,
    b: Builder<'c, 'a>,
    entry: BlockRef<'c, 'a>,
    /// The values that are visible in the current scope.
    values: HashMap<usize, Translated<'c, 'a>>,
    /// The sizes in use, by affine symbol.
    sizes: HashMap<usize, Value<'c, 'a>>,
    /// The CTA's own coordinates along axes that are spread over the CTAs of a cluster, by axis, as far as they are in use.
    coordinates_of_cta: HashMap<usize, Value<'c, 'a>>,
    /// The guards that hold at every point of the current scope.
    known_guards: BTreeSet<usize>,
    /// The values that the loops around the current scope carry.
    carried: HashMap<Carried, Vec<Value<'c, 'a>>>,
    /// The tiles that reads have copied to shared memory, by the read's result, or by the cached value that replaces it in a
    /// later phase.
    brought: HashMap<usize, Brought<'c, 'a>>,
    /// The walk whose tiles CTAs draw, once it has begun.
    walk: Option<Walk<'c, 'a>>,
    /// The tiles that stay in registers until a later loop needs them, by the position of the read and the number of the step.
    held: HashMap<(usize, i64), Translated<'c, 'a>>,
    /// The held step that is being emitted.
    held_step: Option<HeldStep>,
    /// The number of nests that each op stands in, by position, and the number of these that have been emitted.
    nests_of: Vec<usize>,
    nests_visited: Vec<usize>,
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

    fn items(&mut self, items: &[Item]) -> Result<(), PassError<'c>> {
        for item in items {
            match item {
                Item::Op(position) => {
                    let op = self.space.ops[*position];
                    self.b.set_location(op.location());
                    self.op(*position, op)?;
                }
                Item::Loop(nest) => self.nest(nest)?,
            }
        }
        Ok(())
    }

    fn op(&mut self, position: usize, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        if let Some(read) = ReadOp::from_op(op) {
            self.read(position, read)
        } else if let Some(write) = WriteOp::from_op(op) {
            self.write(write)
        } else if let Some(reduce) = ReduceOp::from_op(op) {
            if self.ranges_over_loop(reduce) {
                self.accumulate(position, reduce)
            } else {
                self.reduce(reduce)
            }
        } else if let Some(scan) = ScanOp::from_op(op) {
            self.scan(position, scan)
        } else if let Some(cache) = CacheOp::from_op(op) {
            self.cache(cache)
        } else if let Some(gather) = GatherOp::from_op(op) {
            self.gather(position, gather)
        } else if let Some(scatter) = ScatterOp::from_op(op) {
            self.scatter(scatter)
        } else {
            self.elementwise(op)
        }
    }

    /// Defines a scalar coordinate: that of a CTA in the grid, or that of a step in its loop.
    fn define_coordinate(&mut self, dim: usize, value: Value<'c, 'a>) {
        let translated = Translated {
            value,
            element: Type::index(self.b.context()),
            axes: 0,
            zero_outside: 0,
        };
        self.define(self.space.dims[dim], translated);
    }

    /// Defines the numbers that the launch passes, which are the last arguments.
    fn scalars(&mut self) -> Result<(), PassError<'c>> {
        let first = self.entry.argument_count() - self.space.scalars.len();
        for (index, scalar) in self.space.scalars.iter().enumerate() {
            let value = Value::from(self.entry.argument(first + index)?);
            let translated = Translated {
                value,
                element: value.r#type(),
                axes: 0,
                zero_outside: 0,
            };
            self.define(*scalar, translated);
        }
        Ok(())
    }

    /// Defines the cluster's coordinate along each grid dim; the last grid dim varies fastest with the cluster's number. CTAs
    /// of a cluster are neighbours in the grid, and only layouts distinguish them, so that all scalars are the same for all of
    /// them.
    fn coordinates(&mut self) -> Result<(), PassError<'c>> {
        let grid = self.placement.grid().collect::<Vec<_>>();
        if grid.is_empty() {
            return Ok(());
        }
        let index = Type::index(self.b.context());
        let mut rest = self.cluster()?;
        for (position, &dim) in grid.iter().enumerate().rev() {
            let coordinate = if position == 0 {
                rest
            } else {
                let extent = self.size_expression(self.space.extents[dim])?;
                let coordinate = self.b.value("arith.remui", &[rest, extent], index);
                rest = self.b.value("arith.divui", &[rest, extent], index);
                coordinate
            };
            self.define_coordinate(dim, coordinate);
        }
        Ok(())
    }

    /// The number of the CTA's cluster in the grid; without clusters, its own.
    fn cluster(&self) -> Result<Value<'c, 'a>, PassError<'c>> {
        let cta = self.cta()?;
        Ok(match self.mapping.ctas_per_cluster() {
            1 => cta,
            ctas => {
                let index = Type::index(self.b.context());
                self.b.value("arith.divui", &[cta, self.b.index(ctas)], index)
            }
        })
    }

    /// The CTA's number in the grid.
    fn cta(&self) -> Result<Value<'c, 'a>, PassError<'c>> {
        let context = self.b.context();
        let dimension =
            Attribute::parse(context, "#gpu<dim x>").ok_or_else(|| self.internal("no grid dimension"))?;
        let attributes = [("dimension", dimension)];
        Ok(self
            .b
            .value_with("gpu.block_id", &[], Type::index(context), &attributes))
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
        let index = Type::index(self.b.context());
        if expression.is_ceil_div() {
            return Ok(self.divide_up(lhs, rhs));
        }
        let op = if expression.is_add() {
            "arith.addi"
        } else if expression.is_mul() {
            "arith.muli"
        } else if expression.is_floor_div() {
            "arith.divui"
        } else {
            "arith.remui"
        };
        Ok(self.b.value(op, &[lhs, rhs], index))
    }

    /// The quotient, rounded up, of values that are not negative.
    fn divide_up(&self, dividend: Value<'c, 'a>, divisor: Value<'c, 'a>) -> Value<'c, 'a> {
        let index = Type::index(self.b.context());
        let less_one = self.b.value("arith.subi", &[divisor, self.b.index(1)], index);
        let raised = self.b.value("arith.addi", &[dividend, less_one], index);
        self.b.value("arith.divui", &[raised, divisor], index)
    }

    /// The size that an affine symbol stands for.
    fn size(&mut self, symbol: usize) -> Result<Value<'c, 'a>, PassError<'c>> {
        if let Some(size) = self.sizes.get(&symbol) {
            return Ok(*size);
        }
        let (buffer, axis) = self.space.sizes[symbol];
        let size = self.dynamic_size(buffer, axis)?;
        self.sizes.insert(symbol, size);
        Ok(size)
    }

    /// The size of a dynamic axis of the buffer at a position, computed at the start, so that it is there for every scope.
    fn dynamic_size(&self, buffer: usize, axis: usize) -> Result<Value<'c, 'a>, PassError<'c>> {
        let memref = self.entry.argument(buffer)?.into();
        let b = Builder::at_start(self.entry, self.space.location());
        let axis = b.index(axis as i64);
        Ok(b.value("memref.dim", &[memref, axis], Type::index(b.context())))
    }

    /// The coordinate of the current CTA along an axis that is spread over the CTAs of its cluster.
    fn coordinate_of_cta(&mut self, axis: usize) -> Result<Value<'c, 'a>, PassError<'c>> {
        if let Some(coordinate) = self.coordinates_of_cta.get(&axis) {
            return Ok(*coordinate);
        }
        // At the start, so that it is there for every scope.
        let b = Builder::at_start(self.entry, self.space.location());
        let coordinate = self.tiles.place_of_cta(&b, axis)?;
        self.coordinates_of_cta.insert(axis, coordinate);
        Ok(coordinate)
    }

    /// The translation of a value of the kernel's body. The coordinates along a tile dim are built when they are first used.
    fn value(&mut self, value: Value<'c, 'a>) -> Result<Translated<'c, 'a>, PassError<'c>> {
        if let Some(translated) = self.values.get(&key(value)) {
            return Ok(*translated);
        }
        let dim = self
            .space
            .dim_position(value)
            .ok_or_else(|| self.internal("expected a value of the kernel's body"))?;
        if !matches!(self.placement.place(dim), Place::Tile(_)) {
            return Err(self
                .internal(format!("expected dim {dim} to have a coordinate"))
                .into());
        }
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
            zero_outside: 0,
        };
        self.define(value, translated);
        Ok(translated)
    }

    /// `value`, broadcast to `axes`.
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
        let zero_outside = match keeps_zero(name) {
            true if !operands.is_empty() => operands
                .iter()
                .fold(Guards::MAX, |guards, operand| guards & operand.zero_outside),
            _ => 0,
        };
        self.define(
            op.result(0)?.into(),
            Translated {
                value: tile.result(0)?.into(),
                element,
                axes,
                zero_outside,
            },
        );
        Ok(())
    }

    fn cache(&mut self, cache: CacheOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let source = self.value(cache.value()?)?;
        let value = match cache.place()? {
            CachePlace::Shared => {
                let brought = self.brought.get(&key(cache.value()?));
                let mut brought = brought.cloned().ok_or_else(|| {
                    let message = "expected a value that was brought to shared memory";
                    Diagnostic::user(self.b.location(), message)
                })?;
                brought.phase += 1;
                let value = self.load_brought(&brought, source.value.r#type())?;
                self.brought.insert(key(cache.result()?), brought);
                value
            }
            CachePlace::Register if source.axes == 0 => source.value,
            CachePlace::Register => self.b.value(
                OptimizationBarrierOp::NAME,
                &[source.value],
                source.value.r#type(),
            ),
            place => {
                let place = place.keyword();
                let message = format!("expected a value cached in registers or shared memory, got {place}");
                return Err(self.unsupported(message).into());
            }
        };
        self.define(cache.result()?, Translated { value, ..source });
        Ok(())
    }
}

/// Whether an op gives +0 if all its operands are +0, as sums, products and conversions do.
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
