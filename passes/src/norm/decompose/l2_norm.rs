//! `norm.l2_norm`: `y = x * inverse`, `inverse = 1 / max(sqrt(sum(x^2)), eps)`.

use melior::ir::OperationRef;
use norma_dialects::norm::L2NormOp;

use super::{
    program::{Program, Setting},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let norm = viewed(op, L2NormOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.split(&norm.axes()?);
    let x = p.read(norm.x()?, p.dims())?;
    let length = p.op("math.sqrt", &[p.sum(p.square(x), &split)?]);
    let divisor = p.op(
        "arith.maximumf",
        &[length, p.number(Setting::new(norm.eps()?, norm.runtime_eps()))?],
    );
    let inverse = p.op("arith.divf", &[p.constant(1.0), divisor]);
    p.write_if_asked(inverse, norm.inverse(), &split.kept)?;
    p.write(p.op("arith.mulf", &[x, inverse]), norm.y()?, p.dims())?;
    p.end();
    Ok(())
}
