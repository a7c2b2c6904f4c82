//! `norm.cross_entropy`: `loss = (1 - e) w_l (lse - s_l) + e / C sum(w_c (lse - s_c)) + z_loss lse^2` of softcapped logits s, and its
//! gradient in the same program.
//!
//! The distances `lse - s` are computed as `(max - s) + log(sum)`: `max - s` errs by one rounding at most, however large both are.

use melior::ir::{OperationRef, Value};
use norma_dialects::norm::{CrossEntropyOp, LossReduction, ReduceKind};

use super::{
    program::{Classes, Exponentials, Factors, Program, Smooth, Split},
    viewed,
};
use crate::mlir::pass::{PassError, PassResult};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let loss = viewed(op, CrossEntropyOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.split(&[loss.axis()?]);
    let classes = Classes::of(&p, loss.try_into()?, &split)?;
    let exponentials = p.exponentials(classes.logits, &split)?;
    let lse = p.log_sum_exp(&exponentials);
    let factors = classes.factors()?;

    let of_row = loss_of_row(&p, &classes, &factors, &exponentials, &split, lse)?;
    let of_row = classes.guarded(of_row)?;
    let sum = |value| p.reduce(ReduceKind::Add, value, &split.kept);
    match loss.reduction()? {
        LossReduction::None => p.write(of_row, loss.loss()?, &split.kept)?,
        LossReduction::Sum => p.write(sum(of_row)?, loss.loss()?, &[])?,
        LossReduction::Mean => {
            let weights = sum(classes.weight_of_row(&factors)?)?;
            let mean = p.op("arith.divf", &[sum(of_row)?, weights]);
            p.write(mean, loss.loss()?, &[])?;
        }
    }
    p.write_if_asked(lse, loss.lse(), &split.kept)?;
    if let Some(row_weight) = loss.row_weight() {
        let weight = classes.guarded(classes.weight_of_row(&factors)?)?;
        p.write(weight, row_weight, &split.kept)?;
    }
    if let Some(dlogits) = loss.dlogits() {
        let probability = p.op("arith.divf", &[exponentials.exponential, exponentials.sum]);
        let gradient = classes.gradient(&factors, probability, lse)?;
        p.write(classes.guarded(gradient)?, dlogits, p.dims())?;
    }
    p.end();
    Ok(())
}

/// The loss of a row, assuming that its label is a class.
fn loss_of_row<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    classes: &Classes<'_, 'c, 'a>,
    factors: &Factors<'c, 'a>,
    exponentials: &Exponentials<'c, 'a>,
    split: &Split<'c, 'a>,
    lse: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let max = exponentials.max;
    let log = p.op("math.log", &[exponentials.sum]);
    let mut terms = Vec::new();
    if let Some(factor) = factors.of_label {
        let logit = classes.of_label(factors.is_label, classes.logits)?;
        let distance = p.op("arith.subf", &[max, logit]);
        let distance = p.op("arith.addf", &[distance, log]);
        terms.push(classes.unless_smooth(p.op("arith.mulf", &[distance, factor]))?);
    }
    if let Some(Smooth { share, weights }) = factors.smooth {
        let logits = p.sum(classes.weighted_logits(), split)?;
        let distances = p.op("arith.subf", &[p.op("arith.mulf", &[max, weights]), logits]);
        let distances = p.op("arith.addf", &[distances, p.op("arith.mulf", &[log, weights])]);
        terms.push(classes.unless_sharp(p.op("arith.mulf", &[distances, share]))?);
    }
    terms.extend(classes.z_loss(lse)?);
    let sum = terms
        .into_iter()
        .reduce(|sum, term| p.op("arith.addf", &[sum, term]));
    Ok(sum.unwrap_or_else(|| p.constant(0.0)))
}
