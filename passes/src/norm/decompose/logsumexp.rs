//! `norm.logsumexp`: `y = max(s) + log(sum(exp(s - max(s))))` of logits s.

use melior::ir::OperationRef;
use norma_dialects::norm::LogSumExpOp;

use super::program::{Logits, Program};
use crate::mlir::pass::{PassError, PassResult};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of =
        LogSumExpOp::from_op(op).ok_or_else(|| PassError::Internal("expected norm.logsumexp".to_owned()))?;
    let p = Program::begin(op)?;
    let split = p.split(&of.axes()?);
    let logits = p.logits(&Logits {
        x: of.x()?,
        scale: of.scale()?,
        softcap: of.softcap()?,
        mask: of.mask(),
        keep: of.keep(),
        causal: of.causal()?,
    })?;
    let exponentials = p.exponentials(logits, &split)?;
    p.write(p.log_sum_exp(&exponentials), of.y()?, &split.kept)?;
    p.end();
    Ok(())
}
