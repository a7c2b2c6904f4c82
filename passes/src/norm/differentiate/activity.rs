//! Activity analysis: the values of a program that a gradient flows through.

use std::collections::HashSet;

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};
use norma_bundle::{ScalarOp, derivative::Derivative};
use norma_dialects::{
    norm::{ReadOp, WriteOp},
    op_name,
};

use crate::mlir::{pass::PassError, types, values::key};

/// Returns the keys of the results of `ops`, which are in order, that depend differentiably on the floats of tensors for which `is_active`
/// holds. Ops that yield truth values, such as comparisons, are not differentiable: their result only selects between other values.
pub(super) fn active<'c: 'a, 'a>(
    ops: &[OperationRef<'c, 'a>],
    is_active: impl Fn(Value<'c, 'a>) -> bool,
) -> Result<HashSet<usize>, PassError<'c>> {
    let mut active = HashSet::new();
    for op in ops {
        let is_of_truth =
            ScalarOp::from_name(op_name(*op)).is_some_and(|op| op.row().derivative == Derivative::OfTruth);
        let changes = match ReadOp::from_op(*op) {
            Some(read) => is_of_floats(read.buffer()?) && is_active(read.buffer()?),
            None => !is_of_truth && op.operands().any(|operand| active.contains(&key(operand))),
        };
        if changes {
            active.extend(op.results().map(|result| key(result.into())));
        }
    }
    Ok(active)
}

/// Returns the buffers of floats to which `ops` write `active` values.
pub(super) fn written<'c: 'a, 'a>(
    ops: &[OperationRef<'c, 'a>],
    active: &HashSet<usize>,
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let mut written = Vec::new();
    for write in ops.iter().filter_map(|op| WriteOp::from_op(*op)) {
        let buffer = write.buffer()?;
        if is_of_floats(buffer) && active.contains(&key(write.value()?)) {
            written.push(buffer);
        }
    }
    Ok(written)
}

/// Whether a tensor holds floats.
pub(super) fn is_of_floats(tensor: Value<'_, '_>) -> bool {
    types::is_float(types::element(tensor.r#type()))
}
