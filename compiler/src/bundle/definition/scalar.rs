//! Converts scalar ops, combiners, numbers and types of kernel form to those of a program.

use melior::ir::attribute::{FloatAttribute, IntegerAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, AttributeLike, OperationRef, Value as IrValue, ValueLike};
use norma_bundle::program::{Number, Operation, Step, Value};
use norma_dialects::op_name;
pub(super) use norma_passes::kernel::scalar_ops::element;
use norma_passes::mlir::types;

/// Converts an `arith` or `math` op, or a constant, to steps; `push` adds one and returns its value. A power by an integer is one by that
/// integer as a float, which as C's `pow` is exact for integers.
pub(super) fn steps(
    op: OperationRef,
    mut operands: Vec<Value>,
    mut push: impl FnMut(Step) -> Value,
) -> Option<Value> {
    if op_name(op) != "math.fpowi" {
        return Some(push(step(op, operands)?));
    }
    let operation = |name: &str, operands: Vec<Value>| {
        Some(Step::Op(Operation {
            name: name.to_owned(),
            operands,
            predicate: None,
            relaxed: false,
            element: element(op.result(0).ok()?.r#type())?,
        }))
    };
    let exponent = operands.pop()?;
    operands.push(push(operation("arith.sitofp", vec![exponent])?));
    Some(push(operation("math.powf", operands)?))
}

/// Converts an `arith` or `math` op, or a constant, that is one step.
pub(super) fn step(op: OperationRef, operands: Vec<Value>) -> Option<Step> {
    let element = element(op.result(0).ok()?.r#type())?;
    let name = op_name(op);
    if name == "arith.constant" {
        return Some(Step::Constant {
            value: number(op.attribute("value").ok()?)?,
            element,
        });
    }
    if op.region_count() > 0
        || op.result_count() != 1
        || !(name.starts_with("arith.") || name.starts_with("math."))
    {
        return None;
    }
    let predicate = match name {
        "arith.cmpf" => Some(predicate(op, FLOAT_PREDICATES)?),
        "arith.cmpi" => Some(predicate(op, INTEGER_PREDICATES)?),
        _ => None,
    };
    Some(Step::Op(Operation {
        name: name.to_owned(),
        operands,
        predicate,
        relaxed: op
            .attribute("fastmath")
            .is_ok_and(|flags| flags.to_string() != "#arith.fastmath<none>"),
        element,
    }))
}

/// Whether an op has scalar operands and scalar results only.
pub(super) fn is_op(op: OperationRef) -> bool {
    let is_number = |value: IrValue| types::shape(value.r#type()).is_none();
    let name = op_name(op);
    (name.starts_with("arith.") || name.starts_with("math."))
        && op.operands().all(is_number)
        && op.results().map(IrValue::from).all(is_number)
}

/// The predicates, in the order of MLIR's `CmpFPredicate`.
const FLOAT_PREDICATES: &[&str] = &[
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
    "uno", "true",
];
/// The predicates, in the order of MLIR's `CmpIPredicate`.
const INTEGER_PREDICATES: &[&str] = &["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

fn predicate(op: OperationRef, names: &[&str]) -> Option<String> {
    let index = IntegerAttribute::try_from(op.attribute("predicate").ok()?)
        .ok()?
        .value();
    names
        .get(usize::try_from(index).ok()?)
        .map(|name| (*name).to_owned())
}

pub(in crate::bundle) fn number(attribute: Attribute) -> Option<Number> {
    if attribute.is_float() {
        return Some(Number::Float(FloatAttribute::try_from(attribute).ok()?.value()));
    }
    if attribute.is_bool() {
        return Some(Number::Integer(i64::from(attribute.to_string() == "true")));
    }
    Some(Number::Integer(
        IntegerAttribute::try_from(attribute).ok()?.value(),
    ))
}
