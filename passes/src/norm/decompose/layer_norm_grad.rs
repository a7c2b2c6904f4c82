//! `norm.layer_norm_grad`: with `h = (x - mean) * rstd` and `g = dy * (weight + weight_offset)`,
//! `dx = (g - mean(g) - h * mean(g * h)) * rstd`; the gradients of weight and bias are sums of `dy * h` and `dy` over rows.

use melior::ir::OperationRef;
use norma_dialects::norm::LayerNormGradOp;

use super::{
    program::{Normalized, Program, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let grad = viewed(op, LayerNormGradOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.rows(&grad.axes()?, grad.lengths())?;
    let eps = Setting::new(grad.eps()?, grad.runtime_eps());
    let x = p.read(grad.x()?, p.dims())?;
    let moments = p.moments_given(x, (grad.mean(), grad.rstd()), &split, eps)?;
    p.write_gradients_of_rows(&grad.try_into()?, &Normalized::Standardized(moments), &split)?;
    p.end();
    Ok(())
}
