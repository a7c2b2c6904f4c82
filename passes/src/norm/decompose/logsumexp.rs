//! `norm.logsumexp`: `y = max(s) + log(sum(exp(s - max(s))))` of logits s.

use melior::ir::OperationRef;
use norma_dialects::norm::LogSumExpOp;

use super::{program::Program, viewed};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, LogSumExpOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.rows(&of.axes()?, of.lengths())?;
    let logits = p.logits(&of.try_into()?, &split)?;
    let exponentials = p.exponentials(logits, &split)?;
    p.write(p.log_sum_exp(&exponentials), of.y()?, &split.kept)?;
    p.end();
    Ok(())
}
