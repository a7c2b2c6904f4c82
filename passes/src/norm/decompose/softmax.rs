//! `norm.softmax`: `y = exp(s - max(s)) / sum(exp(s - max(s)))` of logits s.

use melior::ir::OperationRef;
use norma_dialects::norm::SoftmaxOp;

use super::{program::Program, viewed};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, SoftmaxOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.split(&of.axes()?);
    let logits = p.logits(&of.try_into()?)?;
    let exponentials = p.exponentials(logits, &split)?;
    let y = p.op("arith.divf", &[exponentials.exponential, exponentials.sum]);
    p.write(y, of.y()?, p.dims())?;
    p.end();
    Ok(())
}
