//! The partial results of reductions over a dim, and the two kernels between which they are in scratch: one that leaves them, and one
//! that combines them.

use std::collections::{BTreeSet, HashSet};

use melior::ir::{Value, operation::OperationLike};
use norma_dialects::norm::{KernelOp, ReduceOp};

use super::{Made, divide_writes, scratch::Scratch};
use crate::{
    kernel::{
        reductions,
        signature::{Kept, drop_dead, drop_unused},
        space::{Access, DimSet, Space, is_write},
    },
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        values::key,
    },
    norm::{
        kernel_copy::copy_kernel,
        merge_reductions::{Combination, Partition, merge_groups},
    },
};

/// The order of the axes of scratch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::norm) enum Order {
    /// The dims of the parts, and then those that the result varies over.
    PartsFirst,
    /// That of the space.
    AsInSpace,
}

/// A reduction over the parts, and the scratch for the partial results of each part.
pub(in crate::norm) struct Partial<'c> {
    /// Its position in the body.
    reduction: usize,
    /// One for each value.
    pub(in crate::norm) scratch: Vec<Scratch<'c>>,
}

impl<'c> Partial<'c> {
    fn reduce<'a>(&self, space: &Space<'c, 'a>) -> Result<ReduceOp<'c, 'a>, PassError<'c>>
    where
        'c: 'a,
    {
        let op = space.ops[self.reduction];
        let reduce = ReduceOp::from_op(op);
        Ok(reduce.ok_or_else(|| Diagnostic::internal(op.location(), "expected a reduction"))?)
    }
}

/// The reductions over the dims of the parts.
pub(in crate::norm) fn of<'c: 'a, 'a>(
    space: &Space<'c, 'a>,
    parts: &DimSet,
    order: Order,
) -> Result<Vec<Partial<'c>>, PassError<'c>> {
    let over_parts = parts.iter().flat_map(|part| space.reductions_over(*part));
    let mut partials = Vec::new();
    for reduction in over_parts.collect::<BTreeSet<_>>() {
        let mut scratch = Vec::new();
        for result in space.ops[reduction].results() {
            let result = Value::from(result);
            let mut dims = parts
                .iter()
                .copied()
                .chain(space.dims_of(result))
                .collect::<Vec<_>>();
            if order == Order::AsInSpace {
                dims.sort_unstable();
            }
            scratch.push(Scratch::of(space, result, dims));
        }
        partials.push(Partial { reduction, scratch });
    }
    Ok(partials)
}

/// Merges the reductions over `parts` that depend on one another, and reduces each part with a reference of its own.
pub(in crate::norm) fn merge<'c>(kernel: KernelOp<'c, '_>, parts: &DimSet) -> PassResult<'c> {
    merge_groups(
        || Space::of(kernel),
        |space, lead| {
            let is_part = |dim: &Value<'c, '_>| is_among(space, parts, *dim);
            let (parts, within) = lead.dims().into_iter().partition::<Vec<_>, _>(is_part);
            (!parts.is_empty()).then_some(Partition {
                within,
                combinations: vec![Combination::AsTuples(parts)],
            })
        },
    )?;
    drop_dead(kernel)?;
    Ok(())
}

/// Turns the kernel into the one that writes partial results: what depends on the results of the reductions is erased.
pub(in crate::norm) fn leave<'c>(
    kernel: KernelOp<'c, '_>,
    partials: &[Partial<'c>],
    parts: &DimSet,
) -> PassResult<'c> {
    let space = Space::of(kernel)?;
    for position in behind(&space, partials, parts)?.iter().rev() {
        Builder::before(space.ops[*position]).erase(space.ops[*position]);
    }
    for partial in partials {
        let reduce = partial.reduce(&space)?;
        let mut dims = reduce.dims();
        dims.retain(|dim| !is_among(&space, parts, *dim));
        // Where the reduction is over the parts alone, its operands are the partial results.
        let values = match dims.is_empty() {
            true => reduce.values(),
            false => {
                let b = Builder::before(reduce.op());
                reductions::set_operands(&b, reduce.op(), &reduce.values(), &dims, None);
                reduce.results()
            }
        };
        for (scratch, value) in partial.scratch.iter().zip(values) {
            scratch.write(kernel, value)?;
        }
    }
    drop_dead(kernel)?;
    Ok(())
}

/// Adds the kernel that combines the partial results and computes what depends on them; its arguments are those of the kernel and then
/// the scratch. Returns its name and which of its arguments are left.
pub(in crate::norm) fn finish<'c: 'a, 'a>(
    kernel: KernelOp<'c, 'a>,
    partials: &[Partial<'c>],
    parts: &DimSet,
    made: &mut Made<'c, 'a>,
) -> Result<(String, Kept), PassError<'c>> {
    let space = Space::of(kernel)?;
    // By position, so that it holds for the copy as well.
    let needed = behind(&space, partials, parts)?;
    divide_writes(&space, |position| needed.contains(&position))?;
    let name = made.names.like(&format!("{}_finish", kernel.sym_name()?));
    let beside = Builder::after(kernel.op());
    let copy = copy_kernel(&beside, kernel, &name)?;
    beside.remove_attribute(copy.op(), "schedule");
    let space = Space::of(copy)?;
    let is_others = |position: &usize| is_write(space.ops[*position]) && !needed.contains(position);
    for position in (0..space.ops.len()).filter(is_others) {
        beside.erase(space.ops[position]);
    }
    for partial in partials {
        let reduce = partial.reduce(&space)?;
        let reads = partial
            .scratch
            .iter()
            .map(|scratch| scratch.read(copy, reduce.op()));
        let reads = reads.collect::<Result<Vec<_>, _>>()?;
        let b = Builder::before(reduce.op());
        let mut dims = reduce.dims();
        dims.retain(|dim| is_among(&space, parts, *dim));
        reductions::set_operands(&b, reduce.op(), &reads, &dims, None);
    }
    drop_dead(copy)?;
    let kept = drop_unused(copy)?;
    Ok((name, kept))
}

/// Whether a value is one of some dims of the space.
fn is_among<'c>(space: &Space<'c, '_>, dims: &DimSet, value: Value<'c, '_>) -> bool {
    dims.iter().any(|dim| space.dims[*dim] == value)
}

/// Positions of the ops that only the kernel which combines the parts has: those that depend on a result of the reductions, without the
/// reductions themselves, and the writes over memory that is read which do not vary over all parts. Another part, or the combining kernel,
/// may still read what such a write overwrites.
fn behind<'c>(
    space: &Space<'c, '_>,
    partials: &[Partial<'_>],
    parts: &DimSet,
) -> Result<BTreeSet<usize>, PassError<'c>> {
    let reductions = partials
        .iter()
        .map(|partial| partial.reduction)
        .collect::<Vec<_>>();
    let mut made = HashSet::new();
    let mut behind = BTreeSet::new();
    for (position, op) in space.ops.iter().enumerate() {
        let is_reduction = reductions.contains(&position);
        let depends = op.operands().any(|operand| made.contains(&key(operand)));
        if is_reduction || depends {
            made.extend(op.results().map(|result| key(result.into())));
        }
        if depends && !is_reduction {
            behind.insert(position);
        }
    }
    let aliases = space.aliases();
    for (position, op) in space.ops.iter().enumerate() {
        let is_over_input = |access: &Access<'_, '_>| {
            let mut aliases = aliases.iter();
            access.is_write && aliases.any(|(output, _)| *output == access.buffer)
        };
        let access = space.access(*op)?.filter(is_over_input);
        if access.is_some_and(|access| !parts.is_subset(&access.dims())) {
            behind.insert(position);
        }
    }
    Ok(behind)
}
