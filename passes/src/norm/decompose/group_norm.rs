//! `norm.group_norm`: `y = (x - mean) * rstd * weight + bias`, with statistics over the channels of a group and all axes but the batch.

use melior::ir::OperationRef;
use norma_dialects::norm::GroupNormOp;

use super::{
    program::{Affine, Grouped, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let norm = viewed(op, GroupNormOp::from_op)?;
    let grouped = Grouped::begin(op, norm.channel_axis()?, norm.groups()?)?;
    let (p, split) = (grouped.program, grouped.split);
    let affine = Affine {
        weight: norm.weight(),
        offset: 0.0,
        bias: norm.bias(),
    };
    let eps = Setting::new(norm.eps()?, norm.runtime_eps());
    let x = p.read_at(norm.x()?, &grouped.element)?;
    let of_x = p.moments(x, &split, eps)?;
    p.write_if_asked(of_x.mean, norm.mean(), &split.kept)?;
    p.write_if_asked(of_x.rstd, norm.rstd(), &split.kept)?;
    let normalized = p.op("arith.mulf", &[of_x.centred, of_x.rstd]);
    let y = p.affine(normalized, affine, &[grouped.channel])?;
    p.write_at(y, norm.y()?, &grouped.element)?;
    p.end();
    Ok(())
}
