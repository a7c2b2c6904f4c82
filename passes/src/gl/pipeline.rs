//! `gl-pipeline`: makes copies to shared memory asynchronous and issues those of loops several steps ahead of their use.
//!
//! Matches `gl.copy_to_shared`. A copy outside of loops is issued where it stands and waited for at the first load from its
//! memory, so that several are in flight together. The copies of a loop go through a *ring* (a multi-stage circular buffer):
//! memory for `gl.stages` steps, which the copies of later steps fill while a step computes. How copies signal that they have
//! landed, and threads that they have consumed a stage, depends on the engine: mbarriers for the copy engine ([`bulk_ring`]),
//! groups of a thread and barriers for `cp.async` ([`group_ring`]). The copy engine moves runs of bytes ([`bulk`]), or boxes of
//! a tensor map ([`boxes`]), swizzled where that saves bank conflicts ([`swizzles`]).
//!
//! Reading ahead gives the same values: a kernel writes none of the buffers that it copies from, except for results over the
//! memory of an argument, each element of which is read for the last time at the point that writes it (`norm.may_alias`).
//!
//! A peeled loop is several loops that copy the same accesses, each of which begins where the previous one ends. They share one
//! ring, whose copies are issued as those of the last loop, with its guards. Loads keep guards that these copies do not have.
//!
//! `gl.copy_from_shared` becomes copies by the copy engine in the other direction, which are in flight while a loop continues
//! ([`shared_to_global`]).
//!
//! Where the tiles of a loop are drawn, they are drawn as many steps ahead as the ring copies ([`drawn_ring`]); this takes the
//! copy engine.

mod boxes;
mod bulk;
mod bulk_ring;
mod drawn_ring;
mod granules;
mod group_ring;
mod groups;
mod ring;
mod shared_to_global;
mod step_bounds;
mod swizzles;
mod tile_copy;
mod transfer;

pub(crate) use bulk::MOST_COPIES;
use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    attributes::kernel,
    gl::{CopyEngine, CopyToSharedOp, LocalAllocOp, LocalLoadOp, MBarrierWaitOp},
    integer_of,
};

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        values::{definition, users},
        walk,
    },
    table::{GlPipeline, GlPipelineStatistic},
};

use super::{divisibility, drawn::DrawnLoop, mbarriers::barriers};
use bulk_ring::BulkRing;
use drawn_ring::DrawnRing;
use group_ring::GroupRing;
use groups::Group;
use ring::Issue;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlPipeline>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        pipeline(function, cx)?;
    }
    Ok(())
}

fn pipeline<'c>(
    function: OperationRef<'c, '_>,
    cx: &PassContext<'c, GlPipeline>,
) -> Result<(), PassError<'c>> {
    let stages = integer_of(function, kernel::STAGES).unwrap_or(1);
    let warps = integer_of(function, kernel::NUM_WARPS)
        .ok_or_else(|| Diagnostic::user(function.location(), "expected a kernel with gl.num_warps"))?;
    drop_unread(function)?;
    swizzles::choose(function)?;
    let mut loops: Vec<OperationRef<'c, '_>> = Vec::new();
    let mut groups = Vec::new();
    for copy in copies_in(function) {
        match around(function, copy.op())? {
            Some(loop_op) if !loops.contains(&loop_op) => loops.push(loop_op),
            Some(_) => {}
            None => {
                match copy.engine()? {
                    CopyEngine::Bulk | CopyEngine::Tensor => at_once(function, copy)?,
                    CopyEngine::CpAsync => groups.extend(Group::issue(function, copy)?),
                }
                cx.count(GlPipelineStatistic::NumCopies, 1);
            }
        }
    }
    for group in groups {
        group.wait(function)?;
    }
    for chain in chains(&loops)? {
        build_ring(function, chain, stages, warps)?;
        cx.count(GlPipelineStatistic::NumRings, 1);
    }
    cx.count(
        GlPipelineStatistic::NumSent,
        shared_to_global::send(function)? as u64,
    );
    Ok(())
}

/// Drops copies to memory that nothing loads from: what they were made for has been folded away.
fn drop_unread<'c>(function: OperationRef<'c, '_>) -> PassResult<'c> {
    for copy in copies_in(function) {
        let memory = copy.memory()?;
        if users(memory).len() > 1 {
            continue;
        }
        let b = Builder::before(copy.op());
        b.erase(copy.op());
        if let Some(alloc) = definition(memory).filter(|op| LocalAllocOp::from_op(*op).is_some()) {
            b.erase(alloc);
        }
    }
    Ok(())
}

/// The loop in each step of which a copy is issued; `None` for a copy that is issued once.
fn around<'c, 'a>(
    function: OperationRef<'c, 'a>,
    copy: OperationRef<'c, 'a>,
) -> Result<Option<OperationRef<'c, 'a>>, PassError<'c>> {
    let parent = copy.parent_operation();
    let parent = parent.ok_or_else(|| Diagnostic::internal(copy.location(), "expected an op in a kernel"))?;
    if parent == function {
        return Ok(None);
    }
    let counts = walk::has_name(parent, "scf.for");
    let is_loop = counts || walk::has_name(parent, "scf.while");
    if is_loop && parent.parent_operation() == Some(function) {
        // Stages and parities of barriers follow from how far a step is from the first one.
        if counts && divisibility::constant(parent.operand(2)?) != Some(1) {
            let message = "a copy to or from shared memory in a loop whose step is not 1; supported: 1";
            return Err(Diagnostic::unsupported(copy.location(), message).into());
        }
        return Ok(Some(parent));
    }
    let message = "a copy to or from shared memory in nested loops or branches; supported: at a kernel's top level and in a loop there";
    Err(Diagnostic::unsupported(copy.location(), message).into())
}

/// Groups loops that follow each other: each begins where the previous one ends, or with the tile that the previous one has
/// drawn last.
fn chains<'c, 'a>(loops: &[OperationRef<'c, 'a>]) -> Result<Vec<Vec<OperationRef<'c, 'a>>>, PassError<'c>> {
    let mut chains: Vec<Vec<OperationRef<'c, 'a>>> = Vec::new();
    for loop_op in loops {
        let is_next = |chain: &Vec<OperationRef<'c, 'a>>| -> Result<bool, melior::Error> {
            match chain.last() {
                Some(last) => Ok(continues(*last, *loop_op)? && copies_alike(*last, *loop_op)?),
                None => Ok(false),
            }
        };
        match chains.last_mut() {
            Some(chain) if is_next(chain)? => chain.push(*loop_op),
            _ => chains.push(vec![*loop_op]),
        }
    }
    Ok(chains)
}

/// Whether `loop_op` begins where `last` ends, or with the tile that `last` has drawn last.
fn continues<'c, 'a>(
    last: OperationRef<'c, 'a>,
    loop_op: OperationRef<'c, 'a>,
) -> Result<bool, melior::Error> {
    let end: Value<'c, 'a> = match walk::has_name(last, "scf.while") {
        true => last.result(0)?.into(),
        false => last.operand(1)?,
    };
    Ok(end == loop_op.operand(0)?)
}

/// Whether two loops copy the same accesses, guards apart.
fn copies_alike<'c, 'a>(
    one: OperationRef<'c, 'a>,
    other: OperationRef<'c, 'a>,
) -> Result<bool, melior::Error> {
    let (one, other) = (copies_in(one), copies_in(other));
    if one.len() != other.len() {
        return Ok(false);
    }
    for (one, other) in one.into_iter().zip(other) {
        let is_alike = one.engine()? == other.engine()?
            && one.buffer()? == other.buffer()?
            && one.memory()?.r#type() == other.memory()?.r#type()
            && one.access()? == other.access()?;
        if !is_alike {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Pipelines the copies of a chain of loops through a ring of stages.
fn build_ring<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    chain: Vec<OperationRef<'c, 'a>>,
    stages: i64,
    warps: i64,
) -> Result<(), PassError<'c>> {
    let [first, ..] = chain[..] else {
        return Ok(());
    };
    let drawn = chain.iter().map(|loop_op| DrawnLoop::of(*loop_op));
    let drawn = drawn.collect::<Result<Option<Vec<_>>, _>>()?;
    let unsupported = |message: &str| Err(Diagnostic::unsupported(first.location(), message).into());
    match (engine_of(first)?, drawn) {
        (CopyEngine::Bulk | CopyEngine::Tensor, Some(loops)) => {
            DrawnRing::new(function, loops, stages, warps)?.build()
        }
        (CopyEngine::CpAsync, Some(_)) => unsupported(
            "copies by cp_async in a loop whose tiles are drawn; supported: by bulk and by tensor",
        ),
        (_, None) if walk::has_name(first, "scf.while") => unsupported(
            "copies to shared memory in a loop that neither counts its steps nor draws their tiles; supported: one of both",
        ),
        (CopyEngine::Bulk | CopyEngine::Tensor, None) => {
            BulkRing::new(function, chain, stages, warps)?.build()
        }
        (CopyEngine::CpAsync, None) => GroupRing::new(function, chain, stages)?.build(),
    }
}

/// The engine of the copies in a loop; unsupported if they have several.
fn engine_of<'c>(loop_op: OperationRef<'c, '_>) -> Result<CopyEngine, PassError<'c>> {
    let copies = copies_in(loop_op);
    let first = copies.first();
    let first =
        first.ok_or_else(|| Diagnostic::internal(loop_op.location(), "expected a loop that copies"))?;
    let engine = first.engine()?;
    for copy in copies {
        if copy.engine()? != engine {
            let message = format!(
                "copies by {} and by {} in one loop; supported: by one of them",
                engine.keyword(),
                copy.engine()?.keyword()
            );
            return Err(Diagnostic::unsupported(copy.op().location(), message).into());
        }
    }
    Ok(engine)
}

/// The copies of a kernel or a loop, in order.
fn copies_in<'c, 'a>(loop_op: OperationRef<'c, 'a>) -> Vec<CopyToSharedOp<'c, 'a>> {
    walk::all(loop_op, CopyToSharedOp::from_op)
}

/// Issues a copy by the copy engine where it stands, and waits for it where its memory is first loaded from.
fn at_once<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    copy: CopyToSharedOp<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let op = copy.op();
    let memory = copy.memory()?;
    let full = barriers(function, op, &[1], 1)?[0];
    let b = Builder::before(op);
    let zero = b.index(0);
    let issue = Issue {
        copy,
        indices: copy.indices(),
        limits: copy.limits(),
        slot: memory,
    };
    transfer::bring(&b, vec![issue], full, zero)?;
    if let Some(first) = first_use(function, memory) {
        let b = Builder::before(first);
        let parity = b.integer(bit(&b), 0);
        b.insert(MBarrierWaitOp::build(b.location(), full, b.index(0), parity)?);
    }
    b.erase(op);
    Ok(())
}

/// The first op at a kernel's top level that loads from a memory, or holds one that does.
fn first_use<'c, 'a>(function: OperationRef<'c, 'a>, memory: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let loads = users(memory)
        .into_iter()
        .filter(|user| LocalLoadOp::from_op(*user).is_some());
    let order = walk::pre_order(function);
    let mut first = loads.min_by_key(|load| order.iter().position(|op| op == load))?;
    while let Some(parent) = first.parent_operation().filter(|parent| *parent != function) {
        first = parent;
    }
    Some(first)
}

fn bit<'c>(b: &Builder<'c, '_>) -> melior::ir::Type<'c> {
    melior::ir::r#type::IntegerType::new(b.context(), 1).into()
}
