//! `norm.group_norm_grad`: with `h = (x - mean) * rstd` and `g = dy * weight`, `dx = (g - mean(g) - h * mean(g * h)) * rstd`, with means
//! over a group of one element of the batch; the gradients of weight and bias are the sums of `dy * h` and `dy` over all axes but the
//! channels.

use melior::ir::OperationRef;
use norma_dialects::norm::GroupNormGradOp;

use super::{
    program::{Grouped, Normalized, Places, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let grad = viewed(op, GroupNormGradOp::from_op)?;
    let grouped = Grouped::begin(op, grad.channel_axis()?, grad.groups()?)?;
    let (p, split) = (grouped.program, grouped.split);
    let eps = Setting::new(grad.eps()?, grad.runtime_eps());
    let x = p.read_at(grad.x()?, &grouped.element)?;
    let moments = p.moments_given(x, (grad.mean(), grad.rstd()), &split, eps)?;
    let places = Places {
        split: &split,
        element: &grouped.element,
        weight: &[grouped.channel],
        sharing: &grouped.sharing,
    };
    p.write_gradients(&grad.try_into()?, &Normalized::Standardized(moments), &places)?;
    p.end();
    Ok(())
}
