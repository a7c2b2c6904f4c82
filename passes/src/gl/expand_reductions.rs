//! `gl-expand-reductions`: a reduction across warps becomes one within each warp, an exchange of the partials through
//! shared memory, and one in registers; one across the CTAs of a cluster becomes an exchange between them ([`cluster`]) and one in
//! registers.
//!
//! Matches every `gl.reduce` whose layout spreads the axis over warps. Each warp leaves one partial per result in the
//! layout that `norma_layout` calls partial; every thread reads all partials of its results (the gathered layout) and
//! combines them in its registers, in the same order everywhere, so that all threads agree to the last bit. The slice of
//! the gathered layout is that of the original one, so the result needs no conversion.
//!
//! In a loop the steps take turns with two buffers ([`buffers`]), so that a step need not wait until all threads have read what the
//! step before it exchanged. Between warps the number of the step says whose turn it is, which `gl-insert-barriers` understands;
//! between CTAs all turns of all loops are counted ([`phase`]), as the phases of mbarriers are.
//!
//! A scan across warps ([`scan`]) takes the same way.
//!
//! Costs one store, one barrier (`gl-insert-barriers`) and one load of as many elements as the axis crosses warps.

mod buffers;
mod cluster;
mod phase;
mod rounds;
mod scan;

use melior::ir::{
    Attribute, BlockLike, Operation, OperationRef, Region, Type, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::{
    gl::{LocalAllocOp, LocalLoadOp, LocalStoreOp, MemDescIndexOp, ReduceOp, ScanOp, WarpReduceOp},
    layout,
};
use norma_layout::{HardwareDim, LinearLayout};

use buffers::BUFFERS;

use crate::{
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
        let rounds = cluster::expand(function)?;
        cx.count(GlExpandReductionsStatistic::NumRounds, rounds);
    }
    for reduce in walk::named(op, ReduceOp::NAME)
        .into_iter()
        .filter_map(ReduceOp::from_op)
    {
        if expand(reduce)? {
            cx.count(GlExpandReductionsStatistic::NumExpanded, 1);
        }
    }
    for scan in walk::named(op, ScanOp::NAME)
        .into_iter()
        .filter_map(ScanOp::from_op)
    {
        if scan::expand(scan)? {
            cx.count(GlExpandReductionsStatistic::NumExpanded, 1);
        }
    }
    Ok(())
}

/// Expands `reduce` if it crosses warps; says whether it does.
fn expand<'c: 'a, 'a>(reduce: ReduceOp<'c, 'a>) -> Result<bool, PassError<'c>> {
    let op = reduce.op();
    let location = op.location();
    let tiles = reduce.tiles();
    let Some(first) = tiles.first() else {
        return Ok(false);
    };
    let axis = reduce.axis()? as usize;
    let layout = layout::of_tile(first.r#type()).map_err(|error| Diagnostic::user(location, error))?;
    let plan = layout
        .reduction(axis)
        .map_err(|error| Diagnostic::user(location, error))?;
    if plan.blocks() > 1 {
        let message = format!(
            "expected a reduction across {} CTAs of a cluster to stand in a gpu.func",
            plan.blocks()
        );
        return Err(Diagnostic::user(location, message).into());
    }
    if plan.warps() == 1 {
        return Ok(false);
    }

    let exchange = Exchange::new(op, axis, &layout)?;
    let b = &exchange.b;
    let combiner = reduce.combiner()?;
    let axis_attribute = op.attribute("axis")?;

    let partial_types = exchange.types_of(&tiles, exchange.partial)?;
    let partials = b.op_with(
        WarpReduceOp::NAME,
        &tiles,
        &partial_types,
        &[("axis", axis_attribute)],
        vec![copy_of_body(op)?],
    );
    let gathered = partials
        .results()
        .map(|partial| exchange.through_memory(partial.into()))
        .collect::<Result<Vec<_>, _>>()?;

    let result_types = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
    let reduced = b.op_with(
        ReduceOp::NAME,
        &gathered,
        &result_types,
        &[("axis", axis_attribute)],
        vec![region::taken_from(combiner)],
    );
    let results = reduced.results().map(Value::from).collect::<Vec<_>>();
    b.replace(op, &results);
    Ok(true)
}

/// What is the same for every tile of a reduction.
struct Exchange<'c, 'a> {
    b: Builder<'c, 'a>,
    /// The shape of the partials: along the reduced axis, how many warps have one.
    shape: Vec<i64>,
    axis: usize,
    /// The number of the step of the loop that the reduction stands in.
    step: Option<Value<'c, 'a>>,
    /// The layout of one partial per warp.
    partial: Attribute<'c>,
    /// The layout of all partials of a result in each thread's registers.
    gathered: Attribute<'c>,
}

impl<'c: 'a, 'a> Exchange<'c, 'a> {
    fn new(op: OperationRef<'c, 'a>, axis: usize, layout: &LinearLayout) -> Result<Self, Diagnostic<'c>> {
        let b = Builder::before(op);
        let wrong = |error| Diagnostic::user(op.location(), error);
        let partial = layout.partial_layout(axis, HardwareDim::Warp).map_err(wrong)?;
        let gathered = layout.gathered_layout(axis, HardwareDim::Warp).map_err(wrong)?;
        Ok(Self {
            axis,
            shape: partial.shape().to_vec(),
            step: step_around(op),
            partial: layout::to_attribute(b.context(), &partial).into(),
            gathered: layout::to_attribute(b.context(), &gathered).into(),
            b,
        })
    }

    /// Tiles of partials in `layout` with the elements of `tiles`.
    fn types_of(
        &self,
        tiles: &[Value<'c, 'a>],
        layout: Attribute<'c>,
    ) -> Result<Vec<Type<'c>>, Diagnostic<'c>> {
        tiles
            .iter()
            .map(|tile| self.tile_type(types::element(tile.r#type()), layout))
            .collect()
    }

    fn tile_type(&self, element: Type<'c>, layout: Attribute<'c>) -> Result<Type<'c>, Diagnostic<'c>> {
        let shape = self.shape.iter().copied().map(Some).collect::<Vec<_>>();
        types::tensor(&shape, element, Some(layout))
            .ok_or_else(|| Diagnostic::internal(self.b.location(), "the layout does not fit the partials"))
    }

    /// Writes partials to shared memory of their own and reads them back gathered.
    fn through_memory(&self, partial: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let b = &self.b;
        let element = types::element(partial.r#type());
        let memory = |is_repeated| buffers::memory(b, &self.shape, self.axis, element, is_repeated).into();
        let memory = match self.step {
            None => b.value(LocalAllocOp::NAME, &[], memory(false)),
            Some(step) => {
                let all = b.value(LocalAllocOp::NAME, &[], memory(true));
                let slot = b.value("arith.remui", &[step, b.index(BUFFERS)], step.r#type());
                b.value(MemDescIndexOp::NAME, &[all, slot], memory(false))
            }
        };
        b.op(LocalStoreOp::NAME, &[partial, memory], &[]);
        let gathered = self.tile_type(element, self.gathered)?;
        let load = LocalLoadOp::build(b.location(), memory, &[], &[], None, None, gathered)?;
        Ok(b.insert(load).result(0)?.into())
    }
}

/// The induction variable of the loop that an op stands in directly.
fn step_around<'c, 'a>(op: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
    let of = op
        .parent_operation()
        .filter(|of| walk::has_name(*of, "scf.for"))?;
    Some(walk::entry_block(of).ok()?.argument(0).ok()?.into())
}

/// A copy of the region of `op`.
fn copy_of_body<'c>(op: OperationRef<'c, '_>) -> Result<Region<'c>, melior::Error> {
    let copy = Operation::clone(&op);
    Ok(region::taken_from(copy.region(0)?))
}
