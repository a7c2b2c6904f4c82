//! `gl-pipeline`: copies to shared memory become asynchronous, in loops several steps ahead of their use.
//!
//! Matches `gl.copy_to_shared`. One outside of loops is issued where it stands and waited for at the first load from its
//! memory, so that several are in flight together. Those of a loop become a *ring*: memory for `gl.stages` steps, an mbarrier
//! `full` for each stage, on which its bytes arrive, and an mbarrier `empty`, on which each warp arrives when it is through
//! with the stage. A prologue issues the first steps; step i waits until stage i mod S is full, and at its end issues step
//! i + S into the same stage once that is empty.
//!
//! Why it is right: both mbarriers of a stage complete a phase every S steps, so the parity to wait for in step i is that of
//! floor(i / S); no thread can be a whole phase ahead, as the next phase of `full` needs every warp's arrival at `empty`. The
//! buffers copied from are not written by the kernel (`norm.kernel` reads only inputs), so reading them earlier gives the same.
//!
//! A loop that was peeled is several loops, each beginning where the one before it ends, that copy the same accesses. They
//! share one ring, whose copies are issued as the last of them says: with the guards that the others do not need.
//!
//! `gl.copy_from_shared` becomes bulk copies the other way, which are under way while a loop goes on ([`sent`]).
//!
//! Where the tiles of a loop are drawn, so are those of its ring, as many steps ahead ([`drawn_ring`]).

mod bulk;
mod drawn_ring;
mod ring;
mod sent;
mod tile_copy;

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    attributes::kernel,
    gl::{CopyEngine, CopyToSharedOp, LocalLoadOp, MBarrierWaitOp},
    integer_of,
};

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        values::users,
        walk,
    },
    table::{GlPipeline, GlPipelineStatistic},
};

use super::{drawn::DrawnLoop, mbarriers::barriers};
use bulk::Copies;
use drawn_ring::DrawnRing;
use ring::Ring;

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
    let mut loops: Vec<OperationRef<'c, '_>> = Vec::new();
    for copy in walk::named(function, CopyToSharedOp::NAME)
        .into_iter()
        .filter_map(CopyToSharedOp::from_op)
    {
        if copy.engine()? != CopyEngine::Bulk {
            return Err(Diagnostic::unsupported(
                copy.op().location(),
                format!("expected a copy by bulk, got {}", copy.engine()?.keyword()),
            )
            .into());
        }
        match around(function, copy.op())? {
            Some(of) if !loops.contains(&of) => loops.push(of),
            Some(_) => {}
            None => {
                at_once(function, copy)?;
                cx.count(GlPipelineStatistic::NumCopies, 1);
            }
        }
    }
    for chain in chains(&loops)? {
        let drawn = chain.iter().map(|of| DrawnLoop::of(*of));
        match drawn.collect::<Result<Option<Vec<_>>, _>>()? {
            Some(loops) => DrawnRing::new(function, loops, stages, warps)?.build()?,
            None => Ring::new(function, chain, stages, warps)?.build()?,
        }
        cx.count(GlPipelineStatistic::NumRings, 1);
    }
    cx.count(GlPipelineStatistic::NumSent, sent::send(function)? as u64);
    Ok(())
}

/// The loop that a copy is issued in each step of; `None` for one that is issued once.
fn around<'c, 'a>(
    function: OperationRef<'c, 'a>,
    copy: OperationRef<'c, 'a>,
) -> Result<Option<OperationRef<'c, 'a>>, PassError<'c>> {
    let parent = copy.parent_operation();
    let parent = parent.ok_or_else(|| Diagnostic::internal(copy.location(), "expected an op in a kernel"))?;
    if parent == function {
        return Ok(None);
    }
    let is_loop = walk::has_name(parent, "scf.for") || walk::has_name(parent, "scf.while");
    if is_loop && parent.parent_operation() == Some(function) {
        return Ok(Some(parent));
    }
    let message = "a copy to or from shared memory in nested loops or branches; supported: at a kernel's top level and in a loop there";
    Err(Diagnostic::unsupported(copy.location(), message).into())
}

/// Groups loops that follow each other: each begins where the one before it ends, or with the tile that it has drawn last.
fn chains<'c, 'a>(loops: &[OperationRef<'c, 'a>]) -> Result<Vec<Vec<OperationRef<'c, 'a>>>, PassError<'c>> {
    let mut chains: Vec<Vec<OperationRef<'c, 'a>>> = Vec::new();
    for of in loops {
        let is_next = |chain: &Vec<OperationRef<'c, 'a>>| -> Result<bool, melior::Error> {
            match chain.last() {
                Some(last) => Ok(goes_on(*last, *of)? && copies_alike(*last, *of)?),
                None => Ok(false),
            }
        };
        match chains.last_mut() {
            Some(chain) if is_next(chain)? => chain.push(*of),
            _ => chains.push(vec![*of]),
        }
    }
    Ok(chains)
}

/// Whether a loop begins where another one ends, or with the tile that it has drawn last.
fn goes_on<'c, 'a>(last: OperationRef<'c, 'a>, of: OperationRef<'c, 'a>) -> Result<bool, melior::Error> {
    let end: Value<'c, 'a> = match walk::has_name(last, "scf.while") {
        true => last.result(0)?.into(),
        false => last.operand(1)?,
    };
    Ok(end == of.operand(0)?)
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
        let is_alike = one.buffer()? == other.buffer()?
            && one.memory()?.r#type() == other.memory()?.r#type()
            && one.access()? == other.access()?;
        if !is_alike {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The copies of a loop, in order.
fn copies_in<'c, 'a>(of: OperationRef<'c, 'a>) -> Vec<CopyToSharedOp<'c, 'a>> {
    walk::named(of, CopyToSharedOp::NAME)
        .into_iter()
        .filter_map(CopyToSharedOp::from_op)
        .collect()
}

/// Issues a copy where it stands, and waits for it where its memory is first loaded from.
fn at_once<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    copy: CopyToSharedOp<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let op = copy.op();
    let memory = copy.memory()?;
    let full = barriers(function, op, &[1], 1)?[0];
    let b = Builder::before(op);
    let zero = b.index(0);
    Copies::of(copy)?.issue(&b, &copy.indices(), &copy.limits(), memory, full, zero)?;
    let loads = users(memory)
        .into_iter()
        .filter(|user| LocalLoadOp::from_op(*user).is_some());
    let order = walk::pre_order(function);
    let first = loads.min_by_key(|load| order.iter().position(|op| op == load));
    if let Some(first) = first {
        // Loads of the memory stand behind the copy at the top level, or in what does.
        let mut at = first;
        while let Some(parent) = at.parent_operation().filter(|parent| *parent != function) {
            at = parent;
        }
        let b = Builder::before(at);
        let parity = b.integer(bit(&b), 0);
        b.insert(MBarrierWaitOp::build(b.location(), full, b.index(0), parity)?);
    }
    b.erase(op);
    Ok(())
}

fn bit<'c>(b: &Builder<'c, '_>) -> melior::ir::Type<'c> {
    melior::ir::r#type::IntegerType::new(b.context(), 1).into()
}
