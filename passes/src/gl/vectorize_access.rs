//! `gl-vectorize-access`: chooses how many elements one instruction of `gl.load`, `gl.store` and `gl.async_copy` moves.
//!
//! The number is the largest that [`super::access`] finds. The pass assumes of a buffer what the launcher checks: its base
//! address and the strides of a dynamic strided layout are multiples of its entry in `alignments` of `gl.launch`, and dynamic
//! sizes are multiples of their entries in `multiples`.

use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use norma_dialects::{attributes::kernel, gl::AsyncCopyOp, integer_of, layout};
use norma_targets::CP_ASYNC_BYTES;

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{GlVectorizeAccess, GlVectorizeAccessStatistic},
};

use super::access::Access;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlVectorizeAccess>) -> PassResult<'c> {
    for op in walk::pre_order(op) {
        if let Some(copy) = AsyncCopyOp::from_op(op) {
            vectorize_copy(copy, cx)?;
            continue;
        }
        let Some((tile, access)) = Access::of(op)? else {
            continue;
        };
        let layout =
            layout::of_tile(tile.r#type()).map_err(|error| Diagnostic::user(op.location(), error))?;
        let (vector, why_not_more) = access.vector(&layout);
        let b = Builder::before(op);
        if let Some((vector, alignment)) = access.covered_vector(&layout, vector) {
            b.set_attribute(op, "vector", b.i64_attribute(vector));
            b.set_attribute(op, "alignment", b.i64_attribute(alignment));
            cx.count(GlVectorizeAccessStatistic::NumVectorized, 1);
            continue;
        }
        if let Some(reason) = why_not_more {
            cx.remark(op.location(), format!("vector of {vector}: {reason}"));
        }
        b.set_attribute(op, "vector", b.i64_attribute(vector));
        if let Some(alignment) = access.whole_words(&layout, vector) {
            b.set_attribute(op, "alignment", b.i64_attribute(alignment));
        }
        if vector > 1 {
            cx.count(GlVectorizeAccessStatistic::NumVectorized, 1);
        }
    }
    Ok(())
}

/// Gives a copy the longest vectors that `cp.async` may move, in the layout by which the CTA's threads share the tile; single
/// elements if it may move none.
fn vectorize_copy<'c>(
    copy: AsyncCopyOp<'c, '_>,
    cx: &PassContext<'c, GlVectorizeAccess>,
) -> Result<(), PassError<'c>> {
    let op = copy.op();
    if copy.vector().is_some() {
        return Ok(());
    }
    let user = |error| Diagnostic::user(op.location(), error);
    let warps = walk::enclosing(op, "gpu.func").and_then(|kernel| integer_of(kernel, kernel::NUM_WARPS));
    let warps =
        warps.ok_or_else(|| Diagnostic::user(op.location(), "expected a kernel with gl.num_warps"))?;
    let memory = layout::of_memory(copy.memory()?.r#type()).map_err(user)?;
    let access = Access::of_copy(copy)?;
    let bytes = access.element_bytes().unwrap_or(1);
    let mut chosen = 1;
    if let Some(offsets) = memory.offset_map() {
        let vectors = CP_ASYNC_BYTES.into_iter().map(|copied| copied / bytes);
        for vector in vectors.filter(|vector| *vector > 0) {
            let layout = offsets
                .cooperative_copy(vector, warps)
                .map_err(|error| user(error.into()))?;
            if access.vector(&layout).0 >= vector {
                chosen = vector;
                break;
            }
        }
    }
    let b = Builder::before(op);
    b.set_attribute(op, "vector", b.i64_attribute(chosen));
    let [.., fewest] = CP_ASYNC_BYTES;
    if chosen * bytes < fewest {
        cx.remark(
            op.location(),
            format!(
                "copied by way of registers: no {fewest} bytes are known to be neighbours at a multiple of {fewest} bytes"
            ),
        );
    }
    if chosen > 1 {
        cx.count(GlVectorizeAccessStatistic::NumVectorized, 1);
    }
    Ok(())
}
