//! A ring of stages through which the steps of a loop, or of several that continue each other, copy tiles: its memory, and the
//! copies of any step into any stage.

use melior::ir::{OperationRef, Type, Value, ValueLike, operation::OperationLike, r#type::IntegerType};
use mlir_sys::mlirOperationMoveBefore;
use norma_dialects::gl::{CopyToSharedOp, LoadOp, LocalAllocOp};

use crate::gl::{
    shared_memory,
    steps::{self, Unknown},
};
use crate::mlir::{
    builder::Builder,
    comparison::{IntegerPredicate, compare_integers},
    diagnostic::Diagnostic,
    pass::PassError,
    values::{definition, users},
    walk,
};

use super::{bulk, copies_in};

/// The ring of a chain of loops.
pub(super) struct Ring<'c, 'a> {
    /// The loops in program order, at least one.
    pub loops: Vec<OperationRef<'c, 'a>>,
    pub stages: i64,
    /// The copies of the last loop, which has the guards of the last step.
    copies: Vec<CopyToSharedOp<'c, 'a>>,
    /// The memory of each copy, for all stages.
    memories: Vec<Value<'c, 'a>>,
}

/// A copy with the operands that it has in one step.
pub(super) struct Issue<'c, 'a> {
    pub copy: CopyToSharedOp<'c, 'a>,
    /// The copy's scalars in that step.
    pub indices: Vec<Value<'c, 'a>>,
    pub limits: Vec<Value<'c, 'a>>,
    /// The memory of the stage that it goes to.
    pub slot: Value<'c, 'a>,
}

/// The position of a step in a ring. Steps are counted in 32 bits, in which the machine divides faster.
pub(super) struct Place<'c, 'a> {
    /// The stage, an index.
    pub stage: Value<'c, 'a>,
    /// The number of steps before this one, i32.
    pub number: Value<'c, 'a>,
    /// The number of stages, i32.
    pub stages: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Place<'c, 'a> {
    /// The position of a step in a ring of so many stages. Steps are counted from `lower`, or from 0 without it.
    pub fn of(b: &Builder<'c, 'a>, step: Value<'c, 'a>, lower: Option<Value<'c, 'a>>, stages: i64) -> Self {
        let index = Type::index(b.context());
        let narrow: Type<'c> = IntegerType::new(b.context(), 32).into();
        let number = match lower {
            Some(lower) => b.value("arith.subi", &[step, lower], index),
            None => step,
        };
        let number = b.value("arith.index_castui", &[number], narrow);
        let stages = b.integer(narrow, stages);
        let stage = b.value("arith.remui", &[number, stages], narrow);
        Self {
            stage: b.value("arith.index_castui", &[stage], index),
            number,
            stages,
        }
    }

    /// The parity of the phases that the mbarriers of the stage are in.
    pub fn parity(&self, b: &Builder<'c, 'a>) -> Value<'c, 'a> {
        let narrow = self.number.r#type();
        let round = b.value("arith.divui", &[self.number, self.stages], narrow);
        let odd = b.value("arith.andi", &[round, b.integer(narrow, 1)], narrow);
        compare_integers(b, IntegerPredicate::NotEqual, odd, b.integer(narrow, 0))
    }
}

impl<'c: 'a, 'a> Ring<'c, 'a> {
    /// A ring for loops that copy alike.
    pub fn new(
        function: OperationRef<'c, 'a>,
        loops: Vec<OperationRef<'c, 'a>>,
        stages: i64,
    ) -> Result<Self, PassError<'c>> {
        let last = loops
            .last()
            .ok_or_else(|| Diagnostic::internal(function.location(), "expected a loop"))?;
        let copies = copies_in(*last);
        let b = Builder::at_start(walk::entry_block(function)?, last.location());
        let memories = copies
            .iter()
            .map(|copy| {
                let memory = shared_memory::type_of(copy.memory()?, copy.op())?;
                let shape = [&[stages], memory.shape()].concat();
                let ty = shared_memory::row_major(b.context(), memory.element_type(), &shape).into();
                Ok(b.value(LocalAllocOp::NAME, &[], ty))
            })
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        Ok(Self {
            loops,
            stages,
            copies,
            memories,
        })
    }

    /// The copies that are issued for the steps of all loops: those of the last one.
    pub fn copies(&self) -> &[CopyToSharedOp<'c, 'a>] {
        &self.copies
    }

    /// Returns the copies of a step into a stage. `step` is the number of the step, or of its tile, on which the copies depend.
    pub fn issues(
        &self,
        b: &Builder<'c, 'a>,
        step: Value<'c, 'a>,
        stage: Value<'c, 'a>,
    ) -> Result<Vec<Issue<'c, 'a>>, PassError<'c>> {
        let mut issues = Vec::with_capacity(self.copies.len());
        for (copy, ring) in self.copies.iter().zip(&self.memories) {
            let at_step = |values: Vec<Value<'c, 'a>>| {
                let values = values.into_iter().map(|value| self.at_step(b, value, step));
                values.collect::<Result<Vec<_>, _>>()
            };
            issues.push(Issue {
                copy: *copy,
                indices: at_step(copy.indices())?,
                limits: at_step(copy.limits())?,
                slot: slot(b, *copy, *ring, stage)?,
            });
        }
        Ok(issues)
    }

    /// The position of a step. Steps are counted from `lower`, or from 0 without it.
    pub fn place(
        &self,
        b: &Builder<'c, 'a>,
        step: Value<'c, 'a>,
        lower: Option<Value<'c, 'a>>,
    ) -> Place<'c, 'a> {
        Place::of(b, step, lower, self.stages)
    }

    /// Moves loads to registers, as far as their operands follow from the step's number, ahead of `first`, the first copy of a
    /// loop: the wait that will stand there hides their latency.
    pub fn read_ahead(
        &self,
        loop_op: OperationRef<'c, 'a>,
        first: OperationRef<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let ops = walk::in_block(steps::body(loop_op)?);
        let place = ops.iter().position(|op| *op == first).unwrap_or(ops.len());
        let (before, behind) = ops.split_at(place);
        let mut ahead = before.to_vec();
        for op in behind.iter().copied().skip(1) {
            let is_there = |operand: Value<'c, 'a>| {
                definition(operand)
                    .is_none_or(|made| made.parent_operation() != Some(loop_op) || ahead.contains(&made))
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

    /// Makes a loop's body read a stage instead of the memory that its copies fill, and returns the memories of the stage.
    pub fn take_stage(
        &self,
        b: &Builder<'c, 'a>,
        loop_op: OperationRef<'c, 'a>,
        stage: Value<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let mut slots = Vec::new();
        for (copy, ring) in copies_in(loop_op).into_iter().zip(&self.memories) {
            let slot = slot(b, copy, *ring, stage)?;
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
        Ok(slots)
    }

    /// Erases the copies of all loops together with their memory, which nothing else uses any more.
    pub fn erase_copies(&self) -> Result<(), PassError<'c>> {
        for copy in self.loops.iter().flat_map(|loop_op| copies_in(*loop_op)) {
            let memory = definition(copy.memory()?);
            let b = Builder::before(copy.op());
            b.erase(copy.op());
            if let Some(memory) = memory.filter(|memory| LocalAllocOp::from_op(*memory).is_some()) {
                b.erase(memory);
            }
        }
        Ok(())
    }

    /// Computes the value that a scalar of the last loop's body has in another step.
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

/// The memory of a copy in a stage.
fn slot<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    copy: CopyToSharedOp<'c, 'a>,
    ring: Value<'c, 'a>,
    stage: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let memory = shared_memory::type_of(copy.memory()?, copy.op())?;
    bulk::index_memory(b, ring, memory, stage)
}
