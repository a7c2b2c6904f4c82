//! `linalg.softmax`: the definition of `norm.softmax` along its dimension. Its second operand only gives the shape of the result.

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::SoftmaxOp;

use super::softmax;
use crate::mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassResult, types};

/// The op's name; its dialect is one of MLIR's own.
pub(super) const NAME: &str = "linalg.softmax";

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let x = op.operand(0)?;
    let Ok(result) = op.result(0).map(Value::from) else {
        let message = "'linalg.softmax' on buffers; supported: on tensors";
        return Err(Diagnostic::unsupported(op.location(), message).into());
    };
    let element = types::element(x.r#type());
    let is_wide = types::bit_width(element).is_some_and(|bits| bits > 32);
    if !types::is_float(element) || is_wide {
        let message = format!("'linalg.softmax' of {element}; supported: bf16, f16, f32");
        return Err(Diagnostic::unsupported(op.location(), message).into());
    }
    let axis = norma_dialects::integer(op.attribute("dimension")?)?;
    let b = Builder::before(op);
    let softmax = SoftmaxOp::build(
        op.location(),
        x,
        None,
        None,
        None,
        None,
        None,
        Some(&[axis]),
        None,
        None,
        None,
        result.r#type(),
    )?;
    let softmax = b.insert(softmax);
    b.replace(op, &[softmax.result(0)?.into()]);
    softmax::decompose(softmax)
}
