//! `gl-specialize-warps`: producer warps issue the copies, so that the other warps never wait to issue one.
//!
//! Matches kernels with `gl.producer_warps`. The program is split by role. *Producers* issue copies by the copy engine and
//! expect their bytes, wait at the mbarriers that consumers arrive at, and draw tiles; both roles wait for the drawn numbers.
//! Everything else belongs to the *consumers*. Both partitions begin as the whole program. The consumers' partition loses the
//! ops of the producers; the producers' partition keeps only these, with the control flow and the scalar arithmetic around
//! them.
//!
//! Why it is correct: the ops that are erased from one partition are performed by the other, and the two synchronize only at
//! mbarriers, which ordered the program before as well: a copy is issued when its stage is empty, and used when it is full.
//! Scalars are computed twice, which has no effect. The mbarriers are allocated and initialised before the partitions begin.
//!
//! Consumers come first, so that their warps, lanes and threads keep their numbers. Several groups of them are a partition each
//! ([`groups`]).

mod groups;

use melior::ir::{
    BlockLike, BlockRef, Operation, OperationRef, RegionLike, Value, ValueLike, attribute::IntegerAttribute,
    operation::OperationLike, r#type::IntegerType,
};
use norma_dialects::{
    attributes::kernel,
    gl::{
        AwaitTileOp, BulkLoadOp, BulkStoreOp, ClusterRankOp, DrawTileOp, MBarrierArriveOp, MBarrierExpectOp,
        MBarrierWaitOp, MemDescIndexOp, MemDescReshapeOp, TailLoadOp, TensorLoadOp, TensorMapOp,
        TensorStoreOp, WarpSpecializeOp,
    },
    integer_of,
};

use groups::Groups;

use crate::{
    gl::{hand_over, shared_memory},
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        region::{self, move_to_end},
        types,
        values::{users, uses},
        walk,
    },
    table::{GlSpecializeWarps, GlSpecializeWarpsStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlSpecializeWarps>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        let Some(producers) = integer_of(function, kernel::PRODUCER_WARPS).filter(|warps| *warps > 0) else {
            continue;
        };
        let groups = integer_of(function, kernel::CONSUMER_GROUPS).unwrap_or(1);
        let copies = [BulkLoadOp::NAME, TensorLoadOp::NAME].map(|name| walk::named(function, name));
        if copies.iter().all(Vec::is_empty) && groups == 1 {
            Builder::before(function).remove_attribute(function, kernel::START_REGISTERS);
            cx.remark(
                function.location(),
                "no copies of the copy engine for producer warps to issue",
            );
        } else {
            specialize(function, producers)?;
            cx.count(GlSpecializeWarpsStatistic::NumSpecialized, 1);
        }
        for applied in [
            kernel::PRODUCER_WARPS,
            kernel::PRODUCER_REGISTERS,
            kernel::CONSUMER_GROUPS,
        ] {
            Builder::before(function).remove_attribute(function, applied);
        }
    }
    Ok(())
}

fn specialize<'c: 'a, 'a>(function: OperationRef<'c, 'a>, producers: i64) -> Result<(), PassError<'c>> {
    let location = function.location();
    let warps = integer_of(function, kernel::NUM_WARPS)
        .ok_or_else(|| Diagnostic::user(location, "expected a kernel with gl.num_warps"))?;
    let arrays = Arrays::of(function)?;
    refuse_sent(function)?;
    let groups = Groups::of(function, warps)?;
    let consumers = warps * groups.count;
    let entry = walk::entry_block(function)?;
    let program = walk::in_block(entry)
        .into_iter()
        .filter(|op| !shared_memory::sets_up(*op) && !walk::has_name(*op, "gpu.return"))
        .collect::<Vec<_>>();
    let end = entry
        .terminator()
        .ok_or_else(|| Diagnostic::internal(location, "expected a kernel that returns"))?;

    // First one partition with the whole program: cloning it maps the values that are defined within.
    let b = Builder::before(end);
    let whole = b.insert(WarpSpecializeOp::build(
        location,
        &[warps],
        None,
        vec![region::of_block(&[])],
    )?);
    let body = walk::entry_block(whole)?;
    for op in program {
        move_to_end(op, body);
    }
    let copies = (0..groups.count).map(|_| b.insert(Operation::clone(&whole)));
    let copies = copies.collect::<Vec<_>>();
    let (producer, others) = copies
        .split_first()
        .ok_or_else(|| Diagnostic::internal(location, "expected a group of consumers"))?;
    let of_consumers = || [whole].into_iter().chain(others.iter().copied());
    for (group, partition) in (0..).zip(of_consumers()) {
        let body = walk::entry_block(partition)?;
        arrays.keep(body, Role::Consumer)?;
        groups.take_turns(body, group)?;
    }
    arrays.keep(walk::entry_block(*producer)?, Role::Producer)?;

    let mut counts = vec![warps; of_consumers().count()];
    counts.push(producers);
    let registers = registers(function, consumers, producers)?;
    let registers = registers.map(|(of_consumer, of_producer)| {
        let mut all = vec![of_consumer; of_consumers().count()];
        all.push(of_producer);
        all
    });
    let ops = of_consumers().chain([*producer]).collect::<Vec<_>>();
    let partitions = ops
        .iter()
        .map(|op| Ok(region::taken_from(op.region(0)?)))
        .collect::<Result<Vec<_>, melior::Error>>()?;
    for op in ops {
        b.erase(op);
    }
    b.insert(WarpSpecializeOp::build(
        location,
        &counts,
        registers.as_deref(),
        partitions,
    )?);
    let all = IntegerAttribute::new(IntegerType::new(b.context(), 64).into(), consumers + producers);
    b.set_attribute(function, kernel::NUM_WARPS, all.into());
    Ok(())
}

/// Returns the registers of a consumer's and of a producer's thread; `None` where they share them evenly.
fn registers<'c>(
    function: OperationRef<'c, '_>,
    consumers: i64,
    producers: i64,
) -> Result<Option<(i64, i64)>, PassError<'c>> {
    let Some(kept) = integer_of(function, kernel::PRODUCER_REGISTERS) else {
        return Ok(None);
    };
    let start = integer_of(function, kernel::START_REGISTERS).ok_or_else(|| {
        let message = "expected gl.start_registers in a kernel with gl.producer_registers";
        Diagnostic::user(function.location(), message)
    })?;
    Ok(Some((
        hand_over::of_consumer(start, consumers, producers, kept),
        kept,
    )))
}

/// Refuses results that are sent through shared memory in a kernel with several consumer groups, which would share the buffers.
fn refuse_sent<'c>(function: OperationRef<'c, '_>) -> Result<(), PassError<'c>> {
    if integer_of(function, kernel::CONSUMER_GROUPS).is_none() {
        return Ok(());
    }
    let sent = [BulkStoreOp::NAME, TensorStoreOp::NAME].map(|name| walk::named(function, name));
    match sent.iter().flatten().next() {
        None => Ok(()),
        Some(op) => {
            let message =
                "a result that is sent through shared memory by consumer groups; supported: by one group";
            Err(Diagnostic::unsupported(op.location(), message).into())
        }
    }
}

/// The role of a partition's warps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Producer,
    Consumer,
}

/// The mbarriers that consumers arrive at, by the addresses of their allocations.
struct Arrays {
    left_by_consumers: Vec<usize>,
}

impl Arrays {
    fn of<'c>(function: OperationRef<'c, '_>) -> Result<Self, PassError<'c>> {
        let mut left_by_consumers = Vec::new();
        for arrive in walk::all(function, MBarrierArriveOp::from_op) {
            let array = shared_memory::known_origin(arrive.barriers()?, arrive.op())?;
            left_by_consumers.push(array.to_raw().ptr as usize);
        }
        Ok(Self { left_by_consumers })
    }

    /// Whether the warps of a role perform an op that has an effect. Both roles wait for the number of a drawn tile.
    fn does(&self, role: Role, op: OperationRef<'_, '_>) -> bool {
        if AwaitTileOp::from_op(op).is_some() {
            return true;
        }
        let is_producers = match MBarrierWaitOp::from_op(op) {
            Some(wait) => {
                let array = wait.barriers().ok().and_then(shared_memory::origin);
                array.is_some_and(|array| self.left_by_consumers.contains(&(array.to_raw().ptr as usize)))
            }
            None => {
                BulkLoadOp::from_op(op).is_some()
                    || TailLoadOp::from_op(op).is_some()
                    || TensorLoadOp::from_op(op).is_some()
                    || MBarrierExpectOp::from_op(op).is_some()
                    || DrawTileOp::from_op(op).is_some()
            }
        };
        is_producers == (role == Role::Producer)
    }

    /// Erases from a partition, nested blocks included, the ops of the other role, and the scalars and control flow that become
    /// unused.
    fn keep<'c: 'a, 'a>(&self, block: BlockRef<'c, 'a>, role: Role) -> Result<(), PassError<'c>> {
        for op in walk::in_block(block).into_iter().rev() {
            if is_yield(op) {
                continue;
            }
            let op = match is_loop(op) && role == Role::Producer {
                true => without_tiles(op)?,
                false => op,
            };
            for region in op.regions().filter(|_| is_control_flow(op)) {
                if let Some(nested) = region.first_block() {
                    self.keep(nested, role)?;
                }
            }
            let is_others = !is_control_flow(op) && !self.does(role, op);
            if !is_others && !has_no_effect(op) {
                continue;
            }
            if op.results().all(|result| uses(result.into()) == 0) {
                Builder::before(op).erase(op);
            } else if !has_no_effect(op) {
                let name = norma_dialects::op_name(op);
                let message = format!(
                    "expected scalars alone to say what producer warps copy, got the result of {name}"
                );
                return Err(Diagnostic::unsupported(op.location(), message).into());
            }
        }
        Ok(())
    }
}

fn is_loop(op: OperationRef<'_, '_>) -> bool {
    walk::has_name(op, "scf.for")
}

fn is_yield(op: OperationRef<'_, '_>) -> bool {
    walk::has_name(op, "scf.yield") || walk::has_name(op, "scf.condition")
}

fn is_control_flow(op: OperationRef<'_, '_>) -> bool {
    norma_dialects::op_name(op).starts_with("scf.")
}

/// Whether an op only computes scalars, or descriptors of memory, from scalars.
fn is_scalar(op: OperationRef<'_, '_>) -> bool {
    const NAMES: [&str; 6] = [
        MemDescReshapeOp::NAME,
        TensorMapOp::NAME,
        "gpu.block_id",
        "memref.dim",
        ClusterRankOp::NAME,
        MemDescIndexOp::NAME,
    ];
    let name = norma_dialects::op_name(op);
    let is_known = name.starts_with("arith.") || name.starts_with("affine.") || NAMES.contains(&name);
    is_known && op.results().all(|result| !types::is_tensor(result.r#type()))
}

/// Whether an op has no effect besides its results: an op on scalars, or control flow around nothing else.
fn has_no_effect(op: OperationRef<'_, '_>) -> bool {
    walk::pre_order(op)
        .into_iter()
        .all(|nested| is_scalar(nested) || is_control_flow(nested))
}

/// Rebuilds a loop without its loop-carried tiles, whose results have no uses.
fn without_tiles<'c: 'a, 'a>(loop_op: OperationRef<'c, 'a>) -> Result<OperationRef<'c, 'a>, PassError<'c>> {
    let is_kept = |index: usize| -> Result<bool, melior::Error> {
        Ok(!types::is_tensor(loop_op.result(index)?.r#type()))
    };
    let kept = (0..loop_op.result_count())
        .filter_map(|index| match is_kept(index) {
            Ok(true) => Some(Ok(index)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        })
        .collect::<Result<Vec<_>, _>>()?;
    if kept.len() == loop_op.result_count() {
        return Ok(loop_op);
    }
    let b = Builder::before(loop_op);
    let old = walk::entry_block(loop_op)?;
    let mut operands = (0..3)
        .map(|index| loop_op.operand(index))
        .collect::<Result<Vec<_>, _>>()?;
    let mut arguments = vec![(old.argument(0)?.r#type(), loop_op.location())];
    let mut results = Vec::new();
    for index in &kept {
        operands.push(loop_op.operand(3 + index)?);
        arguments.push((old.argument(1 + index)?.r#type(), loop_op.location()));
        results.push(loop_op.result(*index)?.r#type());
    }
    let region = region::of_block(&arguments);
    let new = b.op_with("scf.for", &operands, &results, &[], vec![region]);
    let body = walk::entry_block(new)?;
    b.replace_all_uses(old.argument(0)?.into(), body.argument(0)?.into());
    for (position, index) in kept.iter().enumerate() {
        b.replace_all_uses(
            old.argument(1 + index)?.into(),
            body.argument(1 + position)?.into(),
        );
        b.replace_all_uses(loop_op.result(*index)?.into(), new.result(position)?.into());
    }
    let ops = walk::in_block(old);
    if let Some(end) = ops.last() {
        let yielded = kept
            .iter()
            .map(|index| end.operand(*index))
            .collect::<Result<Vec<_>, _>>()?;
        b.set_operands(*end, &yielded);
    }
    // The users of the carried tiles, all of which belong to the consumers, are erased before the tiles.
    let carried = (0..loop_op.result_count())
        .filter(|index| !kept.contains(index))
        .map(|index| old.argument(1 + index).map(Value::from))
        .collect::<Result<Vec<_>, _>>()?;
    erase_users(&carried)?;
    for op in walk::in_block(old) {
        move_to_end(op, body);
    }
    b.erase(loop_op);
    Ok(new)
}

/// Erases the users of `values`, and the users of their results.
fn erase_users<'c: 'a, 'a>(values: &[Value<'c, 'a>]) -> Result<(), PassError<'c>> {
    for value in values {
        while let Some(user) = users(*value).first().copied() {
            if is_control_flow(user) {
                let message = "tiles that branches or nested loops carry in a kernel with producer warps; supported: those of one loop";
                return Err(Diagnostic::unsupported(user.location(), message).into());
            }
            let results = user.results().map(Value::from).collect::<Vec<_>>();
            erase_users(&results)?;
            Builder::before(user).erase(user);
        }
    }
    Ok(())
}
