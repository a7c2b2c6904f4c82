//! Rings that the copy engine fills in loops whose tiles CTAs draw: the number of a step's tile is known as many steps ahead as
//! the ring has stages.
//!
//! The prologue fills the stages with the tiles that follow from the CTA's number, and each step draws the tile of the step
//! that will use its stage next. The tiles of all stages are loop-carried, in the order of the steps. A stage is refilled only
//! if there is a tile for it; the last steps draw as well, and find none.
//!
//! Why one slot of the mailbox for each stage is enough: a warp reads a step's number before it arrives at `empty`, and the
//! thread that draws in step i has waited for the arrivals of step i - 1, or found no tile to refill that stage with. From then
//! on at most as many steps follow as there are stages, and each draws into a slot of its own.
//!
//! In a cluster the first CTA draws for all CTAs, and must not overwrite a number that another one has not read. Each step reduces
//! something across the cluster (`norm-tile` accepts no others), and the warps of a CTA arrive at `empty` in step i - 1 behind the exchange
//! of step i - 2, so that this exchange is over when the first CTA draws in step i. By then all CTAs have used the stage of step i - 2,
//! whose number their producers read in step i - 2 - S, with S stages. The draw of step i overwrites the number that step i - 2 S drew,
//! which is no later than step i - 2 - S if S is at least 2: then twice as many slots as stages are enough. `norm-tile` accepts no cluster
//! with one stage.

use melior::ir::{BlockLike, OperationRef, Type, Value, operation::OperationLike};
use norma_dialects::gl::MBarrierArriveOp;

use crate::{
    gl::{
        drawn::{DrawnLoop, Mailbox},
        launch,
    },
    mlir::{
        builder::Builder,
        comparison::{IntegerPredicate, compare_integers},
        control_flow,
        diagnostic::Diagnostic,
        pass::PassError,
    },
};

use super::{bulk_ring::BulkRing, ring::Place};

/// A ring for loops that copy alike and continue each other, and whose tiles are drawn.
pub(super) struct DrawnRing<'c, 'a> {
    ring: BulkRing<'c, 'a>,
    loops: Vec<DrawnLoop<'c, 'a>>,
    mailbox: Mailbox<'c, 'a>,
    stages: i64,
    /// The slots of the mailbox.
    slots: i64,
    /// The number of the first tile of the CTA, or of its cluster.
    first: Value<'c, 'a>,
    /// The number of tiles.
    tiles: Value<'c, 'a>,
    /// The number of CTAs, or of clusters, which is the distance between the first tiles of one.
    ctas: Value<'c, 'a>,
}

impl<'c: 'a, 'a> DrawnRing<'c, 'a> {
    /// Adds the tiles of all stages and the number of the step to the values that the loops carry; `warps` warps consume each
    /// stage.
    pub fn new(
        function: OperationRef<'c, 'a>,
        loops: Vec<DrawnLoop<'c, 'a>>,
        stages: i64,
        warps: i64,
    ) -> Result<Self, PassError<'c>> {
        let outermost = loops
            .first()
            .ok_or_else(|| Diagnostic::internal(function.location(), "expected a loop"))?;
        let next = outermost.next;
        let (first, tiles, ctas) = (outermost.op.operand(0)?, next.tiles()?, next.dealt()?);
        let b = Builder::before(outermost.op);
        let index = Type::index(b.context());
        let mut carried = Vec::new();
        for stage in 1..stages {
            let dealt = b.value("arith.muli", &[ctas, b.index(stage)], index);
            carried.push(b.value("arith.addi", &[first, dealt], index));
        }
        carried.push(b.index(0));
        let slots = match launch::ctas_of_cluster(function) {
            1 => stages,
            _ => 2 * stages,
        };
        let mailbox = Mailbox::new(function, outermost.op, slots)?;
        let mut widened = Vec::new();
        for loop_op in loops {
            let loop_op = loop_op.carry(&carried)?;
            let results = loop_op.op.results().skip(1).map(Value::from);
            carried = results.collect();
            widened.push(loop_op);
        }
        let ops = widened.iter().map(|loop_op| loop_op.op).collect();
        Ok(Self {
            ring: BulkRing::new(function, ops, stages, warps)?,
            loops: widened,
            mailbox,
            stages,
            slots,
            first,
            tiles,
            ctas,
        })
    }

    /// Builds the prologue, and inserts draws, waits, arrivals and the copies of later steps into the loops.
    pub fn build(&self) -> Result<(), PassError<'c>> {
        let Some(outermost) = self.loops.first() else {
            return Ok(());
        };
        let b = Builder::before(outermost.op);
        self.fill(&b)?;
        let dealt = b.value(
            "arith.muli",
            &[self.ctas, b.index(self.stages)],
            Type::index(b.context()),
        );
        for loop_op in &self.loops {
            self.step(*loop_op, dealt)?;
        }
        self.ring.erase_copies()
    }

    /// Issues the copies of the first tiles.
    fn fill(&self, b: &Builder<'c, 'a>) -> Result<(), PassError<'c>> {
        let index = Type::index(b.context());
        control_flow::count_from(b, b.index(0), b.index(self.stages), |inside, stage| {
            let dealt = inside.value("arith.muli", &[self.ctas, stage], index);
            let tile = inside.value("arith.addi", &[self.first, dealt], index);
            let is_there = compare_integers(inside, IntegerPredicate::UnsignedLess, tile, self.tiles);
            control_flow::when(inside, is_there, |inside| self.ring.issue(inside, tile, stage))?;
            Ok(())
        })
    }

    /// Rewrites the body of one loop. Its original copies remain, to be erased later.
    fn step(&self, loop_op: DrawnLoop<'c, 'a>, dealt: Value<'c, 'a>) -> Result<(), PassError<'c>> {
        let body = loop_op.body()?;
        let index = Type::index(Builder::before(loop_op.op).context());
        let end = loop_op.end()?;
        // The arguments of the body: the tile of each stage, and the step's number.
        let tiles = self.stages as usize;
        let number = body.argument(tiles)?.into();
        let Some(use_of_stage) = self.ring.wait(loop_op.op, number, None)? else {
            return Ok(());
        };
        let b = Builder::before(use_of_stage.wait);
        let (slot, parity) = match self.slots == self.stages {
            true => (use_of_stage.stage, use_of_stage.parity),
            false => {
                let place = Place::of(&b, number, None, self.slots);
                (place.stage, place.parity(&b))
            }
        };
        self.mailbox.draw(&b, loop_op.next, dealt, slot)?;
        let b = Builder::after(use_of_stage.last_use);
        let next = self.mailbox.wait(&b, slot, parity)?;
        b.insert(MBarrierArriveOp::build(
            b.location(),
            self.ring.empty(),
            use_of_stage.stage,
        )?);
        let is_there = compare_integers(&b, IntegerPredicate::UnsignedLess, next, self.tiles);
        self.ring.refill(&b, is_there, next, &use_of_stage)?;

        let b = Builder::before(end);
        let mut passed = Vec::new();
        for later in 1..tiles {
            passed.push(body.argument(later)?.into());
        }
        passed.push(next);
        passed.push(b.value("arith.addi", &[number, b.index(1)], index));
        b.set_operands(end, &passed);
        b.erase(loop_op.next.op());
        Ok(())
    }
}
