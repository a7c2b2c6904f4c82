//! `norm.log_softmax`: `y = (s - max(s)) - log(sum(exp(s - max(s))))` of logits s.

use melior::ir::OperationRef;
use norma_dialects::norm::LogSoftmaxOp;

use super::{program::Program, viewed};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, LogSoftmaxOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.rows(&of.axes()?, of.lengths())?;
    let logits = p.logits(&of.try_into()?, &split)?;
    let exponentials = p.exponentials(logits, &split)?;
    let log = p.op("math.log", &[exponentials.sum]);
    let y = p.op("arith.subf", &[exponentials.distance, log]);
    p.write_existing(y, of.y()?, &split)?;
    p.end();
    Ok(())
}
