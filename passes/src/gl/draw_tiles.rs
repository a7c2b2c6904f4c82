//! `gl-draw-tiles`: one thread draws the next tile of a walk while the CTA works on the one at hand.
//!
//! Matches loops with `gl.next_tile` that `gl-pipeline` has left, because they copy nothing to shared memory. The draw moves to the
//! beginning of the step, where one thread makes it, and the number is awaited where it was drawn, so that the counter's latency is
//! hidden behind the step.
//!
//! Why it is right: a step draws once as before, and what is drawn depends on nothing that the step does. The mailbox has one slot;
//! each step's draw completes one phase of its mbarrier, so that the parity to wait for is another one in each step. The slot is
//! written again in the next step, once all threads have read it (`gl-insert-barriers`).

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
            let of = next.parent_operation().map(DrawnLoop::of).transpose()?.flatten();
            let of = of.ok_or_else(|| {
                let message = "a draw outside of a loop over tiles; supported: loops each of whose steps draws the next one's tile";
                Diagnostic::unsupported(next.location(), message)
            })?;
            draw_early(function, of)?;
            cx.count(GlDrawTilesStatistic::NumLoops, 1);
        }
    }
    Ok(())
}

/// Draws at the beginning of each step what the next one works on.
fn draw_early<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    of: DrawnLoop<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let mailbox = Mailbox::new(function, of.op, 1)?;
    let b = Builder::before(of.op);
    let bit: Type<'c> = IntegerType::new(b.context(), 1).into();
    let of = of.carry(&[b.integer(bit, 0)])?;
    let body = of.body()?;
    let end = of.end()?;
    let last = end.operand_count() - 1;
    let parity = end.operand(last)?;

    let b = Builder::at_start(body, of.op.location());
    let slot = b.index(0);
    mailbox.draw(&b, of.next, of.next.dealt()?, slot)?;
    let b = Builder::before(of.next.op());
    let number = mailbox.wait(&b, slot, parity)?;
    b.replace(of.next.op(), &[number]);

    let b = Builder::before(end);
    let other = b.value("arith.xori", &[parity, b.integer(bit, 1)], bit);
    let mut passed = end.operands().collect::<Vec<Value<'c, 'a>>>();
    passed[last] = other;
    b.set_operands(end, &passed);
    Ok(())
}
