//! Sets up mbarriers at the start of a kernel.

use melior::ir::{OperationRef, Value, operation::OperationLike};
use norma_dialects::gl::{FenceMBarrierInitOp, MBarrierAllocOp, MBarrierInitOp, MBarrierType};

use crate::mlir::{builder::Builder, pass::PassError, walk};

/// Allocates and initialises arrays of `count` mbarriers at the start of the kernel, one array for each number of arrivals,
/// with the source location of `loop_op`.
pub(super) fn barriers<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    loop_op: OperationRef<'c, 'a>,
    arrivals: &[i64],
    count: i64,
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let b = Builder::at_start(walk::entry_block(function)?, loop_op.location());
    let ty = MBarrierType::get(b.context(), count).into();
    let arrays = arrivals
        .iter()
        .map(|_| b.value(MBarrierAllocOp::NAME, &[], ty))
        .collect::<Vec<_>>();
    for (array, arrivals) in arrays.iter().zip(arrivals) {
        b.insert(MBarrierInitOp::build(b.location(), *array, *arrivals)?);
    }
    // One fence is enough for all that are initialised before it.
    let ops = walk::in_block(walk::entry_block(function)?);
    if !ops
        .into_iter()
        .any(|op| FenceMBarrierInitOp::from_op(op).is_some())
    {
        b.op(FenceMBarrierInitOp::NAME, &[], &[]);
    }
    Ok(arrays)
}
