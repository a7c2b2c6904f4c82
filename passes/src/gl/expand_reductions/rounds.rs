//! Groups the reductions across CTAs, or across warps, into rounds that share an exchange. A round has reductions of one block
//! that do not depend on each other, as far as the operands of the later ones can be computed before the first.

use std::collections::{BTreeSet, HashMap};

use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use mlir_sys::{mlirOperationMoveAfter, mlirOperationMoveBefore};
use norma_dialects::{
    gl::{
        BroadcastOp, ConvertLayoutOp, CoordinatesOp, MaskOp, OptimizationBarrierOp, ReduceOp, WarpReduceOp,
    },
    layout, op_name,
};
use norma_layout::ReductionPlan;

use crate::mlir::{
    diagnostic::Diagnostic,
    pass::PassError,
    values::{definition, key},
    walk,
};

/// Adjacent reductions whose partial results are exchanged together.
pub(super) type Round<'c, 'a> = Vec<ReduceOp<'c, 'a>>;

/// Whether a reduction with this plan exchanges partial results.
pub(super) type Crosses<'p> = dyn Fn(&ReductionPlan) -> bool + 'p;

/// Returns the rounds of a function's crossing reductions, in program order. Moves the ops that the reductions of a round
/// depend on before the first of them.
pub(super) fn of<'c, 'a>(
    function: OperationRef<'c, 'a>,
    crosses: &Crosses<'_>,
) -> Result<Vec<Round<'c, 'a>>, PassError<'c>> {
    let mut crossing = Vec::new();
    for reduce in walk::all(function, ReduceOp::from_op) {
        if is_exchanged(reduce, crosses)? {
            crossing.push(reduce);
        }
    }
    let mut rounds = Vec::new();
    while !crossing.is_empty() {
        let mut round = vec![crossing.remove(0)];
        crossing.retain(|other| !joins(&mut round, *other, crosses));
        rounds.push(round);
    }
    Ok(rounds)
}

fn is_exchanged<'c>(reduce: ReduceOp<'c, '_>, crosses: &Crosses<'_>) -> Result<bool, PassError<'c>> {
    let wrong = |error| Diagnostic::user(reduce.op().location(), error);
    let Some(first) = reduce.tiles().first().copied() else {
        return Ok(false);
    };
    let layout =
        layout::of_tile(first.r#type()).map_err(|error| Diagnostic::user(reduce.op().location(), error))?;
    let plan = layout.reduction(reduce.axis()? as usize).map_err(wrong)?;
    Ok(crosses(&plan))
}

/// Whether `other` can join the round. If so, moves it behind the round's last reduction and the ops that it depends on before
/// the first.
fn joins<'c, 'a>(round: &mut Round<'c, 'a>, other: ReduceOp<'c, 'a>, crosses: &Crosses<'_>) -> bool {
    let (first, last) = (round[0].op(), round[round.len() - 1].op());
    let Some(needed) = needed_behind(first, other.op(), crosses) else {
        return false;
    };
    for op in needed {
        // SAFETY: both ops are alive and stand in one block; the ops that the moved op depends on have been moved before it.
        unsafe { mlirOperationMoveBefore(op.to_raw(), first.to_raw()) };
    }
    // SAFETY: as above; the users of its results still stand behind it.
    unsafe { mlirOperationMoveAfter(other.op().to_raw(), last.to_raw()) };
    round.push(other);
    true
}

/// The ops between `first` and `op` that `op` depends on, in program order; `None` if one of them cannot be moved before
/// `first`.
fn needed_behind<'c, 'a>(
    first: OperationRef<'c, 'a>,
    op: OperationRef<'c, 'a>,
    crosses: &Crosses<'_>,
) -> Option<Vec<OperationRef<'c, 'a>>> {
    let block = first.block().filter(|block| op.block() == Some(*block))?;
    let ops = walk::in_block(block);
    let positions = ops
        .iter()
        .enumerate()
        .map(|(position, op)| (op.to_raw().ptr as usize, position))
        .collect::<HashMap<_, _>>();
    let position_of = |op: OperationRef<'c, 'a>| positions.get(&(op.to_raw().ptr as usize)).copied();
    let from = position_of(first)?;
    let mut needed = BTreeSet::new();
    let mut open = op.operands().collect::<Vec<_>>();
    let mut seen = BTreeSet::new();
    while let Some(value) = open.pop() {
        // A value that is defined outside the block, or is a block argument, is available already.
        let Some(position) = definition(value).and_then(position_of) else {
            continue;
        };
        if position < from || !seen.insert(key(value)) {
            continue;
        }
        let op = ops[position];
        let waits = ReduceOp::from_op(op).is_some_and(|reduce| is_exchanged(reduce, crosses).unwrap_or(true));
        if waits || !is_movable(op) {
            return None;
        }
        needed.insert(position);
        open.extend(op.operands());
    }
    Some(needed.into_iter().map(|position| ops[position]).collect())
}

/// Whether an op only computes its results from its operands.
fn is_movable(op: OperationRef<'_, '_>) -> bool {
    let name = op_name(op);
    let is_computation = ["arith.", "math.", "tensor.", "affine."]
        .iter()
        .any(|dialect| name.starts_with(dialect))
        && op.region_count() == 0;
    let of_tiles = [
        BroadcastOp::NAME,
        ConvertLayoutOp::NAME,
        CoordinatesOp::NAME,
        MaskOp::NAME,
        OptimizationBarrierOp::NAME,
        ReduceOp::NAME,
        WarpReduceOp::NAME,
    ];
    is_computation || of_tiles.contains(&name)
}
