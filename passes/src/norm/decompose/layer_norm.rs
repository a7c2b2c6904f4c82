//! `norm.layer_norm`: `y = (x - mean) * rstd * (weight + weight_offset) + bias`, with `mean = sum(x) / N` and
//! `rstd = 1 / sqrt(sum((x - mean)^2) / N + eps)`.

use melior::ir::OperationRef;
use norma_dialects::norm::LayerNormOp;

use super::program::{Affine, Program};
use crate::mlir::pass::{PassError, PassResult};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let norm =
        LayerNormOp::from_op(op).ok_or_else(|| PassError::Internal("expected norm.layer_norm".to_owned()))?;
    let p = Program::begin(op)?;
    let split = p.split(&norm.axes()?);
    let affine = Affine {
        weight: norm.weight(),
        offset: norm.weight_offset()?,
        bias: norm.bias(),
    };
    let x = p.read(norm.x()?, p.dims())?;
    let (mean, centred) = p.centred(x, &split)?;
    let variance = p.mean(p.square(centred), &split)?;
    let rstd = p.rsqrt_plus(variance, norm.eps()?);
    p.write_if_asked(mean, norm.mean(), &split.kept)?;
    p.write_if_asked(rstd, norm.rstd(), &split.kept)?;
    let normalized = p.op("arith.mulf", &[centred, rstd]);
    let y = p.affine(normalized, affine, &split.row())?;
    p.write(y, norm.y()?, p.dims())?;
    p.end();
    Ok(())
}
