//! Counts the iterations of the loops around an exchange between the CTAs of a cluster. The lowest bit of the number selects one of
//! two buffers and mbarriers, and the next bit is the parity of the mbarrier's phase.

use melior::ir::{BlockLike, OperationRef, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::gl::WarpSpecializeOp;

use crate::gl::{drawn, steps};
use crate::mlir::{
    builder::Builder,
    diagnostic::Diagnostic,
    pass::PassError,
    types,
    values::{definition, owner},
    walk,
};

/// The loops around an op, the outermost first, up to the kernel or the partition of warps that contains them.
///
/// # Errors
///
/// Unsupported if an op around `op` is neither an `scf.for` nor an outermost `scf.while`, or if an inner loop's number of iterations may
/// change from one iteration of the outermost loop to another.
pub(super) fn loops_around<'c, 'a>(
    function: OperationRef<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<Vec<OperationRef<'c, 'a>>, Diagnostic<'c>> {
    let mut loops = Vec::new();
    let mut inner = op;
    let is_whole =
        |parent: &OperationRef<'c, 'a>| *parent == function || WarpSpecializeOp::from_op(*parent).is_some();
    while let Some(parent) = inner.parent_operation().filter(|parent| !is_whole(parent)) {
        // Of a loop that draws its tiles, the outermost one, only the number of steps so far is known.
        let is_outermost = || parent.parent_operation().is_some_and(|around| is_whole(&around));
        let is_drawn = || walk::has_name(parent, "scf.while") && is_outermost();
        if !walk::has_name(parent, "scf.for") && !is_drawn() {
            let message = "expected a reduction across CTAs to stand in a kernel's body or its loops";
            return Err(Diagnostic::unsupported(op.location(), message)
                .note(parent.location(), "it stands in this op, which is no loop"));
        }
        loops.insert(0, parent);
        inner = parent;
    }
    let Some(outermost) = loops.first().copied() else {
        return Ok(loops);
    };
    for inner in &loops[1..] {
        if inner.operands().take(3).any(|bound| changes(outermost, bound)) {
            let message =
                "expected a reduction across CTAs in loops that each have the same number of iterations";
            return Err(Diagnostic::unsupported(op.location(), message).note(
                inner.location(),
                "the bounds of this loop change from iteration to iteration",
            ));
        }
    }
    Ok(loops)
}

/// Whether a scalar that is used within a loop may be another in another iteration: what is computed within the loop need not be hoisted
/// out of it to stay the same.
fn changes<'c, 'a>(loop_op: OperationRef<'c, 'a>, scalar: Value<'c, 'a>) -> bool {
    let Some(op) = definition(scalar) else {
        return owner(scalar).is_some_and(|owner| walk::is_within(owner, loop_op));
    };
    walk::is_within(op, loop_op)
        && (!steps::is_scalar_arithmetic(op) || op.operands().any(|operand| changes(loop_op, operand)))
}

/// Returns the number of iterations that the loops have completed, of type index.
///
/// # Errors
///
/// Unsupported if an `scf.while` carries no number of its step, or a loop does not count by an index.
pub(super) fn iteration<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    loops: &[OperationRef<'c, 'a>],
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let index = Type::index(b.context());
    let mut count: Option<Value<'c, 'a>> = None;
    for op in loops {
        if walk::has_name(*op, "scf.while") {
            count = Some(drawn::number_of_step(b, *op).ok_or_else(|| {
                let message = "expected a loop that counts its steps around a reduction across CTAs";
                Diagnostic::unsupported(op.location(), message)
            })?);
            continue;
        }
        let operand = |position| op.operand(position);
        let (lower, upper, step) = (operand(0)?, operand(1)?, operand(2)?);
        let variable: Value<'c, 'a> = walk::entry_block(*op)?.argument(0)?.into();
        if !types::is_index(variable.r#type()) {
            let message = "expected loops over index";
            return Err(Diagnostic::unsupported(op.location(), message).into());
        }
        let past = b.value("arith.subi", &[variable, lower], index);
        let mut iteration = b.value("arith.divui", &[past, step], index);
        if let Some(before) = count {
            let span = b.value("arith.subi", &[upper, lower], index);
            let iterations = b.value("arith.ceildivsi", &[span, step], index);
            let before = b.value("arith.muli", &[before, iterations], index);
            iteration = b.value("arith.addi", &[before, iteration], index);
        }
        count = Some(iteration);
    }
    count.ok_or_else(|| Diagnostic::internal(b.location(), "expected a loop").into())
}

/// Bit `bit` of a number of type index, as an index.
pub(super) fn bit<'c: 'a, 'a>(b: &Builder<'c, 'a>, number: Value<'c, 'a>, bit: i64) -> Value<'c, 'a> {
    let index = Type::index(b.context());
    let shifted = match bit {
        0 => number,
        bit => b.value("arith.shrui", &[number, b.index(bit)], index),
    };
    b.value("arith.andi", &[shifted, b.index(1)], index)
}
