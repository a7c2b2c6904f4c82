//! Copies from shared to global memory: groups of copies by the copy engine that are in flight while a loop continues.
//!
//! All threads write the data that a step sends to shared memory. Each makes its writes visible to the copy engine
//! (`gl.fence_async`), and one thread issues the copies of the step as one group. Steps alternate between two buffers: a step
//! begins when at most the group of the previous step is still being read, so that its own buffer is free. The kernel ends when
//! all groups have completed.
//!
//! `gl-insert-barriers` places the barriers of the CTA: between the writes and the copies, and between the wait and the writes
//! of the next step but one. Often the barriers of a step's reductions serve as these.

use melior::ir::{BlockLike, OperationRef, Type, Value, operation::OperationLike};
use norma_dialects::gl::{BulkCommitOp, BulkWaitOp, CopyFromSharedOp, FenceAsyncOp, LocalAllocOp};

use crate::{
    gl::{drawn, shared_memory, steps},
    mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError, values::definition, walk},
};

use super::{around, bulk, continues, tile_copy::TileCopy, transfer::Transfer};

/// The number of buffers between which the steps of a loop alternate (double buffering): one is written while the other is read.
const BUFFERS: i64 = 2;

/// Replaces all `gl.copy_from_shared` of a kernel by asynchronous copies, and returns their number.
pub(super) fn send<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> Result<usize, PassError<'c>> {
    let copies = sends_in(function);
    let mut loops: Vec<OperationRef<'c, 'a>> = Vec::new();
    let mut once = Vec::new();
    for copy in &copies {
        match around(function, copy.op())? {
            Some(loop_op) if loops.contains(&loop_op) => {}
            Some(loop_op) => loops.push(loop_op),
            None => once.push(*copy),
        }
    }
    if copies.is_empty() {
        return Ok(0);
    }
    issue(&once)?;
    // Loops that continue each other send from the same memories.
    let mut chain: Option<(OperationRef<'c, 'a>, Vec<Value<'c, 'a>>)> = None;
    let mut buffer = None;
    for loop_op in loops {
        let sends = sends_in(loop_op);
        let memories = match chain.take() {
            Some((last, memories)) if continues(last, loop_op)? && memories.len() == sends.len() => memories,
            _ => {
                buffer = None;
                memories_of(function, &sends)?
            }
        };
        let (loop_op, next) = alternate(loop_op, &memories, buffer)?;
        buffer = next;
        chain = Some((loop_op, memories));
    }
    let end = walk::entry_block(function)?.terminator();
    let end =
        end.ok_or_else(|| Diagnostic::internal(function.location(), "expected a kernel that returns"))?;
    let b = Builder::before(end);
    b.insert(BulkWaitOp::build(b.location(), 0, false)?);
    Ok(copies.len())
}

fn sends_in<'c, 'a>(loop_op: OperationRef<'c, 'a>) -> Vec<CopyFromSharedOp<'c, 'a>> {
    walk::all(loop_op, CopyFromSharedOp::from_op)
}

/// Allocates memory for the steps of a loop with these `sends`, at the start of the kernel.
fn memories_of<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    sends: &[CopyFromSharedOp<'c, 'a>],
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let mut memories = Vec::new();
    for send in sends {
        let b = Builder::at_start(walk::entry_block(function)?, send.op().location());
        let memory = shared_memory::type_of(send.memory()?, send.op())?;
        let shape = [&[BUFFERS], memory.shape()].concat();
        let ty = shared_memory::row_major(b.context(), memory.element_type(), &shape);
        memories.push(b.value(LocalAllocOp::NAME, &[], ty.into()));
    }
    Ok(memories)
}

/// Makes the steps of a loop send from alternating buffers of `memories`. Which of the two it is follows from the induction
/// variable; a loop over drawn tiles carries the buffer's number instead, beginning with `buffer`. Returns the loop and, for a loop
/// over drawn tiles, the number behind it.
fn alternate<'c: 'a, 'a>(
    loop_op: OperationRef<'c, 'a>,
    memories: &[Value<'c, 'a>],
    buffer: Option<Value<'c, 'a>>,
) -> Result<(OperationRef<'c, 'a>, Option<Value<'c, 'a>>), PassError<'c>> {
    let index = Type::index(Builder::before(loop_op).context());
    let mut loop_op = loop_op;
    let mut next = None;
    let carries_buffer = walk::has_name(loop_op, "scf.while");
    if carries_buffer {
        let before = Builder::before(loop_op);
        loop_op = drawn::carry(loop_op, &[buffer.unwrap_or_else(|| before.index(0))])?;
        next = Some(loop_op.result(loop_op.result_count() - 1)?.into());
    }
    let body = steps::body(loop_op)?;
    let b = Builder::at_start(body, loop_op.location());
    b.insert(BulkWaitOp::build(b.location(), BUFFERS - 1, true)?);
    let buffer = match carries_buffer {
        true => body.argument(body.argument_count() - 1)?.into(),
        false => b.value(
            "arith.remui",
            &[body.argument(0)?.into(), b.index(BUFFERS)],
            index,
        ),
    };
    let sends = sends_in(loop_op);
    for (send, memory) in sends.iter().zip(memories) {
        let ty = shared_memory::type_of(send.memory()?, send.op())?;
        let place = bulk::index_memory(&b, *memory, ty, buffer)?;
        let old = send.memory()?;
        b.replace_all_uses(old, place);
        if let Some(alloc) = definition(old).filter(|alloc| LocalAllocOp::from_op(*alloc).is_some()) {
            b.erase(alloc);
        }
    }
    issue(&sends)?;
    if carries_buffer && let Some(end) = body.terminator() {
        let b = Builder::before(end);
        let mut passed = end.operands().collect::<Vec<_>>();
        if let Some(last) = passed.last_mut() {
            *last = b.value("arith.subi", &[b.index(BUFFERS - 1), buffer], index);
        }
        b.set_operands(end, &passed);
    }
    Ok((loop_op, next))
}

/// Issues the sends of one loop body, or of the kernel's top level, as one group where the last of them stands.
fn issue<'c: 'a, 'a>(sends: &[CopyFromSharedOp<'c, 'a>]) -> Result<(), PassError<'c>> {
    let Some(last) = sends.last() else {
        return Ok(());
    };
    let b = Builder::before(last.op());
    b.op(FenceAsyncOp::NAME, &[], &[]);
    for send in sends {
        let indices = send.indices();
        let transfer = Transfer::of(&b, TileCopy::from_shared(*send)?, &indices, &send.limits())?;
        transfer.store(&b, &indices, send.memory()?)?;
    }
    b.op(BulkCommitOp::NAME, &[], &[]);
    for send in sends {
        b.erase(send.op());
    }
    Ok(())
}
