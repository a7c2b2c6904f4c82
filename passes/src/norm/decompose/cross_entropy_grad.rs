//! `norm.cross_entropy_grad`: `dloss` of a row times the gradient of `norm.cross_entropy` with respect to the row's logits. Probabilities
//! are `exp(s - lse)` with the `lse` that the forward op returned, or exponentials divided by their sum, which is computed again.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::norm::CrossEntropyGradOp;

use super::{
    program::{Classes, Program},
    viewed,
};
use crate::mlir::pass::PassResult;
use crate::mlir::types;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let grad = viewed(op, CrossEntropyGradOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.split(&[grad.axis()?]);
    let classes = Classes::of(&p, grad.try_into()?, &split)?;
    let (probability, lse) = match grad.lse() {
        Some(lse) => {
            let lse = p.read(lse, &split.kept)?;
            let distance = p.op("arith.subf", &[classes.logits, lse]);
            // With an infinite lse, a finite logit has an infinite distance, whose exponential is 0 or infinity and not NaN.
            let undefined = p.constant(f64::NAN);
            let distance = p.select(p.is_infinite(lse), undefined, distance);
            (p.op("math.exp", &[distance]), lse)
        }
        None => {
            let exponentials = p.exponentials(classes.logits, &split)?;
            let probability = p.op("arith.divf", &[exponentials.exponential, exponentials.sum]);
            (probability, p.log_sum_exp(&exponentials))
        }
    };
    let gradient = classes.gradient(&classes.factors()?, probability, lse)?;
    let dloss = grad.dloss()?;
    let is_one_for_all = types::shape(dloss.r#type()).is_some_and(|shape| shape.is_empty());
    let of_rows: &[_] = if is_one_for_all { &[] } else { &split.kept };
    let dloss = p.read(dloss, of_rows)?;
    let scaled = p.op("arith.mulf", &[gradient, dloss]);
    p.write(classes.guarded(scaled)?, grad.dlogits()?, p.dims())?;
    p.end();
    Ok(())
}
