//! `gl-draw-tiles`: one thread draws the next tile from the global counter while the CTA works on the current one.
//!
//! Matches loops with `gl.next_tile` that `gl-pipeline` has left, because they copy nothing to shared memory. The draw moves to
//! the beginning of the step, where one thread performs it, and a wait for the number takes its place, so that the step hides
//! the latency of the counter's atomic.
//!
//! Why it is correct: a step draws once as before, and the drawn number does not depend on anything that the step does. The
//! mailbox has one slot. Each step's draw completes one phase of its mbarrier, so that the parity to wait for alternates from
//! step to step. The slot is overwritten in the next step, once all threads have read it (`gl-insert-barriers`).

use melior::ir::{OperationRef, Type, Value, operation::OperationLike, r#type::IntegerType};
use norma_dialects::gl::NextTileOp;

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{GlDrawTiles, GlDrawTilesStatistic},
};

use super::drawn::{DrawnLoop, Mailbox};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlDrawTiles>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        for next in walk::named(function, NextTileOp::NAME) {
            let loop_op = next.parent_operation().map(DrawnLoop::of).transpose()?.flatten();
            let loop_op = loop_op.ok_or_else(|| {
                let message = "a draw outside of a loop over tiles; supported: loops each of whose steps draws the next one's tile";
                Diagnostic::unsupported(next.location(), message)
            })?;
            draw_early(function, loop_op)?;
            cx.count(GlDrawTilesStatistic::NumLoops, 1);
        }
    }
    Ok(())
}

/// Moves the draw of the next step's tile to the beginning of each step.
fn draw_early<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    loop_op: DrawnLoop<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let mailbox = Mailbox::new(function, loop_op.op, 1)?;
    let b = Builder::before(loop_op.op);
    let bit: Type<'c> = IntegerType::new(b.context(), 1).into();
    let loop_op = loop_op.carry(&[b.integer(bit, 0)])?;
    let body = loop_op.body()?;
    let end = loop_op.end()?;
    let last = end.operand_count() - 1;
    let parity = end.operand(last)?;

    let b = Builder::at_start(body, loop_op.op.location());
    let slot = b.index(0);
    mailbox.draw(&b, loop_op.next, loop_op.next.dealt()?, slot)?;
    let b = Builder::before(loop_op.next.op());
    let number = mailbox.wait(&b, slot, parity)?;
    b.replace(loop_op.next.op(), &[number]);

    let b = Builder::before(end);
    let other = b.value("arith.xori", &[parity, b.integer(bit, 1)], bit);
    let mut passed = end.operands().collect::<Vec<Value<'c, 'a>>>();
    passed[last] = other;
    b.set_operands(end, &passed);
    Ok(())
}
