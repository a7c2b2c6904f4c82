//! `norm.batch_stats`: `mean = sum(x) / N`, `var = sum((x - mean)^2) / max(N - correction, 0)`.

use melior::ir::OperationRef;
use norma_dialects::norm::BatchStatsOp;

use super::program::Program;
use crate::mlir::pass::{PassError, PassResult};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let stats = BatchStatsOp::from_op(op)
        .ok_or_else(|| PassError::Internal("expected norm.batch_stats".to_owned()))?;
    let p = Program::begin(op)?;
    let split = p.split(&stats.axes()?);
    let x = p.read(stats.x()?, p.dims())?;
    let (mean, centred) = p.centred(x, &split)?;
    let squares = p.sum(p.square(centred), &split)?;
    let correction = stats.correction()?;
    let divisor = match split.count {
        Some(count) => p.constant(count.saturating_sub(correction).max(0) as f64),
        None => {
            let left = p.op("arith.subf", &[p.count(&split)?, p.constant(correction as f64)]);
            p.op("arith.maximumf", &[left, p.constant(0.0)])
        }
    };
    p.write(mean, stats.mean()?, &split.kept)?;
    p.write(p.op("arith.divf", &[squares, divisor]), stats.var()?, &split.kept)?;
    p.end();
    Ok(())
}
