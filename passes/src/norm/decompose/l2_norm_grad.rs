//! `norm.l2_norm_grad`: `dx = (dy - y * sum(dy * y)) * inverse` with `y = x * inverse` and `inverse = 1 / max(length, eps)`; where the
//! length is less than `eps`, by which the forward op divided then, `dx = dy * inverse`.

use melior::ir::OperationRef;
use norma_dialects::norm::L2NormGradOp;

use super::{
    program::{Coordinate, Program, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let grad = viewed(op, L2NormGradOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.split(&grad.axes()?);
    let x = p.read(grad.x()?, p.dims())?;
    let dy = p.read(grad.dy()?, p.dims())?;
    let length = p.op("math.sqrt", &[p.sum(p.square(x), &split)?]);
    let product = p.sum(p.op("arith.mulf", &[x, dy]), &split)?;
    let eps = p.number(Setting::new(grad.eps()?, grad.runtime_eps()))?;
    let divisor = p.op("arith.maximumf", &[length, eps]);
    let inverse = p.op("arith.divf", &[p.constant(1.0), divisor]);
    // Multiplied in this order, so that an x much smaller than the others does not underflow.
    let share = p.op("arith.mulf", &[p.op("arith.mulf", &[product, inverse]), inverse]);
    let along = p.op("arith.mulf", &[x, share]);
    let across = p.op("arith.subf", &[dy, along]);
    let numerator = p.select(p.is_at_least(length, eps), across, dy);
    let dx = p.op("arith.mulf", &[numerator, inverse]);
    p.write_with_residual(dx, grad.residual(), grad.dx()?, &Coordinate::of(p.dims()))?;
    p.end();
    Ok(())
}
