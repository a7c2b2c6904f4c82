//! `norm.rms_norm`: `y = x * rstd * (weight + weight_offset) + bias`, `rstd = 1 / sqrt(sum(x^2) / N + eps)`.

use melior::ir::OperationRef;
use norma_dialects::norm::RMSNormOp;

use super::{
    program::{Affine, Program, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let norm = viewed(op, RMSNormOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.rows(&norm.axes()?, norm.lengths())?;
    let affine = Affine {
        weight: norm.weight(),
        offset: norm.weight_offset()?,
        bias: norm.bias(),
    };
    let eps = Setting::new(norm.eps()?, norm.runtime_eps());
    let x = p.read(norm.x()?, p.dims())?;
    let mean = p.mean(p.square(x), &split)?;
    let rstd = p.rsqrt_plus(mean, eps)?;
    p.write_if_asked(rstd, norm.rstd(), &split.kept)?;
    let normalized = p.op("arith.mulf", &[x, rstd]);
    let y = p.affine_of_rows(normalized, affine, &split)?;
    p.write_existing(y, norm.y()?, &split)?;
    p.end();
    Ok(())
}
