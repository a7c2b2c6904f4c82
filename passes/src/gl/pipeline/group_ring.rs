//! Rings that `cp.async` fills: each step of the loop commits one group, whether it still has something to copy or not, so that
//! the number of groups under way says which step's have landed.
//!
//! With S stages a prologue issues the first S - 1 steps. Step i waits until all but the last S - 2 groups of its thread have
//! landed, which leaves its own among those that have, and for all threads to have waited: all of stage i mod S is there, and
//! everyone is through with step i - 1, into whose stage it issues step i + S - 1. So one barrier is enough for a step. With
//! one stage a step issues its own copies, once everyone is through with the step before (`gl-insert-barriers`), and waits for them.

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

/// A ring without signals of its own.
pub(super) struct GroupRing<'c, 'a> {
    ring: Ring<'c, 'a>,
    /// The number of the first step.
    lower: Value<'c, 'a>,
    /// One more than that of the last step.
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

    /// Writes the prologue, and puts waits and the copies of later steps into the loops.
    pub fn build(&self) -> Result<(), PassError<'c>> {
        if let Some(first) = self.ring.loops.first().filter(|_| self.ahead() > 0) {
            self.prologue(*first)?;
        }
        for of in &self.ring.loops {
            for copy in copies_in(*of) {
                groups::drop_guards(copy)?;
            }
            self.step(*of)?;
        }
        self.ring.erase_copies()
    }

    /// How many steps ahead of its own a step issues copies.
    fn ahead(&self) -> i64 {
        self.ring.stages - 1
    }

    /// Issues the first steps, as far as there are so many, in front of the first loop.
    fn prologue(&self, first: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let b = Builder::before(first);
        let index = Type::index(b.context());
        control_flow::count_from(&b, b.index(0), b.index(self.ahead()), |inside, stage| {
            let step = inside.value("arith.addi", &[self.lower, stage], index);
            self.issue_if_there(inside, step, |_| stage)
        })
    }

    /// Rewrites the body of one loop, whose copies stay to be erased.
    fn step(&self, of: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let Some(first) = copies_in(of).first().map(|copy| copy.op()) else {
            return Ok(());
        };
        let b = Builder::before(first);
        let step: Value<'c, 'a> = walk::entry_block(of)?.argument(0)?.into();
        self.ring.read_ahead(of, first)?;
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
        self.ring.take_stage(&b, of, stage)?;
        Ok(())
    }

    /// The stage of a step.
    fn place(&self, b: &Builder<'c, 'a>, step: Value<'c, 'a>) -> Value<'c, 'a> {
        self.ring.place(b, step, Some(self.lower)).stage
    }

    /// Issues a step, unless it is behind the last one, and commits its group.
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
