//! `norm.softmax`: `y = exp(s - max(s)) / sum(exp(s - max(s)))` of logits s.

use melior::ir::OperationRef;
use norma_dialects::norm::SoftmaxOp;

use super::{program::Program, viewed};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, SoftmaxOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.rows(&of.axes()?, of.lengths())?;
    let logits = p.logits(&of.try_into()?, &split)?;
    let exponentials = p.exponentials(logits, &split)?;
    let y = p.op("arith.divf", &[exponentials.exponential, exponentials.sum]);
    p.write_existing(y, of.y()?, &split)?;
    p.end();
    Ok(())
}
