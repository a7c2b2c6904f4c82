//! Results of a split dim's reductions that are needed at the dim's points again: the writes that need them become a kernel of their
//! own.
//!
//! A row that is scaled by the result of its reduction can be written only once that result is known, and the CTAs that share the row
//! know it only when all of them have ended. So the writes at the dim's points, and what they depend on, move to a kernel of their
//! own. The original kernel keeps the reductions, and writes their results, one value for each point of the other dims, to scratch.

use std::collections::BTreeSet;

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::WriteOp;

use super::{Made, Split, add_launches, respread, scratch::Scratch};
use crate::{
    kernel::{
        positions::Positions,
        signature::{drop_dead, drop_unused},
        space::Space,
    },
    mlir::{builder::Builder, pass::PassResult, types},
    norm::kernel_copy::copy_kernel,
};

/// Takes the writes that vary over the split dim and depend on reductions over it out of the kernel, if there are any.
pub(super) fn take_out<'c: 'a, 'a>(split: &Split<'c, 'a>, made: &mut Made<'c, 'a>) -> PassResult<'c> {
    let kernel = split.kernel;
    let space = Space::of(kernel)?;
    let reductions = split.reductions(&space).into_iter().collect::<Positions>();
    let waits = |value: Value<'c, 'a>| space.waits_for(value).shared(&reductions).next().is_some();
    let comes_back = |op: OperationRef<'c, 'a>| {
        WriteOp::from_op(op).is_some()
            && op.operands().any(waits)
            && op
                .operands()
                .any(|operand| space.dims_of(operand).contains(&split.dim))
    };
    let writes = (0..space.ops.len())
        .filter(|position| comes_back(space.ops[*position]))
        .collect::<BTreeSet<_>>();
    if writes.is_empty() {
        return Ok(());
    }
    // Values that the writes depend on and that are the same along the whole dim go through scratch, if memory can hold their type.
    let is_stored = |value: Value<'c, 'a>| {
        waits(value)
            && !space.dims_of(value).contains(&split.dim)
            && types::bit_width(value.r#type()).is_some_and(|bits| bits >= 8)
    };
    let mut results = BTreeSet::new();
    let mut seen = Positions::default();
    let mut open = writes.iter().copied().collect::<Vec<_>>();
    while let Some(position) = open.pop() {
        for operand in space.ops[position].operands() {
            let Some(definition) = space.definition(operand) else {
                continue;
            };
            if is_stored(operand) {
                let mut of_op = space.ops[definition].results();
                let result = of_op.position(|result| Value::from(result) == operand);
                results.insert((definition, result.unwrap_or(0)));
            } else if !seen.contains(definition) {
                seen.insert(definition);
                open.push(definition);
            }
        }
    }
    let mut scratch = Vec::new();
    for (position, result) in &results {
        let value = Value::from(space.ops[*position].result(*result)?);
        let dims = space.dims_of(value).into_iter().collect();
        scratch.push(Scratch::of(&space, value, dims));
    }

    let name = made.names.like(&format!("{}_apply", kernel.sym_name()?));
    let beside = Builder::after(kernel.op());
    let copy = copy_kernel(&beside, kernel, &name)?;
    beside.remove_attribute(copy.op(), "schedule");
    let of_copy = Space::of(copy)?;
    for ((position, result), scratch) in results.iter().zip(&scratch) {
        let op = of_copy.ops[*position];
        let value = scratch.read(copy, op)?;
        beside.replace_all_uses(op.result(*result)?.into(), value);
    }
    let is_other =
        |position: &usize| WriteOp::from_op(of_copy.ops[*position]).is_some() && !writes.contains(position);
    for position in (0..of_copy.ops.len()).filter(is_other) {
        beside.erase(of_copy.ops[position]);
    }
    drop_dead(copy)?;
    let left_of_copy = drop_unused(copy)?;

    for ((position, result), scratch) in results.iter().zip(&scratch) {
        scratch.write(kernel, space.ops[*position].result(*result)?.into())?;
    }
    for position in writes.into_iter().rev() {
        beside.erase(space.ops[position]);
    }
    drop_dead(kernel)?;
    let left = respread(kernel, split.mapping.clone())?;
    let kernels = [(kernel.sym_name()?.to_owned(), left), (name, left_of_copy)];
    add_launches(made, kernel, space.buffers.len(), &scratch, &kernels)
}
