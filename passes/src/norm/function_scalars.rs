//! Scalars of a function that named ops and ops on tensors use: constants, arguments, what is taken from tensors, and what scalar ops
//! compute from these.

use std::collections::HashMap;

use melior::ir::{
    AffineExpr, Attribute, OperationRef, Value, ValueLike, attribute::DenseElementsAttribute,
    operation::OperationLike,
};
use norma_bundle::ScalarOp;
use norma_dialects::op_name;

use crate::mlir::{
    builder::Builder,
    context,
    diagnostic::Diagnostic,
    pass::PassError,
    types,
    values::{definition, key},
};

/// Whether an op is a scalar op all of whose operands and results are scalars.
pub(in crate::norm) fn is_scalar_op(op: OperationRef<'_, '_>) -> bool {
    let is_number = |value: Value<'_, '_>| types::shape(value.r#type()).is_none();
    ScalarOp::from_name(op_name(op)).is_some()
        && op.operands().all(is_number)
        && op.results().map(Value::from).all(is_number)
}

/// The number that a `tensor.extract` takes from a constant tensor of one value; `None` for any other op.
pub(in crate::norm) fn extracted<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Attribute<'c>> {
    if op_name(op) != "tensor.extract" {
        return None;
    }
    let tensor = definition(op.operand(0).ok()?).filter(|tensor| op_name(*tensor) == "arith.constant")?;
    let splat = DenseElementsAttribute::try_from(tensor.attribute("value").ok()?).ok()?;
    splat.is_splat().then(|| splat.splat_value())
}

/// Adds to `leaves` the arguments that a number depends on.
///
/// # Errors
///
/// Unsupported: a number that is not computed from constants and arguments.
pub(in crate::norm) fn leaves<'c: 'a, 'a>(
    number: Value<'c, 'a>,
    user: OperationRef<'c, 'a>,
    leaves: &mut Vec<Value<'c, 'a>>,
) -> Result<(), PassError<'c>> {
    collect(number, user, leaves, None)
}

/// Adds to `leaves` the arguments that a number depends on, and to `taken` the numbers that it depends on and that ops take from
/// tensors: sizes (`tensor.dim`), and what tensors without axes hold (`tensor.extract`).
///
/// # Errors
///
/// Unsupported: a number that is not computed from constants, arguments and such numbers.
pub(in crate::norm) fn leaves_and_taken<'c: 'a, 'a>(
    number: Value<'c, 'a>,
    user: OperationRef<'c, 'a>,
    leaves: &mut Vec<Value<'c, 'a>>,
    taken: &mut Vec<OperationRef<'c, 'a>>,
) -> Result<(), PassError<'c>> {
    collect(number, user, leaves, Some(taken))
}

/// The tensor without axes whose one element a `tensor.extract` takes; `None` for any other op.
pub(in crate::norm) fn held_by<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
    let takes_it = op_name(op) == "tensor.extract" && op.operand_count() == 1;
    takes_it.then(|| op.operand(0).ok())?
}

fn collect<'c: 'a, 'a>(
    number: Value<'c, 'a>,
    user: OperationRef<'c, 'a>,
    leaves: &mut Vec<Value<'c, 'a>>,
    mut taken: Option<&mut Vec<OperationRef<'c, 'a>>>,
) -> Result<(), PassError<'c>> {
    let Some(op) = definition(number) else {
        if !leaves.contains(&number) {
            leaves.push(number);
        }
        return Ok(());
    };
    if op_name(op) == "arith.constant" || extracted(op).is_some() {
        return Ok(());
    }
    let is_taken = op_name(op) == "tensor.dim" || held_by(op).is_some();
    if let Some(taken) = taken.as_deref_mut().filter(|_| is_taken) {
        if !taken.contains(&op) {
            taken.push(op);
        }
        return Ok(());
    }
    if !is_scalar_op(op) {
        return Err(unknown_number(op, user, taken.is_some()));
    }
    op.operands()
        .try_for_each(|operand| collect(operand, user, leaves, taken.as_deref_mut()))
}

/// The error for a number that `op` makes and that `user` cannot use; `and_taken` says whether it can use numbers of tensors.
pub(in crate::norm) fn unknown_number<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    user: OperationRef<'c, 'a>,
    and_taken: bool,
) -> PassError<'c> {
    let taken = match and_taken {
        true => " sizes along axes that are constants, elements of tensors without axes,",
        false => "",
    };
    let message = format!(
        "a number that '{}' makes; supported: constants, elements of constant tensors of one value, arguments,{taken} and what scalar \
         ops make of them",
        op_name(op)
    );
    Diagnostic::unsupported(op.location(), message)
        .note(user.location(), "it is used here")
        .into()
}

/// An index of the function as an affine expression, whose symbols are `leaves`.
///
/// # Errors
///
/// Unsupported: the index is not a sum of constants and of multiples of `leaves`.
pub(in crate::norm) fn affine<'c: 'a, 'a>(
    number: Value<'c, 'a>,
    user: OperationRef<'c, 'a>,
    leaves: &[Value<'c, 'a>],
) -> Result<AffineExpr<'c>, PassError<'c>> {
    let context = context::of(user.location());
    if let Some(leaf) = leaves.iter().position(|leaf| *leaf == number) {
        return Ok(AffineExpr::symbol(context, leaf));
    }
    let op = definition(number)
        .ok_or_else(|| PassError::Internal("a number is not among those that it depends on".to_owned()))?;
    let operand = |index: usize| affine(op.operand(index)?, user, leaves);
    let is_constant = |index: usize| Ok::<_, PassError<'c>>(operand(index)?.is_constant());
    match op_name(op) {
        "arith.constant" => {
            let value = norma_dialects::integer(op.attribute("value")?)?;
            Ok(AffineExpr::constant(context, value))
        }
        "arith.addi" => Ok(operand(0)? + operand(1)?),
        "arith.subi" => Ok(operand(0)? + operand(1)? * AffineExpr::constant(context, -1)),
        "arith.muli" if is_constant(1)? => Ok(operand(0)? * operand(1)?),
        "arith.muli" if is_constant(0)? => Ok(operand(1)? * operand(0)?),
        name => {
            let message = format!(
                "'{name}' in where a slice begins; supported: arguments, and sums, differences and multiples by constants of them"
            );
            Err(Diagnostic::unsupported(op.location(), message)
                .note(user.location(), "it is used here")
                .into())
        }
    }
}

/// Copies a number and what computes it into a program, and returns the copy. `known` has the copies that the program holds already;
/// new ones are added to it.
pub(in crate::norm) fn copy<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    number: Value<'c, 'a>,
    known: &mut HashMap<usize, Value<'c, 'a>>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    if let Some(copy) = known.get(&key(number)) {
        return Ok(*copy);
    }
    let op = definition(number)
        .ok_or_else(|| PassError::Internal("a number is not among the program's inputs".to_owned()))?;
    if let Some(value) = extracted(op) {
        let copy = b.constant(value, number.r#type());
        known.insert(key(number), copy);
        return Ok(copy);
    }
    let operands = op.operands().map(|operand| copy(b, operand, known));
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    let built = b.rebuild(op, &operands, &[number.r#type()]);
    let copy = Value::from(built.result(0)?);
    known.insert(key(number), copy);
    Ok(copy)
}
