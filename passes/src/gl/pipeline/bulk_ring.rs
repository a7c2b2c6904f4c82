//! Rings that bulk copies fill: an mbarrier `full` for each stage, on which its bytes arrive, and an mbarrier `empty`, on which each
//! warp arrives when it is through with the stage.
//!
//! A prologue issues the first steps; step i waits until stage i mod S is full, and at its end issues step i + S into the same stage
//! once that is empty.
//!
//! Why it is right: both mbarriers of a stage complete a phase every S steps, so the parity to wait for in step i is that of
//! floor(i / S); no thread can be a whole phase ahead, as the next phase of `full` needs every warp's arrival at `empty`.

use melior::ir::{
    BlockLike, BlockRef, OperationRef, Region, Type, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::gl::{MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp};

use crate::mlir::{
    builder::Builder,
    comparison::{IntegerPredicate, compare_integers},
    diagnostic::Diagnostic,
    pass::PassError,
    region, walk,
};

use super::{
    barriers,
    bulk::Copies,
    copies_in,
    ring::{Place, Ring},
};

/// A ring and its mbarriers.
pub(super) struct BulkRing<'c, 'a> {
    ring: Ring<'c, 'a>,
    full: Value<'c, 'a>,
    empty: Value<'c, 'a>,
}

impl<'c: 'a, 'a> BulkRing<'c, 'a> {
    /// A ring for loops that copy alike, whose stages `warps` warps leave.
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

    /// Writes the prologue, and puts waits, arrivals and the copies of later steps into the loops.
    pub fn build(&self) -> Result<(), PassError<'c>> {
        let Some(first) = self.ring.loops.first() else {
            return Ok(());
        };
        let (lower, upper) = (self.ring.lower, self.ring.upper);
        let b = Builder::before(*first);
        let index = Type::index(b.context());
        let ahead = b.value("arith.addi", &[lower, b.index(self.ring.stages)], index);
        let ahead = b.value("arith.minsi", &[ahead, upper], index);
        let prologue = b.op_with(
            "scf.for",
            &[lower, ahead, b.index(1)],
            &[],
            &[],
            vec![region::of_block(&[(index, b.location())])],
        );
        let body = walk::entry_block(prologue)?;
        let inside = Builder::at_end(body, b.location());
        let step = body.argument(0)?.into();
        let stage = inside.value("arith.subi", &[step, lower], index);
        self.issue(&inside, step, stage)?;
        inside.op("scf.yield", &[], &[]);

        for of in &self.ring.loops {
            self.step(*of)?;
        }
        self.ring.erase_copies()
    }

    /// Rewrites the body of one loop, whose copies stay to be erased.
    fn step(&self, of: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let body = walk::entry_block(of)?;
        let Some(first) = copies_in(of).first().map(|copy| copy.op()) else {
            return Ok(());
        };
        let b = Builder::before(first);
        let step: Value<'c, 'a> = body.argument(0)?.into();
        self.ring.read_ahead(of, first)?;
        let place = self.ring.place(&b, step);
        let (stage, parity) = (place.stage, parity(&b, &place));
        b.insert(MBarrierWaitOp::build(b.location(), self.full, stage, parity)?);
        let slots = self.ring.take_stage(&b, of, stage)?;

        let last_use = last_use(body, &slots)
            .ok_or_else(|| Diagnostic::internal(of.location(), "expected what is brought to be used"))?;
        let b = Builder::after(last_use);
        b.insert(MBarrierArriveOp::build(b.location(), self.empty, stage)?);
        let next = b.value(
            "arith.addi",
            &[step, b.index(self.ring.stages)],
            Type::index(b.context()),
        );
        let is_there = compare_integers(&b, IntegerPredicate::Less, next, self.ring.upper);
        let branch = b.op_with(
            "scf.if",
            &[is_there],
            &[],
            &[],
            vec![region::of_block(&[]), Region::new()],
        );
        let inside = Builder::at_end(walk::entry_block(branch)?, b.location());
        inside.insert(MBarrierWaitOp::build(b.location(), self.empty, stage, parity)?);
        self.issue(&inside, next, stage)?;
        inside.op("scf.yield", &[], &[]);
        Ok(())
    }

    /// Issues the copies of a step into a stage, at `b`.
    fn issue(
        &self,
        b: &Builder<'c, 'a>,
        step: Value<'c, 'a>,
        stage: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let mut expected: Option<Value<'c, 'a>> = None;
        let mut issued = Vec::new();
        for issue in self.ring.issues(b, step, stage)? {
            let copies = Copies::of(issue.copy)?;
            let parts = copies.parts(b, &issue.indices, &issue.limits)?;
            let bytes = copies.bytes(b, &parts);
            expected = Some(match expected {
                None => bytes,
                Some(other) => b.value("arith.addi", &[other, bytes], Type::index(b.context())),
            });
            issued.push((copies, parts, issue));
        }
        // All bytes of the stage are expected before the first can arrive.
        if let Some(bytes) = expected {
            b.insert(MBarrierExpectOp::build(b.location(), self.full, stage, bytes)?);
        }
        for (copies, parts, issue) in issued {
            copies.load(b, &parts, &issue.indices, issue.slot, self.full, stage)?;
        }
        Ok(())
    }
}

/// The parity of the phases that the mbarriers of a stage are in.
fn parity<'c: 'a, 'a>(b: &Builder<'c, 'a>, place: &Place<'c, 'a>) -> Value<'c, 'a> {
    let narrow = place.number.r#type();
    let round = b.value("arith.divui", &[place.number, place.stages], narrow);
    let odd = b.value("arith.andi", &[round, b.integer(narrow, 1)], narrow);
    compare_integers(b, IntegerPredicate::NotEqual, odd, b.integer(narrow, 0))
}

/// The last op of a block that uses one of `values`, itself or within.
fn last_use<'c, 'a>(block: BlockRef<'c, 'a>, values: &[Value<'c, 'a>]) -> Option<OperationRef<'c, 'a>> {
    walk::in_block(block).into_iter().rev().find(|op| {
        walk::pre_order(*op)
            .iter()
            .any(|nested| nested.operands().any(|operand| values.contains(&operand)))
    })
}
