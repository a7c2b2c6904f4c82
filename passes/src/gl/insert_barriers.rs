//! `gl-insert-barriers`: `gl.barrier` between conflicting accesses to shared memory, and to buffers that may be the same memory.
//!
//! The threads of a CTA run independently, so an access must not start before every thread has performed an earlier one to the
//! same bytes, unless both read. The pass walks the function in program order with the set of *pending* accesses, from which
//! some path leads to the current op without a barrier, and inserts a barrier before an op that conflicts with one of them.
//!
//! Why this is sufficient: the set at an op is the union over all paths to it. A branch is entered with the set before it and
//! left with the union of its ends; a loop's body is entered with the union of the set before it and the set at the body's end,
//! iterated until nothing changes, so that hazards across the back edge are seen. Sets only grow during the iteration, so a
//! barrier that was needed stays needed. After allocation two memories overlap exactly where their byte ranges do, and an
//! access to a dynamic stage counts as one to the whole allocation.
//!
//! Why it is allowed: scalars of `gl` are the same in all threads of the CTA, so a barrier in a branch or a loop is met
//! by all threads or by none.
//!
//! Where each thread loads and stores elements of its own, by tiles of one layout, no thread waits for another
//! ([`OwnElements`]).
//!
//! A result may be the memory of an argument (`aliases` of `gl.launch`). Only the CTA that writes an element reads it then. Several of its
//! threads may load the element, and one of them stores the result: a barrier has to lie between.
//!
//! A loop may alternate between two stages of a memory (`i mod 2`). An access of the current step and one of the previous step
//! then do not overlap, and the analysis swaps the two at the back edge. Where an enclosing loop runs such a loop again, the first
//! step may use the buffer of the last one, so a barrier precedes the inner loop.
//!
//! A partition of `gl.warp_specialize` gets named barriers for its own threads, since no partition may wait for another's
//! warps. Accesses of different partitions to shared memory are ordered by asynchronous copies and mbarriers.
//!
//! Asynchronous copies are in flight until a wait, and a barrier before the wait orders nothing: their accesses become pending
//! only at the `gl.async_wait` or `gl.bulk_wait` that waits for them. Data that arrives at an mbarrier is waited for there, and
//! so are the stores of other CTAs of a cluster. A CTA that releases memory to them (`gl.remote_arrive`) must have finished
//! with it, so that a barrier comes before. The cluster's barrier orders accesses before the arrival with those behind the
//! wait, a relaxed one only the initialisation of mbarriers. Fences between the generic and the asynchronous proxy are ops of
//! their own, which this pass does not add.
//!
//! No barrier of the cluster is needed at the end: accesses of other CTAs to a CTA's shared memory complete on mbarriers that
//! its threads wait for.

use std::collections::BTreeSet;

use melior::ir::{
    BlockLike, BlockRef, OperationRef, RegionLike, Value, ValueLike, attribute::DenseI64ArrayAttribute,
    operation::OperationLike,
};
use norma_dialects::{
    attributes::kernel,
    gl::{
        AsyncWaitOp, BarrierOp, BulkWaitOp, ClusterArriveOp, ClusterWaitOp, LoadOp, MBarrierInitOp,
        MemDescIndexOp, MemDescType, StoreOp, WarpSpecializeOp,
    },
    integer_of,
};
use norma_targets::{CTA_BARRIERS, WARP_SIZE};

use crate::{
    gl::{
        divisibility,
        own_elements::OwnElements,
        shared_memory::{self, Completion},
    },
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        values::{block_argument, definition},
        walk,
    },
    table::{GlInsertBarriers, GlInsertBarriersStatistic},
};

/// Barriers of a CTA besides that of all threads.
const NAMED_BARRIERS: i64 = CTA_BARRIERS - 1;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlInsertBarriers>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        let taken = walk::all(function, BarrierOp::from_op);
        let mut inserter = Inserter {
            ids: taken.into_iter().filter_map(BarrierOp::id).max().unwrap_or(0),
            warps: integer_of(function, kernel::NUM_WARPS),
            ..Inserter::default()
        };
        if let Some(body) = function.region(0)?.first_block() {
            inserter.block(body, State::default())?;
        }
        cx.count(GlInsertBarriersStatistic::NumInserted, inserter.inserted);
    }
    Ok(())
}

/// An access to a range of bytes of shared memory, or to a buffer that may be the same memory as another one: a range of one number below 0
/// then stands for both buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    start: i64,
    end: i64,
    writes: bool,
    /// Whether it initialises mbarriers.
    initialises: bool,
    /// Which of two buffers is accessed, where a loop alternates between two.
    buffer: Option<AlternatingBuffer>,
    /// Which elements each thread accesses, where it has its own.
    own: Option<OwnElements>,
}

/// One of two buffers between which a loop alternates: that of the current step, or that of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AlternatingBuffer {
    /// The address of the loop's op.
    of_loop: usize,
    is_previous: bool,
}

impl Span {
    fn conflicts(self, other: Self) -> bool {
        let is_apart = match (self.buffer, other.buffer) {
            (Some(one), Some(other)) => one.of_loop == other.of_loop && one.is_previous != other.is_previous,
            _ => false,
        };
        let are_own = self.own.is_some() && self.own == other.own && self.start == other.start;
        let overlap = self.start < other.end && other.start < self.end;
        (self.writes || other.writes) && overlap && !is_apart && !are_own
    }

    /// The span as the next step of a loop sees it: the current step's buffer becomes the previous step's, and the other way
    /// round.
    fn in_next_step(mut self, loop_op: usize) -> Self {
        if let Some(buffer) = self.buffer.as_mut().filter(|buffer| buffer.of_loop == loop_op) {
            buffer.is_previous = !buffer.is_previous;
        }
        self
    }
}

/// Accesses that some thread may not have performed yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// Accesses that a barrier would order.
    pending: BTreeSet<Span>,
    /// Accesses that the wait at the cluster's barrier will order as well, since they precede the arrival at it.
    arrived: BTreeSet<Span>,
    /// Accesses of `cp.async` groups that no wait has covered yet.
    async_copies: BTreeSet<Span>,
    /// Accesses of bulk groups that no wait has covered yet.
    bulk_copies: BTreeSet<Span>,
}

impl State {
    fn union(mut self, other: &Self) -> Self {
        self.pending.extend(&other.pending);
        self.arrived.extend(&other.arrived);
        self.async_copies.extend(&other.async_copies);
        self.bulk_copies.extend(&other.bulk_copies);
        self
    }

    /// The state at the start of the next step of a loop.
    fn in_next_step(&self, loop_op: usize) -> Self {
        let next = |spans: &BTreeSet<Span>| spans.iter().map(|span| span.in_next_step(loop_op)).collect();
        Self {
            pending: next(&self.pending),
            arrived: next(&self.arrived),
            async_copies: next(&self.async_copies),
            bulk_copies: next(&self.bulk_copies),
        }
    }

    fn conflicts(&self, spans: &[(Span, Completion)]) -> bool {
        let unordered = || self.pending.iter().chain(&self.arrived);
        spans
            .iter()
            .any(|(span, _)| unordered().any(|pending| span.conflicts(*pending)))
    }

    /// Whether an access is pending from an earlier run of the loop `loop_op`, which alternates between two buffers. When an enclosing loop
    /// enters `loop_op` again, the first step's buffer is that of the last step if their number is odd.
    fn alternates_in(&self, loop_op: usize) -> bool {
        let mut unordered = self.pending.iter().chain(&self.arrived);
        unordered.any(|pending| pending.buffer.is_some_and(|buffer| buffer.of_loop == loop_op))
    }

    /// Updates the state for a barrier of all threads.
    fn ordered(&mut self) {
        self.pending.clear();
        self.arrived.clear();
    }
}

#[derive(Default)]
struct Inserter {
    inserted: u64,
    /// The id and the number of threads of the current partition's named barrier; `None` outside of partitions, for the barrier
    /// of all threads.
    named: Option<(i64, i64)>,
    /// The largest id of a named barrier that is taken.
    ids: i64,
    /// The warps of the kernel or of the current partition; `None` if the kernel does not say.
    warps: Option<i64>,
}

impl Inserter {
    /// The state after `op`, inserting barriers before it and in its regions.
    fn op<'c>(&mut self, op: OperationRef<'c, '_>, mut state: State) -> Result<State, PassError<'c>> {
        let specialize = WarpSpecializeOp::from_op(op);
        let spans = match specialize {
            Some(specialize) => spans_of_partitions(specialize)?,
            None => spans(op, self.warps)?,
        };
        if state.conflicts(&spans) || state.alternates_in(address(op)) {
            let (id, threads) = self.named.unzip();
            Builder::before(op).insert(BarrierOp::build(op.location(), id, threads)?);
            self.inserted += 1;
            state.ordered();
        }
        for (span, completion) in spans {
            match completion {
                Completion::Immediate => state.pending.insert(span),
                Completion::AsyncGroup => state.async_copies.insert(span),
                Completion::BulkGroup => state.bulk_copies.insert(span),
                Completion::MBarrier | Completion::Remote => false,
            };
        }
        if let Some(barrier) = BarrierOp::from_op(op) {
            // A barrier of fewer threads holds back some warps only.
            if barrier.threads() == self.named.map(|(_, threads)| threads) {
                state.ordered();
            }
        } else if let Some(arrive) = ClusterArriveOp::from_op(op) {
            let is_released = |span: &Span| span.initialises || !arrive.relaxed();
            let (released, others) = state
                .pending
                .iter()
                .partition::<BTreeSet<_>, _>(|span| is_released(span));
            state.pending = others;
            state.arrived.extend(released);
        } else if ClusterWaitOp::from_op(op).is_some() {
            state.arrived.clear();
        } else if let Some(wait) = AsyncWaitOp::from_op(op) {
            waited(&mut state.async_copies, &mut state.pending, wait.pending()?);
        } else if let Some(wait) = BulkWaitOp::from_op(op) {
            waited(&mut state.bulk_copies, &mut state.pending, wait.pending()?);
        }
        if let Some(specialize) = specialize {
            self.partitions(specialize)?;
            Ok(state)
        } else if walk::has_name(op, "scf.if") {
            self.branches(op, state)
        } else {
            self.regions(op, state)
        }
    }

    /// Inserts barriers into each partition, for its own threads.
    fn partitions<'c>(&mut self, specialize: WarpSpecializeOp<'c, '_>) -> Result<(), PassError<'c>> {
        for (region, warps) in specialize.op().regions().zip(specialize.warps()?) {
            self.ids += 1;
            if self.ids > NAMED_BARRIERS {
                let message = format!("more than {NAMED_BARRIERS} named barriers");
                return Err(Diagnostic::unsupported(specialize.op().location(), message).into());
            }
            let mut inside = Self {
                named: Some((self.ids, warps * WARP_SIZE)),
                warps: Some(warps),
                ..Self::default()
            };
            if let Some(body) = region.first_block() {
                inside.block(body, State::default())?;
            }
            self.inserted += inside.inserted;
        }
        Ok(())
    }

    /// The state after an op that runs its regions any number of times, in any order.
    fn regions<'c>(&mut self, op: OperationRef<'c, '_>, before: State) -> Result<State, PassError<'c>> {
        let mut state = before;
        loop {
            let mut after = state.clone();
            for region in op.regions() {
                if let Some(block) = region.first_block() {
                    let end = self.block(block, state.clone())?;
                    after = after.union(&end.in_next_step(address(op)));
                }
            }
            if after == state {
                return Ok(state);
            }
            state = after;
        }
    }

    /// The state after an op that runs one of its regions, or none where one is empty.
    fn branches<'c>(&mut self, op: OperationRef<'c, '_>, before: State) -> Result<State, PassError<'c>> {
        let mut after = State::default();
        for region in op.regions() {
            after = after.union(&match region.first_block() {
                Some(block) => self.block(block, before.clone())?,
                None => before.clone(),
            });
        }
        Ok(after)
    }

    fn block<'c>(&mut self, block: BlockRef<'c, '_>, mut state: State) -> Result<State, PassError<'c>> {
        if let Some(next) = block.next_in_region().and_then(|next| next.first_operation()) {
            return Err(Diagnostic::unsupported(
                next.location(),
                "expected structured control flow, got a region of several blocks",
            )
            .into());
        }
        for op in walk::in_block(block) {
            state = self.op(op, state)?;
        }
        Ok(state)
    }
}

/// Updates the sets for a wait that leaves `left` groups in flight. Which groups these are is not tracked, so unless `left` is
/// 0 all accesses stay in flight as well as pending.
fn waited(in_flight: &mut BTreeSet<Span>, pending: &mut BTreeSet<Span>, left: i64) {
    pending.extend(in_flight.iter());
    if left == 0 {
        in_flight.clear();
    }
}

/// The bytes that `op` itself accesses, one of `warps` warps if these are known.
fn spans<'c>(op: OperationRef<'c, '_>, warps: Option<i64>) -> Result<Vec<(Span, Completion)>, PassError<'c>> {
    let mut spans = Vec::new();
    for access in shared_memory::accesses(op)? {
        let allocation = shared_memory::known_origin(access.memory, op)?;
        let start = shared_memory::offset_of(allocation).ok_or_else(|| {
            Diagnostic::user(
                allocation.location(),
                "expected an allocation with an offset (run gl-allocate-shared first)",
            )
        })?;
        let bytes = shared_memory::bytes(allocation.result(0)?.r#type(), allocation.location())?;
        let span = Span {
            start,
            end: start + bytes,
            writes: access.writes,
            initialises: MBarrierInitOp::from_op(op).is_some(),
            buffer: current_buffer(access.memory),
            own: warps.and_then(|warps| OwnElements::of(op, warps)),
        };
        spans.push((span, access.completion));
    }
    spans.extend(in_place(op, warps).map(|span| (span, Completion::Immediate)));
    Ok(spans)
}

/// The access of a load or a store to a buffer that may be the memory of another one.
fn in_place(op: OperationRef<'_, '_>, warps: Option<i64>) -> Option<Span> {
    let (buffer, tile, writes) = match (LoadOp::from_op(op), StoreOp::from_op(op)) {
        (Some(load), _) => (load.buffer().ok()?, load.tile().ok()?, false),
        (_, Some(store)) => (store.buffer().ok()?, store.tile().ok()?, true),
        _ => return None,
    };
    let (launch, argument) = divisibility::launch_of(buffer)?;
    let aliases = DenseI64ArrayAttribute::try_from(launch.aliases()?).ok()?;
    let aliases = (0..aliases.len()).map(|index| aliases.element(index).ok());
    let aliases = aliases.collect::<Option<Vec<_>>>()?;
    let argument = i64::try_from(argument).ok()?;
    let of_input = aliases.chunks_exact(2).find(|pair| pair.contains(&argument))?[1];
    Some(Span {
        start: -1 - of_input,
        end: -of_input,
        writes,
        initialises: false,
        buffer: None,
        own: warps.and_then(|warps| OwnElements::of_tile(buffer, tile, warps)),
    })
}

/// The buffer that a stage is, the current step's: the memory has two stages, and the stage's index is the induction variable of the
/// surrounding loop, whose step is 1, modulo 2. `None` for any other memory.
fn current_buffer(memory: Value<'_, '_>) -> Option<AlternatingBuffer> {
    let stage = MemDescIndexOp::from_op(definition(memory)?)?;
    let stages = MemDescType::from_type(stage.memory().ok()?.r#type())?;
    let remainder = definition(stage.index().ok()?).filter(|op| walk::has_name(*op, "arith.remui"))?;
    let step = block_argument(remainder.operand(0).ok()?)?;
    let loop_op = step.owner().parent_operation()?;
    let is_by_two = divisibility::constant(remainder.operand(1).ok()?) == Some(2);
    let counts_steps = walk::has_name(loop_op, "scf.for")
        && step.argument_number() == 0
        && divisibility::constant(loop_op.operand(2).ok()?) == Some(1)
        && stage.op().parent_operation() == Some(loop_op);
    (counts_steps && is_by_two && stages.shape().first() == Some(&2)).then(|| AlternatingBuffer {
        of_loop: address(loop_op),
        is_previous: false,
    })
}

fn address(op: OperationRef<'_, '_>) -> usize {
    op.to_raw().ptr as usize
}

/// The bytes that the partitions access. To the rest of the kernel all partitions are one op, as no partition may meet a
/// barrier of all threads. The warps of each count from 0, so that it does not matter which elements are their own.
fn spans_of_partitions<'c>(
    specialize: WarpSpecializeOp<'c, '_>,
) -> Result<Vec<(Span, Completion)>, PassError<'c>> {
    let mut all = Vec::new();
    for op in walk::pre_order(specialize.op()) {
        all.extend(spans(op, None)?);
    }
    Ok(all)
}
