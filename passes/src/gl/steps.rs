//! Computes scalars of a loop's body as they are in another of its steps, and tells which loads an earlier step may issue.

use melior::ir::{BlockRef, OperationRef, RegionLike, Value, ValueLike, operation::OperationLike};
use norma_dialects::{gl::LoadOp, op_name};

use crate::{
    gl::global_memory,
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::PassError,
        values::{argument_number, definition, owner},
        walk,
    },
};

/// The body of a loop: the only block of an `scf.for`, the block of the second region of an `scf.while`.
///
/// # Errors
///
/// Internal: there is no such block.
pub fn body<'c, 'a>(loop_op: OperationRef<'c, 'a>) -> Result<BlockRef<'c, 'a>, Diagnostic<'c>> {
    if !walk::has_name(loop_op, "scf.while") {
        return walk::entry_block(loop_op);
    }
    let body = loop_op.region(1).ok().and_then(|region| region.first_block());
    body.ok_or_else(|| Diagnostic::internal(loop_op.location(), "expected a loop with a body"))
}

/// Why a scalar is not known in other steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown<'c> {
    /// It depends on a loop-carried value.
    Carried,
    /// An op of the body other than scalar arithmetic computes it; this is the op's name.
    ComputedBy(&'c str),
}

/// How a value relates to a loop.
enum Place<'c, 'a> {
    /// Defined outside of the loop, and the same in all steps.
    Outside,
    /// The step's number, or that of its tile.
    Number,
    /// The result of scalar arithmetic in the body.
    Computed(OperationRef<'c, 'a>),
}

fn place<'c, 'a>(loop_op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> Result<Place<'c, 'a>, Unknown<'c>> {
    if let Some(op) = definition(value) {
        return match op.parent_operation() == Some(loop_op) {
            true if is_scalar_arithmetic(op) => Ok(Place::Computed(op)),
            true => Err(Unknown::ComputedBy(op_name(op))),
            false => Ok(Place::Outside),
        };
    }
    if owner(value) != Some(loop_op) {
        return Ok(Place::Outside);
    }
    match argument_number(value) {
        Some(0) => Ok(Place::Number),
        _ => Err(Unknown::Carried),
    }
}

/// Whether an op computes scalars from scalars, and does nothing else.
pub fn is_scalar_arithmetic(op: OperationRef<'_, '_>) -> bool {
    let name = op_name(op);
    op.region_count() == 0 && (name.starts_with("arith.") || name == "affine.apply")
}

/// Whether a scalar that is used in the body of `loop_op`, a loop, changes from step to step.
///
/// # Errors
///
/// It does not follow from the step's number.
pub fn changes<'c, 'a>(loop_op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> Result<bool, Unknown<'c>> {
    match place(loop_op, value)? {
        Place::Outside => Ok(false),
        Place::Number => Ok(true),
        Place::Computed(op) => {
            let mut operands = op.operands();
            operands.try_fold(false, |any, operand| Ok(changes(loop_op, operand)? || any))
        }
    }
}

/// Whether a load has to stay in its step.
pub enum Stays {
    /// An earlier step may issue it.
    No,
    /// It has to, for this reason.
    Because(String),
}

/// Whether a load in the body of `loop_op`, an `scf.for`, has to stay in its step: an earlier step may issue it if its place follows from the
/// step's number, and if the loop does not store to its buffer.
///
/// # Errors
///
/// Internal: the load has no buffer.
pub fn stays<'c: 'a, 'a>(
    loop_op: OperationRef<'c, 'a>,
    load: LoadOp<'c, 'a>,
) -> Result<Stays, PassError<'c>> {
    if global_memory::writes(loop_op, load.buffer()?) {
        return Ok(Stays::Because("the loop stores to the buffer".to_owned()));
    }
    let scalars = load
        .indices()
        .into_iter()
        .chain(load.limits())
        .chain(load.other());
    let changes = scalars
        .map(|scalar| changes(loop_op, scalar))
        .collect::<Result<Vec<_>, _>>();
    Ok(match changes {
        Ok(changes) if changes.contains(&true) => Stays::No,
        Ok(_) => Stays::Because("it is the same in each step".to_owned()),
        Err(Unknown::Carried) => Stays::Because("its place depends on earlier steps".to_owned()),
        Err(Unknown::ComputedBy(name)) => Stays::Because(format!("its place is computed by {name}")),
    })
}

/// Computes at `b` the value of a scalar in another step, by repeating the arithmetic that defines it. The scalar is used in
/// the body of `loop_op`, an `scf.for` or a loop whose tiles are drawn; `step` is the number of the other step, or of its tile.
///
/// # Errors
///
/// It does not follow from the step's number.
pub fn at_step<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    loop_op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    step: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, Unknown<'c>> {
    match place(loop_op, value)? {
        Place::Outside => Ok(value),
        Place::Number => Ok(step),
        Place::Computed(op) => {
            let operands = op
                .operands()
                .map(|operand| at_step(b, loop_op, operand, step))
                .collect::<Result<Vec<_>, _>>()?;
            let types = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
            let again = b.rebuild(op, &operands, &types);
            let mut results = op.results().zip(again.results());
            let same = results.find(|(result, _)| Value::from(*result) == value);
            Ok(same.map_or(value, |(_, result)| result.into()))
        }
    }
}

/// As [`at_step`], for an operand of a load that need not stay in its step ([`stays`]).
///
/// # Errors
///
/// Internal: the scalar does not follow from the step's number.
pub fn known_at_step<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    loop_op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    step: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    at_step(b, loop_op, value, step)
        .map_err(|_| Diagnostic::internal(loop_op.location(), "expected what follows from the step's number"))
}
