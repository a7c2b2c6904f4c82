//! Loops whose tiles CTAs draw from a global counter (dynamic tile scheduling): `scf.while` over tile numbers, each step of
//! which ends with `gl.next_tile`.
//!
//! One thread draws a number and passes it to the others through shared memory ([`Mailbox`]): it arrives at an mbarrier once
//! the number is there. In a cluster the first CTA draws, and sends the number to the mailboxes of all CTAs. A slot of the mailbox
//! may be overwritten once every thread has read it, which whoever uses the mailbox has to ensure.

use melior::ir::{BlockLike, BlockRef, OperationRef, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::gl::{AwaitTileOp, DrawTileOp, LocalAllocOp, NextTileOp};

use crate::mlir::{
    builder::Builder,
    diagnostic::Diagnostic,
    pass::PassError,
    region::{self, move_to_end},
    types,
    values::definition,
    walk,
};

use super::{divisibility::constant, mbarriers::barriers, shared_memory::row_major, steps};

/// A loop whose tiles are drawn. Its first loop-carried value is the number of the step's tile.
#[derive(Clone, Copy)]
pub(super) struct DrawnLoop<'c, 'a> {
    /// The `scf.while`.
    pub op: OperationRef<'c, 'a>,
    /// The op that draws the next step's tile.
    pub next: NextTileOp<'c, 'a>,
}

impl<'c: 'a, 'a> DrawnLoop<'c, 'a> {
    /// Returns `op` as a loop whose tiles are drawn; `None` if it is not one.
    ///
    /// # Errors
    ///
    /// Unsupported if the drawn number is not that of the next step's tile.
    pub fn of(op: OperationRef<'c, 'a>) -> Result<Option<Self>, PassError<'c>> {
        if !walk::has_name(op, "scf.while") {
            return Ok(None);
        }
        let body = steps::body(op)?;
        let mut draws = walk::in_block(body).into_iter().filter_map(NextTileOp::from_op);
        let Some(next) = draws.next() else {
            return Ok(None);
        };
        let end = terminator(body, op)?;
        let condition = terminator(walk::entry_block(op)?, op)?;
        let number = Value::from(walk::entry_block(op)?.argument(0)?);
        let is_next = draws.next().is_none()
            && end.operand(0)? == next.tile()?
            && condition.operand(1)? == number
            && op.result_count() == op.operand_count();
        if !is_next {
            let message = "a draw that is not of the next step's tile; supported: loops that carry the number of their tile, which each \
                           step draws for the next one";
            return Err(Diagnostic::unsupported(next.op().location(), message).into());
        }
        Ok(Some(Self { op, next }))
    }

    /// The block of the steps.
    pub fn body(self) -> Result<BlockRef<'c, 'a>, PassError<'c>> {
        Ok(steps::body(self.op)?)
    }

    /// The terminator of a step: its operands are the values with which the next step begins.
    pub fn end(self) -> Result<OperationRef<'c, 'a>, PassError<'c>> {
        Ok(terminator(self.body()?, self.op)?)
    }

    /// The loop with further loop-carried values, as [`carry`] adds them.
    pub fn carry(self, initial: &[Value<'c, 'a>]) -> Result<Self, PassError<'c>> {
        Ok(Self {
            op: carry(self.op, initial)?,
            ..self
        })
    }
}

/// The number of the current step of `loop_op`, an `scf.while`, from 0 on: a loop-carried value that grows by 1 from step to step, less what it
/// begins with. `None` if the loop carries none.
pub(super) fn number_of_step<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    loop_op: OperationRef<'c, 'a>,
) -> Option<Value<'c, 'a>> {
    let body = steps::body(loop_op).ok()?;
    let end = body.terminator()?;
    for (position, first) in loop_op.operands().enumerate() {
        let number = Value::from(body.argument(position).ok()?);
        let next = definition(end.operand(position).ok()?).filter(|op| walk::has_name(*op, "arith.addi"));
        let is_next = next.is_some_and(|next| {
            let is_number = next.operand(0).is_ok_and(|operand| operand == number);
            is_number && next.operand(1).is_ok_and(|step| constant(step) == Some(1))
        });
        if is_next && types::is_index(number.r#type()) {
            return Some(b.value("arith.subi", &[number, first], number.r#type()));
        }
    }
    None
}

/// Adds loop-carried values to `loop_op`, an `scf.while`, behind the existing ones. They are `initial` in the first step, and every
/// step passes them on unchanged until the caller changes the terminator of the body.
pub(super) fn carry<'c: 'a, 'a>(
    loop_op: OperationRef<'c, 'a>,
    initial: &[Value<'c, 'a>],
) -> Result<OperationRef<'c, 'a>, PassError<'c>> {
    let b = Builder::before(loop_op);
    let location = loop_op.location();
    let types = initial.iter().map(ValueLike::r#type).collect::<Vec<_>>();
    let operands = loop_op
        .operands()
        .chain(initial.iter().copied())
        .collect::<Vec<_>>();
    let results = loop_op
        .results()
        .map(|result| result.r#type())
        .chain(types.iter().copied());
    let results = results.collect::<Vec<_>>();
    let old = [walk::entry_block(loop_op)?, steps::body(loop_op)?];
    let mut regions = Vec::new();
    for block in old {
        let mut arguments = Vec::new();
        for index in 0..block.argument_count() {
            arguments.push((block.argument(index)?.r#type(), location));
        }
        arguments.extend(types.iter().map(|ty| (*ty, location)));
        regions.push(region::of_block(&arguments));
    }
    let new = b.op_with("scf.while", &operands, &results, &[], regions);
    for (from, to) in old.into_iter().zip([walk::entry_block(new)?, steps::body(new)?]) {
        let count = from.argument_count();
        for index in 0..count {
            b.replace_all_uses(from.argument(index)?.into(), to.argument(index)?.into());
        }
        for op in walk::in_block(from) {
            move_to_end(op, to);
        }
        let end = terminator(to, new)?;
        let mut passed = end.operands().collect::<Vec<_>>();
        for index in count..count + initial.len() {
            passed.push(to.argument(index)?.into());
        }
        b.set_operands(end, &passed);
    }
    for index in 0..loop_op.result_count() {
        b.replace_all_uses(loop_op.result(index)?.into(), new.result(index)?.into());
    }
    b.erase(loop_op);
    Ok(new)
}

fn terminator<'c, 'a>(
    block: BlockRef<'c, 'a>,
    loop_op: OperationRef<'c, 'a>,
) -> Result<OperationRef<'c, 'a>, Diagnostic<'c>> {
    let end = block.terminator();
    end.ok_or_else(|| Diagnostic::internal(loop_op.location(), "expected a loop whose blocks end"))
}

/// Shared memory through which one thread passes the numbers that it draws to the CTA.
pub(super) struct Mailbox<'c, 'a> {
    numbers: Value<'c, 'a>,
    drawn: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Mailbox<'c, 'a> {
    /// Allocates a mailbox of `slots` slots at the start of the kernel, with the source location of `loop_op`.
    pub fn new(
        function: OperationRef<'c, 'a>,
        loop_op: OperationRef<'c, 'a>,
        slots: i64,
    ) -> Result<Self, PassError<'c>> {
        let drawn = barriers(function, loop_op, &[1], slots)?[0];
        let b = Builder::at_start(walk::entry_block(function)?, loop_op.location());
        let memory = row_major(b.context(), Type::index(b.context()), &[slots, 1]);
        Ok(Self {
            numbers: b.value(LocalAllocOp::NAME, &[], memory.into()),
            drawn,
        })
    }

    /// Draws a number into a slot from the counter of `next`. The first `dealt` tiles are not drawn, but assigned to CTAs, or to clusters,
    /// by their number.
    pub fn draw(
        &self,
        b: &Builder<'c, 'a>,
        next: NextTileOp<'c, 'a>,
        dealt: Value<'c, 'a>,
        slot: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let (counter, tiles) = (next.counter()?, next.tiles()?);
        let draw = DrawTileOp::build(
            next.op().location(),
            counter,
            tiles,
            dealt,
            self.numbers,
            self.drawn,
            slot,
        )?;
        b.insert(draw);
        Ok(())
    }

    /// Waits for the mbarrier's phase of that parity, and returns the number in a slot.
    pub fn wait(
        &self,
        b: &Builder<'c, 'a>,
        slot: Value<'c, 'a>,
        parity: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let wait = AwaitTileOp::build(b.location(), self.numbers, self.drawn, slot, parity)?;
        Ok(b.insert(wait).result(0)?.into())
    }
}
