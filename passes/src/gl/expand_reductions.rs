//! `gl-expand-reductions`: a reduction across warps becomes one within each warp, an exchange of the partials through
//! shared memory, and one in registers; one across the CTAs of a cluster becomes an exchange between them ([`cluster`]) and one in
//! registers.
//!
//! Matches every `gl.reduce` whose layout spreads the axis over warps. Each warp leaves one partial per result in the
//! layout that `norma_layout` calls partial; every thread reads all partials of its results (the gathered layout) and
//! combines them in its registers, in the same order everywhere, so that all threads agree to the last bit. The slice of
//! the gathered layout is that of the original one, so the result needs no conversion.
//!
//! In a loop the exchange is double-buffered ([`buffers`]), so that a step need not wait until all threads have read what the
//! previous step exchanged. Between warps the induction variable selects the buffer, which `gl-insert-barriers` understands;
//! between CTAs the iterations of all loops are counted ([`phase`]), as the phases of mbarriers are.
//!
//! A scan across warps ([`scan`]) is expanded in the same way.
//!
//! An exchange costs one store, one barrier (`gl-insert-barriers`) and one load of as many elements as the axis crosses warps.
//! Independent reductions share the barrier ([`rounds`]), and those across CTAs share an exchange. So do all tiles of one
//! reduction, except those whose partials are known at compile time ([`constant_tiles`]), which are not exchanged.

mod buffers;
mod cluster;
mod phase;
mod rounds;
mod scan;

use melior::ir::{
    Attribute, BlockLike, Operation, OperationRef, Region, Type, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::{
    gl::{
        LocalAllocOp, LocalLoadOp, LocalStoreOp, MemDescIndexOp, MemDescType, ReduceOp, ScanOp, WarpReduceOp,
    },
    layout,
};
use norma_layout::{HardwareDim, LinearLayout, MemoryExchange};

use buffers::BUFFERS;

use crate::{
    gl::{constant_tiles, exchanged, tile_layouts},
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        region, types, walk,
    },
    table::{GlExpandReductions, GlExpandReductionsStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlExpandReductions>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        constant_tiles::fold(function)?;
        let rounds = cluster::expand(function)?;
        cx.count(GlExpandReductionsStatistic::NumRounds, rounds);
        for round in rounds::of(function, &|plan| plan.warps() > 1)? {
            expand(&round)?;
            cx.count(GlExpandReductionsStatistic::NumExpanded, round.len() as u64);
        }
    }
    for scan in walk::all(op, ScanOp::from_op) {
        if scan::expand(scan)? {
            cx.count(GlExpandReductionsStatistic::NumExpanded, 1);
        }
    }
    Ok(())
}

/// Expands the reductions of a round: all partials are stored before the first are loaded, so that one barrier serves them all.
fn expand<'c: 'a, 'a>(round: &[ReduceOp<'c, 'a>]) -> Result<(), PassError<'c>> {
    let Some(first) = round.first() else {
        return Ok(());
    };
    let mut exchanges = Vec::with_capacity(round.len());
    for reduce in round {
        let mut b = Builder::before(first.op());
        b.set_location(reduce.op().location());
        exchanges.push((
            *reduce,
            Partials::stored(&b, reduce.op(), &reduce.tiles(), reduce.axis()?)?,
        ));
    }
    for (reduce, partials) in &exchanges {
        combine(*reduce, partials)?;
    }
    Ok(())
}

/// Replaces a reduction by one of the partials of all warps.
fn combine<'c: 'a, 'a>(reduce: ReduceOp<'c, 'a>, partials: &Partials<'c, 'a>) -> Result<(), PassError<'c>> {
    let op = reduce.op();
    let b = Builder::before(op);
    let gathered = partials.loaded(&b)?;
    let result_types = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
    let reduced = b.op_with(
        ReduceOp::NAME,
        &gathered,
        &result_types,
        &[("axis", op.attribute("axis")?)],
        vec![region::taken_from(reduce.combiner()?)],
    );
    let results = reduced.results().map(Value::from).collect::<Vec<_>>();
    b.replace(op, &results);
    Ok(())
}

/// The partial results of some tiles, one of each warp.
struct Partials<'c, 'a> {
    /// For each tile, where its partials are.
    places: Vec<Place<'c, 'a>>,
    /// For each tile, the type that holds all partials of a result in each thread's registers.
    gathered: Vec<Type<'c>>,
}

/// Where all partials of a tile are.
enum Place<'c, 'a> {
    /// In shared memory, in a plain order.
    Memory(Value<'c, 'a>),
    /// In shared memory, in an order in which no banks conflict.
    Swizzled(Value<'c, 'a>, Box<MemoryExchange>),
    /// Nowhere: all partials are this scalar, which is known at compile time.
    Known(Value<'c, 'a>),
}

impl<'c: 'a, 'a> Partials<'c, 'a> {
    /// Reduces `tiles` along an axis within each warp, by the combiner of `op`, and writes the partials to newly allocated
    /// shared memory, at `b`.
    fn stored(
        b: &Builder<'c, 'a>,
        op: OperationRef<'c, 'a>,
        tiles: &[Value<'c, 'a>],
        axis: i64,
    ) -> Result<Self, PassError<'c>> {
        let first = tiles.first();
        let first = first.ok_or_else(|| Diagnostic::internal(op.location(), "expected a tile"))?;
        let axis = axis as usize;
        let wrong = |error| Diagnostic::user(op.location(), error);
        let layout =
            layout::of_tile(first.r#type()).map_err(|error| Diagnostic::user(op.location(), error))?;
        let partial = layout.partial_layout(axis, HardwareDim::Warp).map_err(wrong)?;
        let gathered = layout.gathered_layout(axis, HardwareDim::Warp).map_err(wrong)?;
        let types_in = |layout: &LinearLayout| {
            let encoding: Attribute<'c> = layout::to_attribute(b.context(), layout).into();
            // Along the reduced axis there are as many partials as warps.
            let shape = partial.shape().iter().copied().map(Some).collect::<Vec<_>>();
            let ty = |tile: &Value<'c, 'a>| {
                types::tensor(&shape, types::element(tile.r#type()), Some(encoding)).ok_or_else(|| {
                    Diagnostic::internal(op.location(), "the layout does not fit the partials")
                })
            };
            tiles.iter().map(ty).collect::<Result<Vec<_>, _>>()
        };
        let partials = b.op_with(
            WarpReduceOp::NAME,
            tiles,
            &types_in(&partial)?,
            &[("axis", op.attribute("axis")?)],
            vec![copy_of_body(op)?],
        );
        let step = step_around(op);
        let of_warp = layout.shape()[axis] / partial.shape()[axis];
        let constants = constant_tiles::combined(b, tiles, walk::entry_block(op)?, of_warp)?;
        let places = partials.results().zip(constants).map(|(partials, known)| {
            let partials = Value::from(partials);
            let element = types::element(partials.r#type());
            let plain = |is_repeated| buffers::memory(b, partial.shape(), axis, element, is_repeated);
            if let Some(known) = known {
                return Ok(Place::Known(known));
            }
            let Some(exchange) = swizzled(b, plain(false), &partial, &gathered)? else {
                let memory = buffer(b, plain(false), plain(true), step);
                b.op(LocalStoreOp::NAME, &[partials, memory], &[]);
                return Ok(Place::Memory(memory));
            };
            let memory = buffer(b, exchanged::memory(b, &exchange, element), plain(true), step);
            let stored = tile_layouts::in_layout(b, partials, &exchange.stored)?;
            b.op(LocalStoreOp::NAME, &[stored, memory], &[]);
            Ok(Place::Swizzled(memory, Box::new(exchange)))
        });
        Ok(Self {
            places: places.collect::<Result<_, PassError<'c>>>()?,
            gathered: types_in(&gathered)?,
        })
    }

    /// Loads all partials of each tile, at `b`.
    fn loaded(&self, b: &Builder<'c, 'a>) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let places = self.places.iter().zip(&self.gathered);
        places
            .map(|(place, ty)| match place {
                Place::Memory(memory) => {
                    let load = LocalLoadOp::build(b.location(), *memory, &[], &[], None, None, *ty)?;
                    Ok(b.insert(load).result(0)?.into())
                }
                Place::Swizzled(memory, exchange) => exchanged::loaded(b, *memory, exchange, *ty),
                Place::Known(scalar) => Ok(b.value("tensor.splat", &[*scalar], *ty)),
            })
            .collect()
    }
}

/// Returns the exchange of partials between the threads of a CTA without bank conflicts; `None` if they have none in `plain` memory.
fn swizzled<'c>(
    b: &Builder<'c, '_>,
    plain: MemDescType<'c>,
    partial: &LinearLayout,
    gathered: &LinearLayout,
) -> Result<Option<MemoryExchange>, Diagnostic<'c>> {
    let wrong = |error| Diagnostic::internal(b.location(), error);
    let bytes = types::element_bytes(plain.element_type()).map_or(8, i64::unsigned_abs);
    if partial.num_blocks() > 1 {
        return Ok(None);
    }
    let memory =
        layout::of_memory(plain.into()).map_err(|error| Diagnostic::internal(b.location(), error))?;
    partial
        .memory_exchange_instead_of(&memory, gathered, bytes)
        .map_err(wrong)
}

/// Allocates shared memory of type `once`. In a loop, whose induction variable is `step`, it is a stage of memory of type `repeated`, which
/// has [`BUFFERS`] stages that successive steps use alternately.
fn buffer<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    once: MemDescType<'c>,
    repeated: MemDescType<'c>,
    step: Option<Value<'c, 'a>>,
) -> Value<'c, 'a> {
    let Some(step) = step else {
        return b.value(LocalAllocOp::NAME, &[], once.into());
    };
    let all = b.value(LocalAllocOp::NAME, &[], repeated.into());
    let slot = b.value("arith.remui", &[step, b.index(BUFFERS)], step.r#type());
    b.value(MemDescIndexOp::NAME, &[all, slot], once.into())
}

/// The induction variable of the loop that an op stands in directly.
fn step_around<'c, 'a>(op: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
    let loop_op = op
        .parent_operation()
        .filter(|loop_op| walk::has_name(*loop_op, "scf.for"))?;
    Some(walk::entry_block(loop_op).ok()?.argument(0).ok()?.into())
}

/// A copy of the region of `op`.
fn copy_of_body<'c>(op: OperationRef<'c, '_>) -> Result<Region<'c>, melior::Error> {
    let copy = Operation::clone(&op);
    Ok(region::taken_from(copy.region(0)?))
}
