//! `norm.log_softmax_grad`: `dx = (dy - exp(y) * sum(dy)) * scale`.

use melior::ir::OperationRef;
use norma_dialects::norm::LogSoftmaxGradOp;

use super::{
    program::{Program, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let grad = viewed(op, LogSoftmaxGradOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.rows(&grad.axes()?, grad.lengths())?;
    let y = p.read(grad.y()?, p.dims())?;
    let dy = p.read(grad.dy()?, p.dims())?;
    let sum = p.sum(dy, &split)?;
    let share = p.op("arith.mulf", &[p.op("math.exp", &[y]), sum]);
    let ds = p.op("arith.subf", &[dy, share]);
    let scale = Setting::new(grad.scale()?, grad.runtime_scale());
    p.write_existing(p.scaled(ds, scale)?, grad.dx()?, &split)?;
    p.end();
    Ok(())
}
