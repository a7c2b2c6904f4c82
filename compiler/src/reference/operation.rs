//! `arith` and `math` ops as steps.

use melior::ir::{OperationRef, ValueLike, attribute::IntegerAttribute, operation::OperationLike};
use norma_bundle::program::{Operation, Step, Value};
use norma_passes::support::diagnostic::Diagnostic;

use super::{element, number};

/// The predicates of `arith.cmpf`, by MLIR's numbers.
const FLOAT_PREDICATES: [&str; 16] = [
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
    "uno", "true",
];

/// The predicates of `arith.cmpi`, by MLIR's numbers.
const INTEGER_PREDICATES: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

/// The step that an op of one result is, given the numbers of its operands.
pub(super) fn step<'c>(op: OperationRef<'c, '_>, operands: Vec<Value>) -> Result<Step, Diagnostic<'c>> {
    let location = op.location();
    let name = op.name();
    let name = name.as_string_ref().as_str().unwrap_or_default();
    let is_scalar = name.starts_with("arith.") || name.starts_with("math.");
    if !is_scalar || op.result_count() != 1 || op.region_count() != 0 {
        let message = format!("a reference with '{name}'; supported: arith and math ops of one result");
        return Err(Diagnostic::unsupported(location, message));
    }
    let broken = |error: melior::Error| Diagnostic::internal(location, error);
    let ty = element(op.result(0).map_err(broken)?.r#type(), location)?;
    if name == "arith.constant" {
        let value = op.attribute("value").map_err(broken)?;
        return Ok(Step::Constant {
            value: number(value, ty, location)?,
            element: ty,
        });
    }
    let predicates: &[&str] = match name {
        "arith.cmpf" => &FLOAT_PREDICATES,
        "arith.cmpi" => &INTEGER_PREDICATES,
        _ => &[],
    };
    let predicate = if predicates.is_empty() {
        None
    } else {
        let predicate = op
            .attribute("predicate")
            .and_then(IntegerAttribute::try_from)
            .map_err(broken)?;
        let predicate = predicates.get(predicate.value() as usize);
        let predicate = predicate.ok_or_else(|| Diagnostic::internal(location, "expected a predicate"))?;
        Some((*predicate).to_owned())
    };
    Ok(Step::Op(Operation {
        name: name.to_owned(),
        operands,
        predicate,
        saturate: false,
        element: ty,
    }))
}
