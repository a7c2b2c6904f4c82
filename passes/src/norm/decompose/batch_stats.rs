//! `norm.batch_stats`: `mean = sum(x) / N`, `var = sum((x - mean)^2) / max(N - correction, 0)`.

use melior::ir::OperationRef;
use norma_dialects::norm::BatchStatsOp;

use super::{program::Program, viewed};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let stats = viewed(op, BatchStatsOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.split(&stats.axes()?);
    let x = p.read(stats.x()?, p.dims())?;
    let (mean, centred) = p.centred(x, &split)?;
    let variance = p.variance(centred, &split, stats.correction()?)?;
    p.write(mean, stats.mean()?, &split.kept)?;
    p.write(variance, stats.var()?, &split.kept)?;
    p.end();
    Ok(())
}
