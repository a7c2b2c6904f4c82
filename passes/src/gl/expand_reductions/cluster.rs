//! Reductions across the CTAs of a cluster.
//!
//! Every CTA stores its partial results into the shared memory of all CTAs, its own included, waits at an mbarrier of its own for
//! the bytes of all of them, and combines them in its registers. All combine the same numbers in the same order, so that all agree to
//! the last bit.
//!
//! **Start.** One thread initialises the mbarriers when the kernel begins, and all threads arrive at the cluster's barrier.
//! They wait there only before the first exchange, so that loads may be in flight meanwhile. The wait comes earlier where a
//! loop before the exchange reads data that is to stay in the L1 cache, which the wait invalidates; and it comes before
//! partitions of warps, since all threads take part in it.
//!
//! **Loops.** A repeated exchange alternates between two buffers and two mbarriers: a CTA that is ahead writes to one buffer
//! while another still reads the other. It is ahead by one exchange at most, as each exchange waits for all CTAs. A CTA that
//! takes part in an exchange also signals that its threads have read the data of the previous one (`gl.remote_arrive`), after
//! which the others may overwrite that buffer. Copies that CTAs meanwhile make to their own shared memory, steps ahead through
//! rings, add no order between the CTAs: no stage of one CTA waits for another CTA's.
//!
//! **End.** Each CTA waits for everything that others store to it. So no CTA touches another's memory once that is done, and a
//! CTA may exit without a further barrier of the cluster. Such a barrier would not order stores that nobody waits for either.

use melior::ir::{
    Attribute, OperationRef, Type, Value, ValueLike, operation::OperationLike, r#type::IntegerType,
};
use norma_dialects::{
    gl::{
        CacheAttr, ClusterArriveOp, ClusterWaitOp, EvictionPolicy, FenceMBarrierInitOp, LoadOp, LocalAllocOp,
        LocalLoadOp, MBarrierAllocOp, MBarrierExpectOp, MBarrierInitOp, MBarrierType, MBarrierWaitOp,
        MemDescIndexOp, ReduceOp, RemoteArriveOp, RemoteStoreOp,
    },
    layout,
};
use norma_layout::{HardwareDim, LinearLayout};

use crate::{
    gl::{constant_tiles, launch, shared_memory},
    mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError, region, types, walk},
};

use super::{
    buffers::{self, BUFFERS},
    phase, rounds,
};

/// Expands the reductions of a function that cross CTAs, and returns the number of rounds.
pub(super) fn expand<'c>(function: OperationRef<'c, '_>) -> Result<u64, PassError<'c>> {
    let rounds = rounds::of(function, &|plan| plan.blocks() > 1)?;
    if rounds.is_empty() {
        return Ok(0);
    }
    let ctas = launch::ctas_of_cluster(function);
    let rounds = rounds
        .iter()
        .map(|round| Exchange::of(function, round, ctas))
        .collect::<Result<Vec<_>, _>>()?;
    wait_for_start(function, &rounds)?;
    let places = start(function, &rounds)?;
    for (round, places) in rounds.iter().zip(&places) {
        round.write(places)?;
    }
    Ok(rounds.len() as u64)
}

/// One round: reductions that exchange their partial results together.
struct Exchange<'c, 'a> {
    reductions: Vec<Partials<'c, 'a>>,
    /// The loops around it, from the outermost.
    loops: Vec<OperationRef<'c, 'a>>,
    /// The number of CTAs of the cluster.
    ctas: i64,
}

/// A reduction of a round.
struct Partials<'c, 'a> {
    reduce: ReduceOp<'c, 'a>,
    axis: usize,
    /// The layout of the partial results, one for each CTA.
    partial: LinearLayout,
    /// The layout of all partial results in each thread's registers.
    gathered: LinearLayout,
    /// For each tile, whether it is one constant in all CTAs, so that it is not exchanged.
    are_constant: Vec<bool>,
}

/// Where a round's partial results and mbarriers lie.
struct Places<'c, 'a> {
    /// The memory of each exchanged tile, for each reduction.
    memories: Vec<Vec<Value<'c, 'a>>>,
    barriers: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Exchange<'c, 'a> {
    fn of(
        function: OperationRef<'c, 'a>,
        round: &[ReduceOp<'c, 'a>],
        ctas: i64,
    ) -> Result<Self, PassError<'c>> {
        let reductions = round
            .iter()
            .map(|reduce| Partials::of(*reduce, ctas))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            loops: phase::loops_around(function, reductions[0].reduce.op())?,
            reductions,
            ctas,
        })
    }

    /// The first op of the round.
    fn first(&self) -> OperationRef<'c, 'a> {
        self.reductions[0].reduce.op()
    }

    fn is_repeated(&self) -> bool {
        !self.loops.is_empty()
    }

    /// Allocates shared memory and mbarriers for the round.
    fn allocate(&self, b: &Builder<'c, 'a>) -> Result<Places<'c, 'a>, PassError<'c>> {
        let memories = self
            .reductions
            .iter()
            .map(|partials| {
                let tiles = partials.exchanged().into_iter();
                let alloc = |tile: Value<'c, 'a>| {
                    let element = exchanged_element(b, tile)?;
                    let ty = partials.memory(b, element, self.is_repeated());
                    Ok(b.value(LocalAllocOp::NAME, &[], ty))
                };
                tiles.map(alloc).collect::<Result<Vec<_>, Diagnostic<'c>>>()
            })
            .collect::<Result<Vec<_>, _>>()?;
        let ty = MBarrierType::get(b.context(), if self.is_repeated() { BUFFERS } else { 1 });
        Ok(Places {
            memories,
            barriers: b.value(MBarrierAllocOp::NAME, &[], ty.into()),
        })
    }

    /// The number of arrivals that complete a phase: one of the thread that expects the bytes and, in a loop, one of each CTA,
    /// which thereby releases its buffer.
    fn arrivals(&self) -> i64 {
        1 + if self.is_repeated() { self.ctas } else { 0 }
    }

    /// Replaces the reductions by the exchange.
    fn write(&self, places: &Places<'c, 'a>) -> Result<(), PassError<'c>> {
        let b = Builder::before(self.first());
        let i1: Type<'c> = IntegerType::new(b.context(), 1).into();
        let (slot, parity) = if self.is_repeated() {
            let iteration = phase::iteration(&b, &self.loops)?;
            let parity = phase::bit(&b, iteration, 1);
            let parity = b.value("arith.index_castui", &[parity], i1);
            (phase::bit(&b, iteration, 0), parity)
        } else {
            (b.index(0), b.integer(i1, 0))
        };
        if self.is_repeated() {
            let all = places.memories.iter().flatten().copied();
            let operands = [places.barriers, slot].into_iter().chain(all).collect::<Vec<_>>();
            b.op(RemoteArriveOp::NAME, &operands, &[]);
        }
        let mut bytes = 0;
        let mut brought = Vec::new();
        for (partials, memories) in self.reductions.iter().zip(&places.memories) {
            let mut stages = Vec::new();
            for (tile, memory) in partials.exchanged().into_iter().zip(memories) {
                let element = exchanged_element(&b, tile)?;
                bytes += types::element_bytes(element).unwrap_or(0)
                    * partials.partial.shape().iter().product::<i64>();
                let stage = match self.is_repeated() {
                    false => *memory,
                    true => {
                        let ty = partials.memory(&b, element, false);
                        b.value(MemDescIndexOp::NAME, &[*memory, slot], ty)
                    }
                };
                stages.push((to_exchanged(&b, tile)?, stage));
            }
            brought.push(stages);
        }
        b.op(
            MBarrierExpectOp::NAME,
            &[places.barriers, slot, b.index(bytes)],
            &[],
        );
        for (tile, stage) in brought.iter().flatten() {
            b.op(RemoteStoreOp::NAME, &[*tile, *stage, places.barriers, slot], &[]);
        }
        b.op(MBarrierWaitOp::NAME, &[places.barriers, slot, parity], &[]);
        for (partials, stages) in self.reductions.iter().zip(&brought) {
            partials.combine(stages)?;
        }
        Ok(())
    }
}

impl<'c: 'a, 'a> Partials<'c, 'a> {
    fn of(reduce: ReduceOp<'c, 'a>, ctas: i64) -> Result<Self, PassError<'c>> {
        let op = reduce.op();
        let location = op.location();
        let axis = reduce.axis()? as usize;
        let first = reduce.tiles().first().copied();
        let first = first.ok_or_else(|| Diagnostic::internal(location, "expected a tile"))?;
        let partial = layout::of_tile(first.r#type()).map_err(|error| Diagnostic::user(location, error))?;
        let wrong = |error| Diagnostic::user(location, error);
        let plan = partial.reduction(axis).map_err(wrong)?;
        if plan.blocks() as i64 != partial.shape()[axis] {
            let message = format!(
                "a reduction of {} elements across {} CTAs of a cluster; supported: along axes that CTAs alone are spread over",
                partial.shape()[axis],
                plan.blocks()
            );
            return Err(Diagnostic::unsupported(location, message).into());
        }
        if partial.num_blocks() as i64 != ctas {
            let message = format!(
                "expected tiles over the {ctas} CTAs of a cluster that gl.launch says, got {}",
                partial.num_blocks()
            );
            return Err(Diagnostic::user(location, message).into());
        }
        let gathered = partial.gathered_layout(axis, HardwareDim::Block).map_err(wrong)?;
        let are_constant = constant_tiles::are_constant(&reduce.tiles(), walk::entry_block(op)?);
        Ok(Self {
            reduce,
            axis,
            partial,
            gathered,
            are_constant,
        })
    }

    /// The tiles whose partial results are exchanged.
    fn exchanged(&self) -> Vec<Value<'c, 'a>> {
        let tiles = self.reduce.tiles().into_iter().zip(&self.are_constant);
        let exchanged = tiles.filter(|(_, is_constant)| !**is_constant);
        exchanged.map(|(tile, _)| tile).collect()
    }

    /// The type of memory for the partial results of all CTAs.
    fn memory(&self, b: &Builder<'c, 'a>, element: Type<'c>, is_repeated: bool) -> Type<'c> {
        buffers::memory(b, self.partial.shape(), self.axis, element, is_repeated).into()
    }

    /// Replaces the reduction by one of the exchanged partial results. `stages` has each exchanged tile, as it was stored, and
    /// its memory.
    fn combine(&self, stages: &[(Value<'c, 'a>, Value<'c, 'a>)]) -> Result<(), PassError<'c>> {
        let op = self.reduce.op();
        let b = Builder::before(op);
        let gathered: Attribute<'c> = layout::to_attribute(b.context(), &self.gathered).into();
        let constants = constant_tiles::combined(&b, &self.reduce.tiles(), walk::entry_block(op)?, 1)?;
        let mut stages = stages.iter();
        let tiles = self
            .reduce
            .tiles()
            .into_iter()
            .zip(constants)
            .map(|(tile, constant)| {
                if let Some(scalar) = constant {
                    let ty = in_layout(&b, tile.r#type(), gathered)?;
                    return Ok(b.value("tensor.splat", &[scalar], ty));
                }
                let stage = stages.next();
                let (exchanged, stage) = stage
                    .ok_or_else(|| Diagnostic::internal(b.location(), "expected a place for each tile"))?;
                let ty = in_layout(&b, exchanged.r#type(), gathered)?;
                let load = LocalLoadOp::build(b.location(), *stage, &[], &[], None, None, ty)?;
                let loaded = b.insert(load).result(0)?.into();
                Ok(from_exchanged(
                    &b,
                    loaded,
                    in_layout(&b, tile.r#type(), gathered)?,
                )?)
            })
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        let types = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
        let axis = op.attribute("axis")?;
        let combiner = region::taken_from(self.reduce.combiner()?);
        let reduced = b.op_with(ReduceOp::NAME, &tiles, &types, &[("axis", axis)], vec![combiner]);
        let results = reduced.results().map(Value::from).collect::<Vec<_>>();
        b.replace(op, &results);
        Ok(())
    }
}

/// The type of a tile like `ty`, in another layout.
fn in_layout<'c>(
    b: &Builder<'c, '_>,
    ty: Type<'c>,
    layout: Attribute<'c>,
) -> Result<Type<'c>, Diagnostic<'c>> {
    let shape = types::shape(ty).unwrap_or_default();
    types::tensor(&shape, types::element(ty), Some(layout))
        .ok_or_else(|| Diagnostic::internal(b.location(), "the layout does not fit the partials"))
}

/// The element type in which `tile` is exchanged: `st.async` takes 4 or 8 bytes.
fn exchanged_element<'c>(b: &Builder<'c, '_>, tile: Value<'c, '_>) -> Result<Type<'c>, Diagnostic<'c>> {
    let element = types::element(tile.r#type());
    let int = |bits| -> Type<'c> { IntegerType::new(b.context(), bits).into() };
    match types::bit_width(element) {
        _ if types::is_index(element) => Ok(int(64)),
        Some(32 | 64) => Ok(element),
        Some(bits) if bits < 32 => Ok(int(32)),
        _ => Err(Diagnostic::unsupported(
            b.location(),
            format!("expected partial results of at most 8 bytes, got {element}"),
        )),
    }
}

/// Converts a tile to the element type in which it is exchanged.
fn to_exchanged<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    tile: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let wanted = with_element(b, tile.r#type(), exchanged_element(b, tile)?)?;
    if tile.r#type() == wanted {
        return Ok(tile);
    }
    if types::is_index(types::element(tile.r#type())) {
        return Ok(b.value("arith.index_cast", &[tile], wanted));
    }
    let bits = bitcast(b, tile, integers_of(b, tile.r#type())?);
    Ok(b.value("arith.extui", &[bits], wanted))
}

/// Converts a tile that has been exchanged to type `wanted`.
fn from_exchanged<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    tile: Value<'c, 'a>,
    wanted: Type<'c>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    if tile.r#type() == wanted {
        return Ok(tile);
    }
    if types::is_index(types::element(wanted)) {
        return Ok(b.value("arith.index_cast", &[tile], wanted));
    }
    let bits = b.value("arith.trunci", &[tile], integers_of(b, wanted)?);
    Ok(bitcast(b, bits, wanted))
}

fn bitcast<'c: 'a, 'a>(b: &Builder<'c, 'a>, tile: Value<'c, 'a>, wanted: Type<'c>) -> Value<'c, 'a> {
    if tile.r#type() == wanted {
        return tile;
    }
    b.value("arith.bitcast", &[tile], wanted)
}

/// The type of a tile like `ty`, with other elements.
fn with_element<'c>(
    b: &Builder<'c, '_>,
    ty: Type<'c>,
    element: Type<'c>,
) -> Result<Type<'c>, Diagnostic<'c>> {
    types::tensor(
        &types::shape(ty).unwrap_or_default(),
        element,
        types::encoding(ty),
    )
    .ok_or_else(|| Diagnostic::internal(b.location(), format!("no tile of {element}")))
}

/// The type of a tile like `ty`, with integers as wide as its elements.
fn integers_of<'c>(b: &Builder<'c, '_>, ty: Type<'c>) -> Result<Type<'c>, Diagnostic<'c>> {
    let bits = types::bit_width(types::element(ty))
        .ok_or_else(|| Diagnostic::internal(b.location(), "expected elements of a width"))?;
    with_element(b, ty, IntegerType::new(b.context(), bits as u32).into())
}

/// Allocates memory for all rounds at the start of the function, initialises the mbarriers and arrives at the cluster's
/// barrier.
fn start<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    rounds: &[Exchange<'c, 'a>],
) -> Result<Vec<Places<'c, 'a>>, PassError<'c>> {
    // After all other set-up of mbarriers: the cluster's barrier then orders that as well, and one fence covers all.
    let body = walk::in_block(walk::entry_block(function)?);
    let set_up = body.iter().take_while(|op| shared_memory::sets_up(**op));
    for fence in set_up.filter(|op| FenceMBarrierInitOp::from_op(**op).is_some()) {
        Builder::before(*fence).erase(*fence);
    }
    let body = walk::in_block(walk::entry_block(function)?);
    let first = body.into_iter().find(|op| !shared_memory::sets_up(*op));
    let first =
        first.ok_or_else(|| Diagnostic::internal(function.location(), "expected a kernel that returns"))?;
    let mut b = Builder::before(first);
    let mut places = Vec::new();
    for round in rounds {
        b.set_location(round.first().location());
        places.push(round.allocate(&b)?);
    }
    for (round, places) in rounds.iter().zip(&places) {
        b.set_location(round.first().location());
        let arrivals = b.i64_attribute(round.arrivals());
        b.op_with(
            MBarrierInitOp::NAME,
            &[places.barriers],
            &[],
            &[("arrivals", arrivals)],
            Vec::new(),
        );
    }
    b.set_location(function.location());
    b.op(FenceMBarrierInitOp::NAME, &[], &[]);
    let relaxed = [("relaxed", Attribute::unit(b.context()))];
    b.op_with(ClusterArriveOp::NAME, &[], &[], &relaxed, Vec::new());
    Ok(places)
}

/// Inserts the wait for the cluster's start before the first op of the function that exchanges anything, or that reads data in
/// a loop that is to stay in the L1 cache.
fn wait_for_start<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    rounds: &[Exchange<'c, 'a>],
) -> Result<(), PassError<'c>> {
    let outermost = |round: &Exchange<'c, 'a>| {
        let mut around = std::iter::successors(Some(round.first()), |op| op.parent_operation());
        around.find(|op| op.parent_operation() == Some(function))
    };
    let first_ops = rounds.iter().filter_map(outermost).collect::<Vec<_>>();
    let fills_l1 = |op: OperationRef<'c, '_>| {
        walk::has_name(op, "scf.for")
            && walk::all(op, LoadOp::from_op)
                .into_iter()
                .filter_map(LoadOp::cache)
                .any(|cache: CacheAttr<'c>| cache.l1() == Ok(EvictionPolicy::Last))
    };
    let body = walk::in_block(walk::entry_block(function)?);
    let first = body
        .into_iter()
        .find(|op| first_ops.contains(op) || fills_l1(*op))
        .ok_or_else(|| Diagnostic::internal(function.location(), "expected a round in the function"))?;
    Builder::before(first).op(ClusterWaitOp::NAME, &[], &[]);
    Ok(())
}
