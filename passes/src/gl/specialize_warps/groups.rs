//! Groups of consumer warps that take the steps of a loop in turns (ping-pong): group g of G has the steps g, g + G, g + 2G and so on.
//!
//! Each group is a partition with a copy of the consumers' program, so that its barriers are its own. Group g counts its own steps
//! with an induction variable from 0 on, so that whatever alternates from step to step does so within a group.
//!
//! Why it is correct: a step's stage and parity follow from its number, whoever takes it. The number of stages is a multiple of
//! G, so that each stage has one group, whose warps are all that arrive at the stage's `empty` mbarrier. That group has also waited
//! for every earlier phase of the stage's `full` mbarrier. With any other number of stages a group could wait for a phase while the
//! one before it, which belongs to another group, has not completed; the wait for a parity cannot tell these apart, and would end
//! at once.
//!
//! What the loop has accumulated (`gl.of_group`) goes to the first group through shared memory, which nothing else uses, so that no
//! group waits to store it. The others' warps arrive at an mbarrier behind their stores. The first group waits there, combines the
//! tiles in the order of the groups, and alone runs what stands behind the loop.

use melior::ir::{
    BlockLike, BlockRef, OperationRef, Type, Value, ValueLike, operation::OperationLike, r#type::IntegerType,
};
use norma_dialects::{
    attributes::kernel,
    gl::{LocalAllocOp, LocalLoadOp, LocalStoreOp, MBarrierArriveOp, MBarrierWaitOp, OfGroupOp},
    integer_of,
};

use super::is_control_flow;
use crate::{
    gl::{mbarriers::barriers, shared_memory},
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::PassError,
        region::{self, move_to_end},
        types,
        values::{key, users, uses},
        walk,
    },
};

/// The groups of a kernel, and the memory through which they combine what they have accumulated.
pub(super) struct Groups<'c, 'a> {
    /// How many there are.
    pub count: i64,
    /// For each accumulated tile, in the order in which the program first asks for it.
    exchanges: Vec<Exchange<'c, 'a>>,
}

/// How a tile of the other groups comes to the first one.
struct Exchange<'c, 'a> {
    /// The memory of each group behind the first one.
    memories: Vec<Value<'c, 'a>>,
    /// The mbarrier at which their warps arrive.
    stored: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Groups<'c, 'a> {
    /// The groups of a kernel, each of `warps` warps; allocates what they share.
    pub fn of(function: OperationRef<'c, 'a>, warps: i64) -> Result<Self, PassError<'c>> {
        let count = integer_of(function, kernel::CONSUMER_GROUPS).unwrap_or(1);
        if count < 1 {
            let message = format!("expected gl.consumer_groups of at least 1, got {count}");
            return Err(Diagnostic::user(function.location(), message).into());
        }
        let mut groups = Self {
            count,
            exchanges: Vec::new(),
        };
        let stages = integer_of(function, kernel::STAGES).unwrap_or(1);
        if stages % count != 0 {
            let message = format!(
                "expected gl.stages to be a multiple of the {count} consumer groups, so that each stage has one group, got {stages}"
            );
            return Err(Diagnostic::user(function.location(), message).into());
        }
        for tile in accumulated(function)? {
            let ty = tile.r#type();
            let op = of_groups(function)
                .into_iter()
                .find(|op| op.tile().is_ok_and(|other| other == tile));
            let op = op.map_or(function, |op| op.op());
            let shape = types::static_shape(ty)
                .ok_or_else(|| Diagnostic::internal(op.location(), "expected a tile of known extents"))?;
            let b = Builder::at_start(walk::entry_block(function)?, op.location());
            let memory: Type<'c> = shared_memory::row_major(b.context(), types::element(ty), &shape).into();
            let memories = (1..count).map(|_| b.value(LocalAllocOp::NAME, &[], memory));
            let memories = memories.collect();
            let stored = barriers(function, op, &[warps * (count - 1)], 1)?[0];
            groups.exchanges.push(Exchange { memories, stored });
        }
        Ok(groups)
    }

    /// Makes the consumers' program that of one group.
    pub fn take_turns(&self, body: BlockRef<'c, 'a>, group: i64) -> Result<(), PassError<'c>> {
        if self.count == 1 {
            return Ok(());
        }
        let mut first_lower = None;
        for loop_op in walk::in_block(body).into_iter().filter(|op| is_control_flow(*op)) {
            if !walk::has_name(loop_op, "scf.for") || walk::named(loop_op, MBarrierWaitOp::NAME).is_empty() {
                let message = "branches, or loops without copies, in a kernel with consumer groups; supported: loops through rings";
                return Err(Diagnostic::unsupported(loop_op.location(), message).into());
            }
            for result in loop_op.results() {
                let is_accumulated = |user: &OperationRef<'c, 'a>| {
                    OfGroupOp::from_op(*user).is_some() || is_control_flow(*user)
                };
                if !users(result.into()).iter().any(is_accumulated) {
                    let message = "a value that one step passes to the next in a kernel with consumer groups; supported: accumulated tiles";
                    return Err(Diagnostic::unsupported(loop_op.location(), message).into());
                }
            }
            let lower = loop_op.operand(0)?;
            self.own_steps(loop_op, group, *first_lower.get_or_insert(lower))?;
        }
        match group {
            0 => self.take(body),
            _ => self.give(body, group),
        }
    }

    /// Replaces a loop by one over the steps of a group. Steps are dealt from `first_lower` on, where the first of the loops that
    /// continue each other begins.
    fn own_steps(
        &self,
        loop_op: OperationRef<'c, 'a>,
        group: i64,
        first_lower: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let b = Builder::before(loop_op);
        let index = Type::index(b.context());
        let count = b.index(self.count);
        let (lower, upper) = (loop_op.operand(0)?, loop_op.operand(1)?);
        let ahead = match lower == first_lower {
            true => b.index(group),
            false => {
                let dealt = b.value("arith.subi", &[lower, first_lower], index);
                let dealt = b.value("arith.remui", &[dealt, count], index);
                let ahead = b.value("arith.subi", &[b.index(group + self.count), dealt], index);
                b.value("arith.remui", &[ahead, count], index)
            }
        };
        let start = b.value("arith.addi", &[lower, ahead], index);
        let left = b.value("arith.subi", &[upper, start], index);
        let left = b.value("arith.addi", &[left, b.index(self.count - 1)], index);
        let left = b.value("arith.maxsi", &[left, b.index(0)], index);
        let steps = b.value("arith.divui", &[left, count], index);

        let mut operands = vec![b.index(0), steps, b.index(1)];
        operands.extend(loop_op.operands().skip(3));
        let results = loop_op
            .results()
            .map(|result| result.r#type())
            .collect::<Vec<_>>();
        let mut arguments = vec![(index, loop_op.location())];
        arguments.extend(results.iter().map(|ty| (*ty, loop_op.location())));
        let new = b.op_with(
            "scf.for",
            &operands,
            &results,
            &[],
            vec![region::of_block(&arguments)],
        );
        let (old, body) = (walk::entry_block(loop_op)?, walk::entry_block(new)?);
        let inside = Builder::at_start(body, loop_op.location());
        let own: Value<'c, 'a> = body.argument(0)?.into();
        let step = inside.value("arith.muli", &[own, inside.index(self.count)], index);
        let step = inside.value("arith.addi", &[start, step], index);
        b.replace_all_uses(old.argument(0)?.into(), step);
        for (position, result) in loop_op.results().enumerate() {
            b.replace_all_uses(
                old.argument(1 + position)?.into(),
                body.argument(1 + position)?.into(),
            );
            b.replace_all_uses(result.into(), new.result(position)?.into());
        }
        for op in walk::in_block(old) {
            move_to_end(op, body);
        }
        b.erase(loop_op);
        Ok(())
    }

    /// Replaces the tiles of other groups by what these have stored.
    fn take(&self, body: BlockRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let mut waited = Vec::new();
        for (op, exchange) in self.asked(body)? {
            let b = Builder::before(op.op());
            if !waited.contains(&key(exchange.stored)) {
                let bit: Type<'c> = IntegerType::new(b.context(), 1).into();
                let parity = b.integer(bit, 0);
                b.insert(MBarrierWaitOp::build(
                    b.location(),
                    exchange.stored,
                    b.index(0),
                    parity,
                )?);
                waited.push(key(exchange.stored));
            }
            let memory = exchange.of(op)?;
            let ty = op.op().result(0)?.r#type();
            let load = LocalLoadOp::build(b.location(), memory, &[], &[], None, None, ty)?;
            let tile = b.insert(load).result(0)?.into();
            b.replace(op.op(), &[tile]);
        }
        Ok(())
    }

    /// Stores the tiles of a group for the first one, and erases what the first one alone runs.
    fn give(&self, body: BlockRef<'c, 'a>, group: i64) -> Result<(), PassError<'c>> {
        for (op, exchange) in self.asked(body)? {
            if op.group()? != group {
                continue;
            }
            let b = Builder::before(op.op());
            b.op(LocalStoreOp::NAME, &[op.tile()?, exchange.of(op)?], &[]);
            b.insert(MBarrierArriveOp::build(
                b.location(),
                exchange.stored,
                b.index(0),
            )?);
        }
        for op in walk::in_block(body).into_iter().rev() {
            let stays = is_control_flow(op)
                || LocalStoreOp::from_op(op).is_some()
                || MBarrierArriveOp::from_op(op).is_some()
                || MBarrierWaitOp::from_op(op).is_some();
            if !stays && op.results().all(|result| uses(result.into()) == 0) {
                Builder::before(op).erase(op);
            }
        }
        Ok(())
    }

    /// The ops that ask for tiles of other groups, in order, with the exchange of the tile.
    fn asked(
        &self,
        body: BlockRef<'c, 'a>,
    ) -> Result<Vec<(OfGroupOp<'c, 'a>, &Exchange<'c, 'a>)>, PassError<'c>> {
        let mut tiles: Vec<Value<'c, 'a>> = Vec::new();
        let mut asked = Vec::new();
        for op in walk::in_block(body).into_iter().filter_map(OfGroupOp::from_op) {
            let tile = op.tile()?;
            let position = match tiles.iter().position(|other| *other == tile) {
                Some(position) => position,
                None => {
                    tiles.push(tile);
                    tiles.len() - 1
                }
            };
            let exchange = self.exchanges.get(position);
            let location = op.op().location();
            let exchange = exchange
                .ok_or_else(|| Diagnostic::internal(location, "expected memory for the tile of a group"))?;
            asked.push((op, exchange));
        }
        Ok(asked)
    }
}

impl<'c: 'a, 'a> Exchange<'c, 'a> {
    /// The memory of the group that an op asks for.
    fn of(&self, op: OfGroupOp<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let group = op.group()?;
        let position = usize::try_from(group - 1).ok();
        let memory = position.and_then(|position| self.memories.get(position).copied());
        memory.ok_or_else(|| {
            let message = format!("expected one of {} groups, got {group}", self.memories.len() + 1);
            Diagnostic::user(op.op().location(), message).into()
        })
    }
}

/// The ops that ask for tiles of other groups.
pub(super) fn of_groups<'c, 'a>(function: OperationRef<'c, 'a>) -> Vec<OfGroupOp<'c, 'a>> {
    let ops = walk::named(function, OfGroupOp::NAME).into_iter();
    ops.filter_map(OfGroupOp::from_op).collect()
}

/// The tiles that other groups are asked for, in order.
fn accumulated<'c, 'a>(function: OperationRef<'c, 'a>) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let mut tiles = Vec::new();
    for op in of_groups(function) {
        let tile = op.tile()?;
        if !tiles.contains(&tile) {
            tiles.push(tile);
        }
    }
    Ok(tiles)
}
