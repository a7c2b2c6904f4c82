//! `gl-vectorize-access`: how many elements one instruction of `gl.load` and `gl.store` moves.
//!
//! As many as [`super::access`] finds. What is assumed of a buffer is what the launcher checks: its base address and the strides
//! of a dynamic strided layout are multiples of its entry in `alignments` of `gl.launch`, and dynamic sizes of what `multiples`
//! says there.

use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use norma_dialects::layout;

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassResult},
        walk,
    },
    table::{GlVectorizeAccess, GlVectorizeAccessStatistic},
};

use super::access::Access;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlVectorizeAccess>) -> PassResult<'c> {
    for op in walk::pre_order(op) {
        let Some(access) = Access::of(op)? else {
            continue;
        };
        let layout =
            layout::of_tile(access.tile.r#type()).map_err(|error| Diagnostic::user(op.location(), error))?;
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
