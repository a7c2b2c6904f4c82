//! `norm.group_norm`: `y = (x - mean) * rstd * weight + bias`, with statistics of the channels of a group and of all axes but
//! the batch's.
//!
//! The axis of channels is two dims, of groups and of the channels of a group, so that a group is what reductions leave.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::norm::GroupNormOp;

use super::program::{Affine, Coordinate, Extent, Program};
use crate::mlir::{
    pass::{PassError, PassResult},
    types,
};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let norm =
        GroupNormOp::from_op(op).ok_or_else(|| PassError::Internal("expected norm.group_norm".to_owned()))?;
    let shape = types::shape(norm.x()?.r#type()).unwrap_or_default();
    let axis = norm.channel_axis()?.rem_euclid(shape.len() as i64) as usize;
    let channels = shape.get(axis).copied().flatten().unwrap_or_default();
    let groups = norm.groups()?;
    let of_group = channels / groups.max(1);

    let mut extents = Program::axes(op)?;
    extents.splice(axis..=axis, [Extent::Static(groups), Extent::Static(of_group)]);
    let p = Program::begin_over(op, extents)?;
    let channel = Coordinate::Joined {
        outer: p.dims()[axis],
        size: of_group,
        inner: p.dims()[axis + 1],
    };
    let mut element = p
        .dims()
        .iter()
        .map(|dim| Coordinate::Dim(*dim))
        .collect::<Vec<_>>();
    element.splice(axis..=axis + 1, [channel]);
    let split = p.split_by(|dim| dim != 0 && dim != axis);
    let affine = Affine {
        weight: norm.weight(),
        offset: 0.0,
        bias: norm.bias(),
    };

    let x = p.read_at(norm.x()?, &element)?;
    let (mean, centred) = p.centred(x, &split)?;
    let variance = p.mean(p.square(centred), &split)?;
    let rstd = p.rsqrt_plus(variance, norm.eps()?);
    p.write_if_asked(mean, norm.mean(), &split.kept)?;
    p.write_if_asked(rstd, norm.rstd(), &split.kept)?;
    let normalized = p.op("arith.mulf", &[centred, rstd]);
    let y = p.affine(normalized, affine, &[channel])?;
    p.write_at(y, norm.y()?, &element)?;
    p.end();
    Ok(())
}
