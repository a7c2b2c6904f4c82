//! Interval analysis of scalars, from a kernel's launch, its loops and its arithmetic. It decides which guards hold for a whole
//! tile, and which values fit 32 bits.
//!
//! Scalars are coordinates and sizes, of type index, whose arithmetic does not wrap.

use melior::ir::{BlockLike, Value, ValueLike, attribute::DenseI64ArrayAttribute, operation::OperationLike};
use norma_dialects::{
    gl::{ClusterRankOp, LaunchAttr, ParamKind},
    integer_of, op_name,
};
use norma_targets::LARGEST_GRID;

use crate::mlir::{
    comparison::IntegerPredicate,
    interval::Interval,
    types,
    values::{argument_number, definition, owner},
    walk,
};

use super::{
    divisibility::{constant, launch_of, param_of},
    launch,
    scalars::{DEPTH, loop_of},
    steps,
};

/// The interval that a scalar lies in.
pub fn of_scalar(value: Value<'_, '_>) -> Interval {
    within(value, DEPTH)
}

fn within(value: Value<'_, '_>, depth: usize) -> Interval {
    let Some(depth) = depth.checked_sub(1) else {
        return Interval::ANY;
    };
    let Some(op) = definition(value) else {
        let of_argument = of_induction_variable(value, depth)
            .or_else(|| of_drawn_tile(value, depth))
            .or_else(|| of_parameter(value));
        return of_argument.unwrap_or(Interval::ANY);
    };
    let operand = |index| {
        op.operand(index)
            .map_or(Interval::ANY, |operand| within(operand, depth))
    };
    match op_name(op) {
        "arith.constant" => constant(value).map_or(Interval::ANY, Interval::exactly),
        "arith.addi" => operand(0).plus(operand(1)),
        "arith.subi" => operand(0).plus(operand(1).negated()),
        "arith.muli" => operand(0).times(operand(1)),
        "arith.minsi" => operand(0).least_of(operand(1)),
        "arith.maxsi" => operand(0).greatest_of(operand(1)),
        "arith.shrui" => match (operand(0), op.operand(1).ok().and_then(constant)) {
            (value, Some(shift @ 0..63)) => value.quotient(Interval::exactly(1 << shift)),
            _ => Interval::ANY,
        },
        // Only bits that are set in both numbers are set in the result, so that it exceeds neither.
        "arith.andi" if operand(0).least >= 0 && operand(1).least >= 0 => Interval {
            least: 0,
            most: operand(0).most.min(operand(1).most),
        },
        "arith.divui" => operand(0).quotient(operand(1)),
        "arith.remui" => operand(0).remainder(operand(1)),
        "arith.extui" => match operand(0) {
            narrow if narrow.least >= 0 => narrow,
            _ => Interval::SIZE,
        },
        ClusterRankOp::NAME => match walk::enclosing(op, "gpu.func") {
            Some(kernel) => Interval {
                least: 0,
                most: launch::ctas_of_cluster(kernel) - 1,
            },
            None => Interval::SIZE,
        },
        "gpu.block_id" | "nvvm.read.ptx.sreg.ctaid.x" => Interval {
            least: 0,
            // Along y and z a grid is smaller.
            most: i64::from(LARGEST_GRID[0]) - 1,
        },
        "memref.dim" => {
            let axis = op.operand(1).ok().and_then(constant);
            match (op.operand(0), axis.and_then(|axis| usize::try_from(axis).ok())) {
                (Ok(buffer), Some(axis)) => of_size(buffer, axis),
                _ => Interval::SIZE,
            }
        }
        _ => Interval::ANY,
    }
}

/// The interval of the induction variable of `scf.for`: at least the lower bound, and below the upper one wherever the body
/// runs.
fn of_induction_variable(value: Value<'_, '_>, depth: usize) -> Option<Interval> {
    let loop_op = loop_of(value)?;
    let bound = |index| Some(within(loop_op.operand(index).ok()?, depth));
    let (lower, upper, step) = (bound(0)?, bound(1)?, bound(2)?);
    (step.least > 0).then(|| Interval {
        least: lower.least,
        most: upper.plus(Interval::exactly(-1)).most,
    })
}

/// The interval of a value with which each step of an `scf.while` begins, if the loop continues while this value is less than a
/// bound (unsigned), as the number of a drawn tile is.
fn of_drawn_tile(value: Value<'_, '_>, depth: usize) -> Option<Interval> {
    let number = argument_number(value)?;
    let loop_op = owner(value).filter(|loop_op| walk::has_name(*loop_op, "scf.while"))?;
    let is_of_step = steps::body(loop_op)
        .ok()?
        .argument(number)
        .is_ok_and(|argument| Value::from(argument) == value);
    let condition = walk::entry_block(loop_op)
        .ok()?
        .terminator()
        .filter(|_| is_of_step)?;
    let comparison = definition(condition.operand(0).ok()?)?;
    let is_below = walk::has_name(comparison, "arith.cmpi")
        && integer_of(comparison, "predicate") == Some(IntegerPredicate::UnsignedLess as i64)
        && comparison.operand(0).ok()? == condition.operand(1 + number).ok()?;
    let bound = within(comparison.operand(1).ok()?, depth);
    (is_below && bound.least >= 0).then(|| Interval {
        least: 0,
        most: bound.plus(Interval::exactly(-1)).most,
    })
}

/// The interval of a parameter of a lowered kernel, if it is a size.
fn of_parameter(value: Value<'_, '_>) -> Option<Interval> {
    let (launch, param) = param_of(value)?;
    let is_size = param.kind() == Ok(ParamKind::Size);
    let [buffer, axis] = [param.argument(), param.axis()].map(usize::try_from);
    is_size.then(|| promised(&launch, buffer.ok()?, axis.ok()?).or(Some(Interval::SIZE)))?
}

/// The interval of a buffer's size along an axis: a static size, or the bounds that the kernel's launch promises for a dynamic
/// one.
fn of_size(buffer: Value<'_, '_>, axis: usize) -> Interval {
    let shape = types::shape(buffer.r#type()).unwrap_or_default();
    if let Some(Some(size)) = shape.get(axis) {
        return Interval::exactly(*size);
    }
    let of_launch = launch_of(buffer).and_then(|(launch, argument)| promised(&launch, argument, axis));
    of_launch.unwrap_or(Interval::SIZE)
}

/// The bounds that a launch promises for the size of its argument along an axis.
fn promised(launch: &LaunchAttr<'_>, argument: usize, axis: usize) -> Option<Interval> {
    let bounds = DenseI64ArrayAttribute::try_from(launch.bounds()?).ok()?;
    let number = |index: usize| bounds.element(index).ok();
    let mut all = (0..bounds.len()).step_by(4);
    let found =
        all.find(|first| number(*first) == Some(argument as i64) && number(first + 1) == Some(axis as i64))?;
    Some(Interval {
        least: number(found + 2)?,
        most: number(found + 3)?,
    })
}
