//! `norm.rms_norm_grad`: with `h = x * rstd` and `g = dy * (weight + weight_offset)`, `dx = (g - h * mean(g * h)) * rstd`; the gradients
//! of weight and bias are sums of `dy * h` and `dy` over rows.

use melior::ir::OperationRef;
use norma_dialects::norm::RMSNormGradOp;

use super::{
    program::{Normalized, Program, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let grad = viewed(op, RMSNormGradOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.rows(&grad.axes()?, grad.lengths())?;
    let eps = Setting::new(grad.eps()?, grad.runtime_eps());
    let x = p.read(grad.x()?, p.dims())?;
    let rstd = match grad.rstd() {
        Some(rstd) => p.read(rstd, &split.kept)?,
        None => p.rsqrt_plus(p.mean(p.square(x), &split)?, eps)?,
    };
    p.write_gradients_of_rows(&grad.try_into()?, &Normalized::Scaled { x, rstd }, &split)?;
    p.end();
    Ok(())
}
