//! Rings that `cp.async` fills: each step of the loop commits one group, whether it still has something to copy or not, so that
//! the number of groups in flight tells which steps' copies have landed.
//!
//! With S stages a prologue issues the first S - 1 steps. Step i waits until all but the last S - 2 groups of its thread have
//! landed, so that its own has, and then for all threads to have waited. After that barrier all of stage i mod S is there, and
//! every thread has finished step i - 1, into whose stage step i issues the copies of step i + S - 1. So one barrier per step
//! is enough. With one stage a step issues its own copies, once every thread has finished the previous step
//! (`gl-insert-barriers`), and waits for them.

use melior::ir::{BlockLike, OperationRef, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::gl::AsyncCommitOp;

use crate::mlir::{
    builder::Builder,
    comparison::{IntegerPredicate, compare_integers},
    control_flow,
    diagnostic::Diagnostic,
    pass::PassError,
    walk,
};

use super::{copies_in, groups, ring::Ring};

/// A ring without mbarriers.
pub(super) struct GroupRing<'c, 'a> {
    ring: Ring<'c, 'a>,
    /// The number of the first step.
    lower: Value<'c, 'a>,
    /// One more than the number of the last step.
    upper: Value<'c, 'a>,
}

impl<'c: 'a, 'a> GroupRing<'c, 'a> {
    /// A ring for loops that copy alike and count their steps.
    pub fn new(
        function: OperationRef<'c, 'a>,
        loops: Vec<OperationRef<'c, 'a>>,
        stages: i64,
    ) -> Result<Self, PassError<'c>> {
        let (Some(first), Some(last)) = (loops.first(), loops.last()) else {
            return Err(Diagnostic::internal(function.location(), "expected a loop").into());
        };
        Ok(Self {
            lower: first.operand(0)?,
            upper: last.operand(1)?,
            ring: Ring::new(function, loops, stages)?,
        })
    }

    /// Builds the prologue, and inserts waits and the copies of later steps into the loops.
    pub fn build(&self) -> Result<(), PassError<'c>> {
        if let Some(first) = self.ring.loops.first().filter(|_| self.ahead() > 0) {
            self.prologue(*first)?;
        }
        for loop_op in &self.ring.loops {
            // The last loop's copies are issued for all steps, and have zeros only where their own guards mask off elements.
            for (copy, issued) in copies_in(*loop_op).into_iter().zip(self.ring.copies()) {
                if copy.guards() == issued.guards() && copy.limits() == issued.limits() {
                    groups::drop_guards(copy)?;
                }
            }
            self.step(*loop_op)?;
        }
        self.ring.erase_copies()
    }

    /// How many steps ahead of its own a step issues copies.
    fn ahead(&self) -> i64 {
        self.ring.stages - 1
    }

    /// Issues the copies of the first steps, as far as there are any, in front of the first loop.
    fn prologue(&self, first: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let b = Builder::before(first);
        let index = Type::index(b.context());
        control_flow::count_from(&b, b.index(0), b.index(self.ahead()), |inside, stage| {
            let step = inside.value("arith.addi", &[self.lower, stage], index);
            self.issue_if_there(inside, step, |_| stage)
        })
    }

    /// Rewrites the body of one loop. Its original copies remain, to be erased later.
    fn step(&self, loop_op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let Some(first) = copies_in(loop_op).first().map(|copy| copy.op()) else {
            return Ok(());
        };
        let b = Builder::before(first);
        let step: Value<'c, 'a> = walk::entry_block(loop_op)?.argument(0)?.into();
        self.ring.read_ahead(loop_op, first)?;
        match self.ahead() {
            0 => {
                self.issue(&b, step, b.index(0))?;
                b.op(AsyncCommitOp::NAME, &[], &[]);
                groups::wait(&b, 0)?;
            }
            ahead => {
                groups::wait(&b, ahead - 1)?;
                let later = b.value("arith.addi", &[step, b.index(ahead)], step.r#type());
                self.issue_if_there(&b, later, |inside| self.place(inside, later))?;
            }
        }
        let stage = self.place(&b, step);
        self.ring.take_stage(&b, loop_op, stage)?;
        Ok(())
    }

    /// The stage of a step.
    fn place(&self, b: &Builder<'c, 'a>, step: Value<'c, 'a>) -> Value<'c, 'a> {
        self.ring.place(b, step, Some(self.lower)).stage
    }

    /// Issues the copies of a step, unless it lies behind the last one, and commits a group in either case.
    fn issue_if_there(
        &self,
        b: &Builder<'c, 'a>,
        step: Value<'c, 'a>,
        stage: impl FnOnce(&Builder<'c, 'a>) -> Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let is_there = compare_integers(b, IntegerPredicate::Less, step, self.upper);
        control_flow::when(b, is_there, |inside| self.issue(inside, step, stage(inside)))?;
        b.op(AsyncCommitOp::NAME, &[], &[]);
        Ok(())
    }

    fn issue(
        &self,
        b: &Builder<'c, 'a>,
        step: Value<'c, 'a>,
        stage: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        for issue in self.ring.issues(b, step, stage)? {
            groups::issue(b, issue.copy, &issue.indices, &issue.limits, issue.slot)?;
        }
        Ok(())
    }
}
