//! The ops that a kernel may contain besides those of `norm`: the ops of the table in `norma_bundle::scalar_op`, and constants.

use melior::ir::{OperationRef, Type, ValueLike, attribute::IntegerAttribute, operation::OperationLike};
use norma_bundle::{
    Element, ScalarOp,
    scalar_op::{self, Row},
};
use norma_dialects::op_name;

use crate::mlir::{diagnostic::Diagnostic, types, walk};

/// The `roundingmode` of `arith.truncf` for nearest, ties to even, which is also its default.
const TO_NEAREST_EVEN: i64 = 0;

/// The element type of a scalar, tensor or vector type; `index` counts as i64.
pub fn element(ty: Type<'_>) -> Option<Element> {
    match types::element(ty).to_string().as_str() {
        "index" => Some(Element::I64),
        name => Element::from_name(name),
    }
}

/// Checks the scalar ops of a `norm.compute` or `norm.kernel`, including those of combiners.
///
/// # Errors
///
/// Unsupported: an op that the table lacks, an op on types that the table does not list, another rounding mode, or a constant of type
/// f8E8M0FNU.
pub fn check<'c>(program: OperationRef<'c, '_>) -> Result<(), Diagnostic<'c>> {
    let is_scalar = |op: &OperationRef<'c, '_>| *op != program && !op_name(*op).starts_with("norm.");
    for op in walk::pre_order(program).into_iter().filter(is_scalar) {
        let name = op_name(op);
        if name == "arith.constant" {
            let is_power = |ty| element(ty) == Some(Element::F8E8M0FNU);
            if op.results().any(|result| is_power(result.r#type())) {
                let message =
                    "a constant of f8E8M0FNU in a kernel; supported: its bits, an i8, by arith.bitcast";
                return Err(Diagnostic::unsupported(op.location(), message));
            }
            continue;
        }
        let Some(op_of_table) = ScalarOp::from_name(name) else {
            let message = format!(
                "'{name}' in a kernel; supported: arith.constant, {}",
                scalar_op::names()
            );
            return Err(Diagnostic::unsupported(op.location(), message));
        };
        if !is_accepted(op, op_of_table.row()) {
            return Err(Diagnostic::unsupported(
                op.location(),
                on_other_types(op, op_of_table.row()),
            ));
        }
        if let Ok(mode) = op.attribute("roundingmode").and_then(IntegerAttribute::try_from)
            && mode.value() != TO_NEAREST_EVEN
        {
            let message = format!("'{name}' with a rounding mode; supported: to_nearest_even");
            return Err(Diagnostic::unsupported(op.location(), message));
        }
    }
    Ok(())
}

fn is_accepted(op: OperationRef<'_, '_>, row: &Row) -> bool {
    let operands = op.operands().map(|operand| element(operand.r#type()));
    let result = op.results().next().and_then(|result| element(result.r#type()));
    match (operands.collect::<Option<Vec<_>>>(), result) {
        (Some(operands), Some(result)) => row.accepts(&operands, result),
        _ => false,
    }
}

fn on_other_types(op: OperationRef<'_, '_>, row: &Row) -> String {
    let operands = op.operands().map(|operand| operand.r#type().to_string());
    let results = op.results().map(|result| result.r#type().to_string());
    let list = |types: &mut dyn Iterator<Item = String>| types.collect::<Vec<_>>().join(", ");
    let names = |elements: &mut dyn Iterator<Item = Element>| {
        elements.map(Element::name).collect::<Vec<_>>().join(", ")
    };
    let given = op.operands().map(|operand| element(operand.r#type()));
    let given = given.collect::<Option<Vec<_>>>().unwrap_or_default();
    let mut to = Element::ALL.iter().copied().filter(|to| row.accepts(&given, *to));
    // Operands of these types have other results.
    let supported = match names(&mut to) {
        to if to.is_empty() => format!("operands of {}", names(&mut row.types.iter().copied())),
        to => format!("results of {to}"),
    };
    format!(
        "'{}' from {} to {} in a kernel; supported: {supported}",
        row.name,
        list(&mut operands.into_iter()),
        list(&mut results.into_iter()),
    )
}
