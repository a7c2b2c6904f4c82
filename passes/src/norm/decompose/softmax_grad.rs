//! `norm.softmax_grad`: `dx = y * (dy - sum(y * dy)) * scale`.

use melior::ir::OperationRef;
use norma_dialects::norm::SoftmaxGradOp;

use super::{
    program::{Program, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let grad = viewed(op, SoftmaxGradOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.rows(&grad.axes()?, grad.lengths())?;
    let y = p.read(grad.y()?, p.dims())?;
    let dy = p.read(grad.dy()?, p.dims())?;
    let product = p.sum(p.op("arith.mulf", &[y, dy]), &split)?;
    let ds = p.op("arith.mulf", &[y, p.op("arith.subf", &[dy, product])]);
    let scale = Setting::new(grad.scale()?, grad.runtime_scale());
    p.write_existing(p.scaled(ds, scale)?, grad.dx()?, &split)?;
    p.end();
    Ok(())
}
