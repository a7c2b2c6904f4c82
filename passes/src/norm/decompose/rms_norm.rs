//! `norm.rms_norm`: `y = x * rstd * (weight + weight_offset) + bias`, `rstd = 1 / sqrt(sum(x^2) / N + eps)`.

use melior::ir::{OperationRef, Value, ValueLike};
use norma_dialects::norm::RMSNormOp;

use super::program::Program;
use crate::mlir::{
    pass::{PassError, PassResult},
    types,
};

/// The sum of squares is multiplied by the f32 nearest to 1 / N, not divided by N: half an ulp more at most, and no
/// division in each row.
pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let norm =
        RMSNormOp::from_op(op).ok_or_else(|| PassError::Internal("expected norm.rms_norm".to_owned()))?;
    let (weight, bias) = (norm.weight(), norm.bias());
    let inputs = [Some(norm.x()?), weight, bias]
        .into_iter()
        .flatten()
        .collect::<Vec<Value<'c, 'a>>>();
    let bias_input = 1 + usize::from(weight.is_some());
    let shape = types::shape(norm.x()?.r#type()).unwrap_or_default();
    let rank = shape.len();
    let kept_rank = rank - usize::try_from(norm.axes()?).unwrap_or_default().min(rank);
    let count = shape[kept_rank..].iter().flatten().product::<i64>();

    let p = Program::begin(op, &inputs)?;
    let (kept, normalized) = p.dims().split_at(kept_rank);
    let x = p.read(0, p.dims())?;
    let sum = p.sum(p.op("arith.mulf", &[x, x]), normalized)?;
    let mean = p.op("arith.mulf", &[sum, p.constant(1.0 / count as f64)]);
    let rstd = p.op(
        "math.rsqrt",
        &[p.op("arith.addf", &[mean, p.constant(norm.eps()?)])],
    );
    if norm.rstd().is_some() {
        p.write(rstd, 1, kept)?;
    }
    let mut y = p.op("arith.mulf", &[x, rstd]);
    if weight.is_some() {
        let mut weight = p.read(1, normalized)?;
        let offset = norm.weight_offset()?;
        if offset != 0.0 {
            weight = p.op("arith.addf", &[weight, p.constant(offset)]);
        }
        y = p.op("arith.mulf", &[y, weight]);
    }
    if bias.is_some() {
        y = p.op("arith.addf", &[y, p.read(bias_input, normalized)?]);
    }
    p.write(y, 0, p.dims())?;
    p.end(op);
    Ok(())
}
