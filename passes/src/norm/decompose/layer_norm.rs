//! `norm.layer_norm`: `y = (x - mean) * rstd * (weight + weight_offset) + bias`, with `mean = sum(x) / N` and
//! `rstd = 1 / sqrt(sum((x - mean)^2) / N + eps)`.

use melior::ir::OperationRef;
use norma_dialects::norm::LayerNormOp;

use super::{
    program::{Affine, Program, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let norm = viewed(op, LayerNormOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.rows(&norm.axes()?, norm.lengths())?;
    let affine = Affine {
        weight: norm.weight(),
        offset: norm.weight_offset()?,
        bias: norm.bias(),
    };
    let eps = Setting::new(norm.eps()?, norm.runtime_eps());
    let x = p.read(norm.x()?, p.dims())?;
    let of_x = p.moments(x, &split, eps)?;
    p.write_if_asked(of_x.mean, norm.mean(), &split.kept)?;
    p.write_if_asked(of_x.rstd, norm.rstd(), &split.kept)?;
    let normalized = p.op("arith.mulf", &[of_x.centred, of_x.rstd]);
    let y = p.affine_of_rows(normalized, affine, &split)?;
    p.write_existing(y, norm.y()?, &split)?;
    p.end();
    Ok(())
}
