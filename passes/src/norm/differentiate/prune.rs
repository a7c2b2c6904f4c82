//! Removes what a gradient does not need of the program that it was copied from: ops whose results are unused, and unused inputs.

use melior::ir::{BlockLike, Value, attribute::DenseI64ArrayAttribute, operation::OperationLike};
use norma_dialects::norm::ComputeOp;

use crate::{
    kernel::compute,
    mlir::{builder::Builder, pass::PassResult, values::uses, walk},
};

/// Removes the ops and inputs that no result of a compute depends on.
pub(super) fn prune<'c: 'a, 'a>(compute: ComputeOp<'c, 'a>) -> PassResult<'c> {
    let block = compute::block(compute)?;
    let b = Builder::before(compute.op());
    for op in walk::in_block(block).into_iter().rev() {
        let is_unused = op.results().all(|result| uses(result.into()) == 0);
        if op.result_count() > 0 && is_unused {
            b.erase(op);
        }
    }
    let arguments = compute::arguments(compute)?;
    let (tensors, scalars) = compute::inputs(compute);
    let sizes = compute.sizes()?;
    let is_measured = |tensor: usize| sizes.chunks_exact(2).any(|pair| pair[0] as usize == tensor);
    let is_used = |value: &Value<'c, 'a>| uses(*value) > 0;
    let kept = (0..tensors.len())
        .filter(|tensor| is_used(&arguments.tensors[*tensor]) || is_measured(*tensor))
        .collect::<Vec<_>>();
    let kept_scalars = (0..scalars.len())
        .filter(|scalar| is_used(&arguments.scalars[*scalar]))
        .collect::<Vec<_>>();
    let renumbered = sizes.chunks_exact(2).flat_map(|pair| {
        let buffer = pair[0] as usize;
        let position = kept.iter().position(|tensor| *tensor == buffer);
        // Results are numbered after the tensors.
        let position = position.unwrap_or_else(|| buffer - tensors.len() + kept.len());
        [position as i64, pair[1]]
    });
    let renumbered = renumbered.collect::<Vec<_>>();
    let sizes = DenseI64ArrayAttribute::new(b.context(), &renumbered);
    b.set_attribute(compute.op(), "sizes", sizes.into());
    let first_scalar = tensors.len() + arguments.results.len();
    let inputs = kept.iter().map(|tensor| tensors[*tensor]);
    let inputs = inputs.chain(kept_scalars.iter().map(|scalar| scalars[*scalar]));
    b.set_operands(compute.op(), &inputs.collect::<Vec<_>>());
    let left_out_scalars = (0..scalars.len()).filter(|scalar| !kept_scalars.contains(scalar));
    let left_out = (0..tensors.len()).filter(|tensor| !kept.contains(tensor));
    let left_out = left_out.chain(left_out_scalars.map(|scalar| first_scalar + scalar));
    for argument in left_out.collect::<Vec<_>>().into_iter().rev() {
        // SAFETY: nothing uses the argument.
        unsafe { block.erase_argument(argument) }
    }
    Ok(())
}
