//! A ring of stages through which the steps of a loop, or of several that go on from each other, bring tiles.

use melior::ir::{
    BlockLike, BlockRef, OperationRef, Region, Type, Value, ValueLike, operation::OperationLike,
    r#type::IntegerType,
};
use mlir_sys::mlirOperationMoveBefore;
use norma_dialects::gl::{
    CopyToSharedOp, LoadOp, LocalAllocOp, MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp, MemDescType,
};

use crate::gl::{
    mbarriers::barriers,
    steps::{self, Unknown},
};
use crate::mlir::{
    builder::Builder,
    comparison::{IntegerPredicate, compare_integers},
    diagnostic::Diagnostic,
    pass::PassError,
    region,
    values::{definition, users},
    walk,
};

use super::{
    bulk::{self, Copies},
    copies_in,
};

/// The ring of a chain of loops.
pub(super) struct Ring<'c, 'a> {
    loops: Vec<OperationRef<'c, 'a>>,
    stages: i64,
    /// The copies of the last loop, which has all guards.
    copies: Vec<CopyToSharedOp<'c, 'a>>,
    /// The memory of each copy, for all stages.
    memories: Vec<Value<'c, 'a>>,
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

impl<'c: 'a, 'a> Ring<'c, 'a> {
    /// A ring for loops that copy alike, whose stages `warps` warps leave.
    pub fn new(
        function: OperationRef<'c, 'a>,
        loops: Vec<OperationRef<'c, 'a>>,
        stages: i64,
        warps: i64,
    ) -> Result<Self, PassError<'c>> {
        let last = *loops
            .last()
            .ok_or_else(|| Diagnostic::internal(function.location(), "expected a loop"))?;
        let copies = copies_in(last);
        let arrays = barriers(function, last, &[1, warps], stages)?;
        let b = Builder::at_start(walk::entry_block(function)?, last.location());
        let memories = copies
            .iter()
            .map(|copy| {
                let memory = memory_of(*copy)?;
                let shape = [&[stages], memory.shape()].concat();
                Ok(b.value(
                    LocalAllocOp::NAME,
                    &[],
                    bulk::plain(&b, memory.element_type(), &shape),
                ))
            })
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        Ok(Self {
            loops,
            stages,
            copies,
            memories,
            full: arrays[0],
            empty: arrays[1],
        })
    }

    /// Writes the prologue, and puts waits, arrivals and the copies of later steps into the loops.
    pub fn build(&self) -> Result<(), PassError<'c>> {
        let (Some(first), Some(last)) = (self.loops.first(), self.loops.last()) else {
            return Ok(());
        };
        let (lower, upper) = (first.operand(0)?, last.operand(1)?);
        let b = Builder::before(*first);
        let index = Type::index(b.context());
        let ahead = b.value("arith.addi", &[lower, b.index(self.stages)], index);
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

        for of in &self.loops {
            self.step(*of, lower, upper)?;
        }
        self.erase_copies();
        Ok(())
    }

    /// Erases the copies of the loops, which others stand for now.
    pub fn erase_copies(&self) {
        for of in &self.loops {
            for copy in copies_in(*of) {
                let memory = copy.memory().ok().and_then(definition);
                let b = Builder::before(copy.op());
                b.erase(copy.op());
                if let Some(memory) = memory.filter(|memory| LocalAllocOp::from_op(*memory).is_some()) {
                    b.erase(memory);
                }
            }
        }
    }

    /// Rewrites the body of one loop, whose copies stay to be erased.
    fn step(
        &self,
        of: OperationRef<'c, 'a>,
        lower: Value<'c, 'a>,
        upper: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let step: Value<'c, 'a> = walk::entry_block(of)?.argument(0)?.into();
        let Some(used) = self.wait(of, step, Some(lower))? else {
            return Ok(());
        };
        let b = Builder::after(used.last_use);
        b.insert(MBarrierArriveOp::build(b.location(), self.empty, used.stage)?);
        let next = b.value(
            "arith.addi",
            &[step, b.index(self.stages)],
            Type::index(b.context()),
        );
        let is_there = compare_integers(&b, IntegerPredicate::Less, next, upper);
        self.refill(&b, is_there, next, &used)
    }

    /// Has the body of a loop wait until its step's stage is full, and use that in the place of the memory that it copied to. Steps
    /// are counted from `lower` on, or from 0. `None` for a loop that copies nothing.
    pub fn wait(
        &self,
        of: OperationRef<'c, 'a>,
        step: Value<'c, 'a>,
        lower: Option<Value<'c, 'a>>,
    ) -> Result<Option<Used<'c, 'a>>, PassError<'c>> {
        let copies = copies_in(of);
        let Some(first) = copies.first() else {
            return Ok(None);
        };
        let b = Builder::before(first.op());
        self.read_ahead(of, first.op())?;
        let (stage, parity) = self.place(&b, step, lower);
        let wait = b.insert(MBarrierWaitOp::build(b.location(), self.full, stage, parity)?);
        let mut slots = Vec::new();
        for (copy, ring) in copies.iter().zip(&self.memories) {
            let memory = memory_of(*copy)?;
            let slot = bulk::index_memory(&b, *ring, memory.element_type(), memory.shape(), stage)?;
            let old = copy.memory()?;
            for user in users(old).into_iter().filter(|user| *user != copy.op()) {
                let operands = user
                    .operands()
                    .map(|operand| if operand == old { slot } else { operand })
                    .collect::<Vec<_>>();
                b.set_operands(user, &operands);
            }
            slots.push(slot);
        }

        let last_use = last_use(steps::body(of)?, &slots)
            .ok_or_else(|| Diagnostic::internal(of.location(), "expected what is brought to be used"))?;
        Ok(Some(Used {
            stage,
            parity,
            wait,
            last_use,
        }))
    }

    /// Where there is a next step for a stage, waits until that is empty, and issues the step's copies into it. The step's number, or
    /// that of its tile, is what copies depend on.
    pub fn refill(
        &self,
        b: &Builder<'c, 'a>,
        is_there: Value<'c, 'a>,
        next: Value<'c, 'a>,
        used: &Used<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let branch = b.op_with(
            "scf.if",
            &[is_there],
            &[],
            &[],
            vec![region::of_block(&[]), Region::new()],
        );
        let inside = Builder::at_end(walk::entry_block(branch)?, b.location());
        let (stage, parity) = (used.stage, used.parity);
        inside.insert(MBarrierWaitOp::build(b.location(), self.empty, stage, parity)?);
        self.issue(&inside, next, stage)?;
        inside.op("scf.yield", &[], &[]);
        Ok(())
    }

    /// Moves loads to registers that follow from the step's number ahead of the wait, which their latency then overlaps.
    fn read_ahead(&self, of: OperationRef<'c, 'a>, first: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let ops = walk::in_block(steps::body(of)?);
        let place = ops.iter().position(|op| *op == first).unwrap_or(ops.len());
        let (before, behind) = ops.split_at(place);
        let mut ahead = before.to_vec();
        for op in behind.iter().copied().skip(1) {
            let is_there = |operand: Value<'c, 'a>| {
                definition(operand)
                    .is_none_or(|made| made.parent_operation() != Some(of) || ahead.contains(&made))
            };
            let is_movable = LoadOp::from_op(op).is_some() || steps::is_scalar_arithmetic(op);
            if is_movable && op.operands().all(is_there) {
                // SAFETY: both are alive and in one block.
                unsafe { mlirOperationMoveBefore(op.to_raw(), first.to_raw()) };
                ahead.push(op);
            }
        }
        Ok(())
    }

    /// The stage of a step, and the parity of the phases that its mbarriers are in. Steps are counted in 32 bits, in which
    /// the machine divides faster.
    fn place(
        &self,
        b: &Builder<'c, 'a>,
        step: Value<'c, 'a>,
        lower: Option<Value<'c, 'a>>,
    ) -> (Value<'c, 'a>, Value<'c, 'a>) {
        let index = Type::index(b.context());
        let narrow: Type<'c> = IntegerType::new(b.context(), 32).into();
        let number = match lower {
            Some(lower) => b.value("arith.subi", &[step, lower], index),
            None => step,
        };
        let number = b.value("arith.index_castui", &[number], narrow);
        let stages = b.integer(narrow, self.stages);
        let stage = b.value("arith.remui", &[number, stages], narrow);
        let round = b.value("arith.divui", &[number, stages], narrow);
        let odd = b.value("arith.andi", &[round, b.integer(narrow, 1)], narrow);
        let parity = compare_integers(b, IntegerPredicate::NotEqual, odd, b.integer(narrow, 0));
        (b.value("arith.index_castui", &[stage], index), parity)
    }

    /// The mbarriers at which warps arrive when they are through with a stage.
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
        let mut expected: Option<Value<'c, 'a>> = None;
        let mut issued = Vec::new();
        for copy in &self.copies {
            let remap = |values: Vec<Value<'c, 'a>>| {
                values
                    .into_iter()
                    .map(|value| self.at_step(b, value, step))
                    .collect::<Result<Vec<_>, _>>()
            };
            let (indices, limits) = (remap(copy.indices())?, remap(copy.limits())?);
            let copies = Copies::of(*copy)?;
            let parts = copies.parts(b, &indices, &limits)?;
            let bytes = copies.bytes(b, &parts);
            expected = Some(match expected {
                None => bytes,
                Some(other) => b.value("arith.addi", &[other, bytes], Type::index(b.context())),
            });
            issued.push((copies, parts, indices));
        }
        // All bytes of the stage are expected before the first can arrive.
        if let Some(bytes) = expected {
            b.insert(MBarrierExpectOp::build(b.location(), self.full, stage, bytes)?);
        }
        for ((copies, parts, indices), (copy, ring)) in
            issued.iter().zip(self.copies.iter().zip(&self.memories))
        {
            let memory = memory_of(*copy)?;
            let slot = bulk::index_memory(b, *ring, memory.element_type(), memory.shape(), stage)?;
            copies.load(b, parts, indices, slot, self.full, stage)?;
        }
        Ok(())
    }

    /// A scalar of the last loop's body as it is in another step.
    fn at_step(
        &self,
        b: &Builder<'c, 'a>,
        value: Value<'c, 'a>,
        step: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let last = self
            .loops
            .last()
            .ok_or_else(|| Diagnostic::internal(b.location(), "expected a loop"))?;
        steps::at_step(b, *last, value, step).map_err(|unknown| {
            let message = match unknown {
                Unknown::Carried => {
                    "a copy to shared memory whose place depends on earlier steps; supported: on the step's number".to_owned()
                }
                Unknown::ComputedBy(name) => format!(
                    "a copy to shared memory whose place is computed by {name}; supported: scalar arithmetic"
                ),
            };
            Diagnostic::unsupported(b.location(), message).into()
        })
    }
}

fn memory_of<'c>(copy: CopyToSharedOp<'c, '_>) -> Result<MemDescType<'c>, PassError<'c>> {
    let memory = MemDescType::from_type(copy.memory()?.r#type());
    Ok(memory.ok_or_else(|| Diagnostic::internal(copy.op().location(), "expected shared memory"))?)
}

/// The last op of a block that uses one of `values`, itself or within.
fn last_use<'c, 'a>(block: BlockRef<'c, 'a>, values: &[Value<'c, 'a>]) -> Option<OperationRef<'c, 'a>> {
    walk::in_block(block).into_iter().rev().find(|op| {
        walk::pre_order(*op)
            .iter()
            .any(|nested| nested.operands().any(|operand| values.contains(&operand)))
    })
}
