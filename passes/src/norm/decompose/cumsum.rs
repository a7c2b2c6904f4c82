//! `norm.cumsum`: at each element the sum of the elements along the axis up to it; if exclusive, without the element itself; if reverse,
//! from it to the end.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::norm::CumsumOp;

use super::{
    program::{Coordinate, Program},
    viewed,
};
use crate::mlir::{pass::PassResult, types};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, CumsumOp::from_op)?;
    let p = Program::begin(op)?;
    let along = p.split(&[of.axis()?]).reduced;
    let x = p.read_stored(of.x()?, &Coordinate::of(p.dims()))?;
    let x = match types::is_float(x.r#type()) {
        true => p.widened(x),
        false => p.sign_extended(x, types::element(of.y()?.r#type())),
    };
    let sums = p.running_sum(x, &along, of.exclusive(), of.reverse())?;
    p.write(sums, of.y()?, p.dims())?;
    p.end();
    Ok(())
}
