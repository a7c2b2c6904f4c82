//! `gl-prefetch-loads`: makes loops load the tiles of their next step before they compute on those of the current one (software
//! pipelining in registers).
//!
//! Matches loops with `gl.load` in kernels whose `gl.stages` is 2 and that copy nothing to shared memory, so that the stages
//! are registers; and in loops that copy to a ring of stages in shared memory, the loads of a few registers that a reduction
//! depends on, such as the mean of a row, for which the row in shared memory would otherwise wait. Each such load whose place
//! follows from the step's number moves one step ahead: its tile becomes loop-carried, the first tile is loaded in front of the
//! loop, and each step begins with the load of the next one's. Behind the last step nothing is read: a guard that there is a
//! next step joins those of the load.
//!
//! Why it is correct: a step finds the tile that it would have loaded itself, as long as no earlier step stores to the buffer.
//! A kernel's buffers do not overlap, except for results that may be written over an argument. Each element of such an argument
//! is read for the last time at the point that writes it (`norm.may_alias`), so that loading it earlier gives the same value.
//!
//! It costs the registers of a tile in its storage type, and a predicate for each load.

use std::collections::HashSet;

use melior::ir::{
    AffineExpr, AffineMap, BlockLike, OperationRef, Type, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::{
    attributes::kernel,
    gl::{CopyToSharedOp, LoadOp, ReduceOp},
    integer_of, layout,
};

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        region, values, walk,
    },
    table::{GlPrefetchLoads, GlPrefetchLoadsStatistic},
};

use super::{
    bounds,
    steps::{self, Stays},
};

/// The number of tiles of a load that registers hold: the current one and the next one.
const STAGES: i64 = 2;
/// The minimum of CTAs per SM for a kernel that states none, which bounds its registers. Without a bound, ptxas 13.0 saves
/// registers and moves the loads of the next step behind the last use of the current tile, where nothing is left to hide them.
/// RMSNorm's gradient at 128 columns then took 80 registers and loaded at three quarters of the step; with a bound of up to
/// four CTAs of 128 threads it took 113 to 127 registers and loaded at the step's start (SASS of sm_90a).
const FEWEST_CTAS: i64 = 1;

/// The most registers of a tile that is loaded ahead beside a ring in shared memory. LayerNorm's gradient over rows of 7168 columns reaches
/// 4044 GB/s on an H200 with the mean loaded ahead, and 3316 without. What is needed behind the reduction only, as RMSNorm's deviation,
/// arrives meanwhile: loading it ahead as well cost 5% at 4096 columns.
const FEW_REGISTERS: usize = 4;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlPrefetchLoads>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        let stages = integer_of(function, kernel::STAGES).unwrap_or(1);
        // With several consumer groups the next step belongs to another group, so a group has no use for its loads; and the other groups
        // hide the latency of a group's own loads.
        if stages == 1 || integer_of(function, kernel::CONSUMER_GROUPS).is_some() {
            continue;
        }
        if !walk::named(function, CopyToSharedOp::NAME).is_empty() {
            for loop_op in walk::named(function, "scf.for") {
                if copies_to_shared(loop_op)? {
                    prefetch(loop_op, delays_reduction, cx)?;
                }
            }
            continue;
        }
        if stages != STAGES {
            let message = format!("{stages} stages of registers; supported: 1 and {STAGES}");
            return Err(Diagnostic::unsupported(function.location(), message).into());
        }
        // Outer loops come before the loops within them, whose first tiles they would otherwise carry.
        let mut moved = 0;
        for loop_op in walk::named(function, "scf.for") {
            moved += prefetch(loop_op, |_| Ok(true), cx)?;
        }
        let b = Builder::before(function);
        if moved > 0 && integer_of(function, kernel::MIN_CTAS_PER_SM).is_none() {
            b.set_attribute(function, kernel::MIN_CTAS_PER_SM, b.i64_attribute(FEWEST_CTAS));
        }
        b.remove_attribute(function, kernel::STAGES);
    }
    Ok(())
}

/// Whether a loop's body copies to shared memory.
fn copies_to_shared<'c>(loop_op: OperationRef<'c, '_>) -> Result<bool, Diagnostic<'c>> {
    let body = walk::in_block(walk::entry_block(loop_op)?);
    Ok(body
        .into_iter()
        .any(|op| walk::has_name(op, CopyToSharedOp::NAME)))
}

/// Whether a load is of few registers, and a reduction of the same step depends on it.
fn delays_reduction<'c>(load: LoadOp<'c, '_>) -> Result<bool, PassError<'c>> {
    let tile = layout::of_tile(load.tile()?.r#type())
        .map_err(|error| Diagnostic::user(load.op().location(), error.to_string()))?;
    if tile.num_registers() > FEW_REGISTERS {
        return Ok(false);
    }
    let mut seen = HashSet::new();
    let mut open = vec![load.op()];
    while let Some(op) = open.pop() {
        if walk::has_name(op, ReduceOp::NAME) {
            return Ok(true);
        }
        let users = op.results().flat_map(|result| values::users(result.into()));
        open.extend(users.filter(|user| user.block() == load.op().block() && seen.insert(user.to_raw().ptr)));
    }
    Ok(false)
}

/// Moves the loads of a loop that are `wanted` one step ahead where that is possible, and returns how many have been moved.
fn prefetch<'c: 'a, 'a>(
    loop_op: OperationRef<'c, 'a>,
    wanted: fn(LoadOp<'c, 'a>) -> Result<bool, PassError<'c>>,
    cx: &PassContext<'c, GlPrefetchLoads>,
) -> Result<usize, PassError<'c>> {
    let steps = Steps::of(loop_op)?;
    if steps.is_one_at_most() {
        return Ok(0);
    }
    let mut loads = Vec::new();
    for load in walk::in_block(walk::entry_block(loop_op)?)
        .into_iter()
        .filter_map(LoadOp::from_op)
    {
        if !wanted(load)? {
            continue;
        }
        match steps::stays(loop_op, load)? {
            Stays::No => loads.push(load),
            Stays::Because(reason) => {
                cx.remark(load.op().location(), format!("not loaded ahead: {reason}"));
            }
        }
    }
    if !loads.is_empty() {
        cx.count(GlPrefetchLoadsStatistic::NumLoads, loads.len() as u64);
        cx.count(GlPrefetchLoadsStatistic::NumLoops, 1);
        steps.load_ahead(&loads)?;
    }
    Ok(loads.len())
}

/// The steps of an `scf.for`.
struct Steps<'c, 'a> {
    loop_op: OperationRef<'c, 'a>,
    lower: Value<'c, 'a>,
    upper: Value<'c, 'a>,
    step: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Steps<'c, 'a> {
    fn of(loop_op: OperationRef<'c, 'a>) -> Result<Self, melior::Error> {
        Ok(Self {
            loop_op,
            lower: loop_op.operand(0)?,
            upper: loop_op.operand(1)?,
            step: loop_op.operand(2)?,
        })
    }

    /// Whether there is known to be no second step.
    fn is_one_at_most(&self) -> bool {
        let second = bounds::of_scalar(self.lower).plus(bounds::of_scalar(self.step));
        bounds::of_scalar(self.upper).most <= second.least
    }

    /// Whether there is known to be a step.
    fn is_one_at_least(&self) -> bool {
        bounds::of_scalar(self.lower).most < bounds::of_scalar(self.upper).least
    }

    /// Replaces the loop by one that carries the tiles of `loads`.
    fn load_ahead(&self, loads: &[LoadOp<'c, 'a>]) -> Result<(), PassError<'c>> {
        let b = Builder::before(self.loop_op);
        let index = Type::index(b.context());
        let body = walk::entry_block(self.loop_op)?;
        let left = match self.is_one_at_least() {
            true => None,
            false => Some(b.value("arith.subi", &[self.upper, self.lower], index)),
        };
        let firsts = self.tiles(&b, loads, self.lower, left)?;
        let inside = Builder::at_start(body, self.loop_op.location());
        let next = inside.value("arith.addi", &[body.argument(0)?.into(), self.step], index);
        let left = inside.value("arith.subi", &[self.upper, next], index);
        let nexts = self.tiles(&inside, loads, next, Some(left))?;

        let end = body
            .terminator()
            .ok_or_else(|| Diagnostic::internal(self.loop_op.location(), "expected a loop that yields"))?;
        b.set_operands(end, &end.operands().chain(nexts).collect::<Vec<_>>());
        let mut types = self
            .loop_op
            .results()
            .map(|result| result.r#type())
            .collect::<Vec<_>>();
        for load in loads {
            let ty = load.tile()?.r#type();
            types.push(ty);
            b.replace(load.op(), &[body.add_argument(ty, load.op().location())]);
        }
        let operands = self.loop_op.operands().chain(firsts).collect::<Vec<_>>();
        let region = region::taken_from(self.loop_op.region(0)?);
        let rotated = b.op_with("scf.for", &operands, &types, &[], vec![region]);
        for (result, renewed) in self.loop_op.results().zip(rotated.results()) {
            b.replace_all_uses(result.into(), renewed.into());
        }
        b.erase(self.loop_op);
        Ok(())
    }

    /// Builds `loads` at `b` as they are in the step whose induction variable is `number`. With `left`, the distance from there
    /// to the loop's end, they are guarded by `left` being greater than 0.
    fn tiles(
        &self,
        b: &Builder<'c, 'a>,
        loads: &[LoadOp<'c, 'a>],
        number: Value<'c, 'a>,
        left: Option<Value<'c, 'a>>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let at_step = |value| steps::known_at_step(b, self.loop_op, value, number);
        let at_steps = |values: Vec<_>| values.into_iter().map(at_step).collect::<Result<Vec<_>, _>>();
        let mut tiles = Vec::with_capacity(loads.len());
        for load in loads {
            let mut limits = at_steps(load.limits())?;
            let guards = match left {
                Some(left) => {
                    limits.push(left);
                    Some(with_steps_left(*load)?)
                }
                None => load.guards(),
            };
            let ahead = LoadOp::build(
                load.op().location(),
                load.buffer()?,
                &at_steps(load.indices())?,
                &limits,
                load.other().map(at_step).transpose()?,
                load.access()?,
                guards,
                load.cache(),
                load.vector(),
                load.alignment(),
                load.tile()?.r#type(),
            )?;
            tiles.push(b.insert(ahead).result(0)?.into());
        }
        Ok(tiles)
    }
}

/// The guards of a load and, behind them, `0 < n` for a limit `n` behind the load's own.
fn with_steps_left<'c>(load: LoadOp<'c, '_>) -> Result<AffineMap<'c>, PassError<'c>> {
    let context = crate::mlir::context::of(load.op().location());
    let limits = load.limits().len();
    let mut sides = match load.guards() {
        Some(guards) => (0..guards.result_count())
            .map(|side| guards.result(side))
            .collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    sides.extend([
        AffineExpr::constant(context, 0),
        AffineExpr::symbol(context, limits),
    ]);
    Ok(AffineMap::new(
        context,
        load.access()?.dim_count(),
        limits + 1,
        &sides,
    ))
}
