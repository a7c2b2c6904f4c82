//! `norm-decompose`: replaces each named op by the scalar program that defines it, a `norm.compute`.
//!
//! This is the only pass that knows named ops, and `math.fpowi`, which becomes products. Each has a row in [`DECOMPOSITIONS`] and a file of its own in `decompose/`, written with
//! [`program::Program`]. A decomposition states the op's definition and nothing about how it will be computed, so later passes have nothing
//! to undo.

mod batch_stats;
mod cross_entropy;
mod cross_entropy_grad;
mod cumsum;
mod dequantize;
mod group_norm;
mod group_norm_grad;
mod l2_norm;
mod l2_norm_grad;
mod layer_norm;
mod layer_norm_grad;
mod linalg_softmax;
mod log_softmax;
mod log_softmax_grad;
mod logsumexp;
mod program;
mod quantize;
mod reduce_axes;
mod rms_norm;
mod rms_norm_grad;
mod softmax;
mod softmax_grad;
mod top_k;
mod top_k_grad;

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::norm::{
    BatchStatsOp, CacheOp, ComputeOp, CrossEntropyGradOp, CrossEntropyOp, CumsumOp, DequantizeOp, GatherOp,
    GroupNormGradOp, GroupNormOp, KernelOp, L2NormGradOp, L2NormOp, LaunchOp, LayerNormGradOp, LayerNormOp,
    LogSoftmaxGradOp, LogSoftmaxOp, LogSumExpOp, NumSmsOp, QuantizeOp, RMSNormGradOp, RMSNormOp, ReadOp,
    ReduceAxesOp, ReduceOp, ScanOp, ScatterOp, SoftmaxGradOp, SoftmaxOp, TopKGradOp, TopKOp, WriteOp,
    YieldOp,
};

use crate::{
    mlir::{
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    norm::integer_powers,
    table::{NormDecompose, NormDecomposeStatistic},
};

/// Replaces an op by its definition.
type Decomposition = for<'c, 'a> fn(OperationRef<'c, 'a>) -> PassResult<'c>;

/// The named ops: one row each.
const DECOMPOSITIONS: &[(&str, Decomposition)] = &[
    (BatchStatsOp::NAME, batch_stats::decompose),
    (CrossEntropyOp::NAME, cross_entropy::decompose),
    (CrossEntropyGradOp::NAME, cross_entropy_grad::decompose),
    (CumsumOp::NAME, cumsum::decompose),
    (DequantizeOp::NAME, dequantize::decompose),
    (integer_powers::NAME, integer_powers::decompose),
    (GroupNormOp::NAME, group_norm::decompose),
    (GroupNormGradOp::NAME, group_norm_grad::decompose),
    (L2NormOp::NAME, l2_norm::decompose),
    (L2NormGradOp::NAME, l2_norm_grad::decompose),
    (LayerNormOp::NAME, layer_norm::decompose),
    (LayerNormGradOp::NAME, layer_norm_grad::decompose),
    (linalg_softmax::NAME, linalg_softmax::decompose),
    (LogSoftmaxOp::NAME, log_softmax::decompose),
    (LogSoftmaxGradOp::NAME, log_softmax_grad::decompose),
    (LogSumExpOp::NAME, logsumexp::decompose),
    (QuantizeOp::NAME, quantize::decompose),
    (ReduceAxesOp::NAME, reduce_axes::decompose),
    (RMSNormOp::NAME, rms_norm::decompose),
    (RMSNormGradOp::NAME, rms_norm_grad::decompose),
    (SoftmaxOp::NAME, softmax::decompose),
    (SoftmaxGradOp::NAME, softmax_grad::decompose),
    (TopKOp::NAME, top_k::decompose),
    (TopKGradOp::NAME, top_k_grad::decompose),
];

/// The other ops of the dialect, which are kernel form already.
const KERNEL_FORM: [&str; 12] = [
    CacheOp::NAME,
    ComputeOp::NAME,
    GatherOp::NAME,
    KernelOp::NAME,
    LaunchOp::NAME,
    NumSmsOp::NAME,
    ReadOp::NAME,
    ReduceOp::NAME,
    ScanOp::NAME,
    ScatterOp::NAME,
    WriteOp::NAME,
    YieldOp::NAME,
];

/// Returns the typed view of an op that the table has found by its name.
fn viewed<'c, 'a, View>(
    op: OperationRef<'c, 'a>,
    from_op: impl FnOnce(OperationRef<'c, 'a>) -> Option<View>,
) -> Result<View, PassError<'c>> {
    from_op(op).ok_or_else(|| {
        let message = format!("unexpected {}", norma_dialects::op_name(op));
        Diagnostic::internal(op.location(), message).into()
    })
}

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormDecompose>) -> PassResult<'c> {
    for named in walk::post_order(op) {
        let name = norma_dialects::op_name(named);
        if let Some((_, decompose)) = DECOMPOSITIONS.iter().find(|(known, _)| *known == name) {
            decompose(named)?;
            cx.count(NormDecomposeStatistic::NumDecomposed, 1);
        } else if name.starts_with("norm.") && !KERNEL_FORM.contains(&name) {
            let supported = DECOMPOSITIONS.iter().map(|(known, _)| *known).collect::<Vec<_>>();
            let supported = supported.join(", ");
            let message = format!("{name} has no definition in kernel form; supported: {supported}");
            return Err(Diagnostic::unsupported(named.location(), message).into());
        }
    }
    Ok(())
}
