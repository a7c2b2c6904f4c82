//! Rings that the copy engine fills. Each stage has an mbarrier `full`, on which its bytes arrive, and an mbarrier `empty`, on
//! which each warp arrives once it has consumed the stage.
//!
//! With S stages, a prologue issues the first S steps. Step i waits until stage i mod S is full, and at its end issues step
//! i + S into the same stage once that is empty.
//!
//! Why it is correct: both mbarriers of a stage complete a phase every S steps, so that step i waits for the parity of
//! floor(i / S). No thread can be a whole phase ahead, as the next phase of `full` needs every warp's arrival at `empty`.

use melior::ir::{BlockLike, BlockRef, OperationRef, Type, Value, operation::OperationLike};
use norma_dialects::gl::{MBarrierArriveOp, MBarrierWaitOp};

use crate::gl::{mbarriers::barriers, steps};
use crate::mlir::{
    builder::Builder,
    comparison::{IntegerPredicate, compare_integers},
    control_flow,
    diagnostic::Diagnostic,
    pass::PassError,
    walk,
};

use super::{copies_in, ring::Ring, transfer};

/// A ring and its mbarriers.
pub(super) struct BulkRing<'c, 'a> {
    ring: Ring<'c, 'a>,
    full: Value<'c, 'a>,
    empty: Value<'c, 'a>,
}

/// How a step uses its stage.
pub(super) struct Used<'c, 'a> {
    /// The stage's number.
    pub stage: Value<'c, 'a>,
    /// The parity of the phases that its mbarriers are in.
    pub parity: Value<'c, 'a>,
    /// The wait until it is full.
    pub wait: OperationRef<'c, 'a>,
    /// The last op that reads from it.
    pub last_use: OperationRef<'c, 'a>,
}

impl<'c: 'a, 'a> BulkRing<'c, 'a> {
    /// A ring for loops that copy alike; `warps` warps consume each stage.
    pub fn new(
        function: OperationRef<'c, 'a>,
        loops: Vec<OperationRef<'c, 'a>>,
        stages: i64,
        warps: i64,
    ) -> Result<Self, PassError<'c>> {
        let last = loops.last().copied().unwrap_or(function);
        let arrays = barriers(function, last, &[1, warps], stages)?;
        Ok(Self {
            ring: Ring::new(function, loops, stages)?,
            full: arrays[0],
            empty: arrays[1],
        })
    }

    /// Builds the prologue, and inserts waits, arrivals and the copies of later steps into the loops, which count their steps.
    pub fn build(&self) -> Result<(), PassError<'c>> {
        let (Some(first), Some(last)) = (self.ring.loops.first(), self.ring.loops.last()) else {
            return Ok(());
        };
        let (lower, upper) = (first.operand(0)?, last.operand(1)?);
        let b = Builder::before(*first);
        let index = Type::index(b.context());
        let ahead = b.value("arith.addi", &[lower, b.index(self.ring.stages)], index);
        let ahead = b.value("arith.minsi", &[ahead, upper], index);
        control_flow::count_from(&b, lower, ahead, |inside, step| {
            let stage = inside.value("arith.subi", &[step, lower], index);
            self.issue(inside, step, stage)
        })?;

        for loop_op in &self.ring.loops {
            self.step(*loop_op, lower, upper)?;
        }
        self.erase_copies()
    }

    /// Erases the original copies of the loops, which those of the ring have replaced.
    pub fn erase_copies(&self) -> Result<(), PassError<'c>> {
        self.ring.erase_copies()
    }

    /// Rewrites the body of one loop. Its original copies remain, to be erased later.
    fn step(
        &self,
        loop_op: OperationRef<'c, 'a>,
        lower: Value<'c, 'a>,
        upper: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let step: Value<'c, 'a> = walk::entry_block(loop_op)?.argument(0)?.into();
        let Some(used) = self.wait(loop_op, step, Some(lower))? else {
            return Ok(());
        };
        let b = Builder::after(used.last_use);
        b.insert(MBarrierArriveOp::build(b.location(), self.empty, used.stage)?);
        let next = b.value(
            "arith.addi",
            &[step, b.index(self.ring.stages)],
            Type::index(b.context()),
        );
        let is_there = compare_integers(&b, IntegerPredicate::Less, next, upper);
        self.refill(&b, is_there, next, &used)
    }

    /// Makes the body of a loop wait until its step's stage is full, and read that stage instead of the memory that it copied
    /// to. Steps are counted from `lower`, or from 0 without it. Returns `None` for a loop that copies nothing.
    pub fn wait(
        &self,
        loop_op: OperationRef<'c, 'a>,
        step: Value<'c, 'a>,
        lower: Option<Value<'c, 'a>>,
    ) -> Result<Option<Used<'c, 'a>>, PassError<'c>> {
        let Some(first) = copies_in(loop_op).first().map(|copy| copy.op()) else {
            return Ok(None);
        };
        let b = Builder::before(first);
        self.ring.read_ahead(loop_op, first)?;
        let place = self.ring.place(&b, step, lower);
        let (stage, parity) = (place.stage, place.parity(&b));
        let wait = b.insert(MBarrierWaitOp::build(b.location(), self.full, stage, parity)?);
        let slots = self.ring.take_stage(&b, loop_op, stage)?;
        let last_use = last_use(steps::body(loop_op)?, &slots)
            .ok_or_else(|| Diagnostic::internal(loop_op.location(), "expected what is brought to be used"))?;
        Ok(Some(Used {
            stage,
            parity,
            wait,
            last_use,
        }))
    }

    /// If there is a next step for a stage (`is_there`), waits until the stage is empty and issues that step's copies into it.
    /// `next` is the number of the step, or of its tile, on which the copies depend.
    pub fn refill(
        &self,
        b: &Builder<'c, 'a>,
        is_there: Value<'c, 'a>,
        next: Value<'c, 'a>,
        used: &Used<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let (stage, parity) = (used.stage, used.parity);
        control_flow::when(b, is_there, |inside| {
            inside.insert(MBarrierWaitOp::build(b.location(), self.empty, stage, parity)?);
            self.issue(inside, next, stage)
        })?;
        Ok(())
    }

    /// The mbarriers at which warps arrive when they have consumed a stage.
    pub fn empty(&self) -> Value<'c, 'a> {
        self.empty
    }

    /// Issues the copies of a step into a stage, at `b`.
    pub fn issue(
        &self,
        b: &Builder<'c, 'a>,
        step: Value<'c, 'a>,
        stage: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        transfer::bring(b, self.ring.issues(b, step, stage)?, self.full, stage)
    }
}

/// The last op of a block that uses one of `values`, itself or in a nested op.
fn last_use<'c, 'a>(block: BlockRef<'c, 'a>, values: &[Value<'c, 'a>]) -> Option<OperationRef<'c, 'a>> {
    walk::in_block(block).into_iter().rev().find(|op| {
        walk::pre_order(*op)
            .iter()
            .any(|nested| nested.operands().any(|operand| values.contains(&operand)))
    })
}
