//! `norm-split-outputs`: outputs that leave out a dim that may be empty get a kernel of their own.
//!
//! A write happens at the points of the dims that it uses, whatever the other dims are. A grid over all kept dims would not write such
//! an output at all where one of the other dims is empty, and would write it many times where it has several points. In a kernel of
//! its own the output is always written once. The value of such a write depends on nothing that varies over the dims that it leaves
//! out, because no reduction is over them. So the new kernel is a program without these dims, only values that are uniform over them
//! are computed twice, and its schedule loses these dims too.

use std::collections::BTreeSet;

use melior::ir::{
    AffineExpr, AffineMap, Attribute, BlockLike, OperationRef,
    attribute::{ArrayAttribute, FlatSymbolRefAttribute},
    operation::OperationLike,
};
use norma_dialects::{
    affine_map_attribute, attributes,
    norm::{KernelOp, LaunchOp, ScheduleAttr},
};

use super::{kernel_copy::copy_kernel, kernel_names::KernelNames, launches::Launches};
use crate::{
    kernel::{
        guards,
        rows::rows,
        signature::drop_dead,
        space::{DimSet, Space, is_write},
    },
    mlir::{
        affine::{Leaf, substitute},
        builder::Builder,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    schedule::mapping::Mapping,
    table::{NormSplitOutputs, NormSplitOutputsStatistic},
};

pub(crate) fn run<'c>(
    module: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormSplitOutputs>,
) -> PassResult<'c> {
    let mut names = KernelNames::new(module);
    let mut launches = Launches::of(module)?;
    for kernel in walk::all(module, KernelOp::from_op)
        .into_iter()
        .filter(|kernel| kernel.roles().is_none())
    {
        // A dim that only dead reductions are over does not count as reduced.
        drop_dead(kernel)?;
        let left_out = dims_left_out(&Space::of(kernel)?, cx.options().batch_invariant)?;
        let mut kinds = left_out.iter().collect::<BTreeSet<_>>().into_iter();
        let Some(stays) = kinds.next() else {
            continue;
        };
        let launches = launches.take(kernel);
        for dims in kinds {
            let name = names.of(kernel.op());
            let copy = copy_kernel(&Builder::after(kernel.op()), kernel, &name)?;
            keep_writes(copy, &left_out, dims)?;
            add_launches(&launches, &name)?;
            cx.count(NormSplitOutputsStatistic::NumSplit, 1);
        }
        keep_writes(kernel, &left_out, stays)?;
    }
    Ok(())
}

/// For each write, in order: the dims that it leaves out, that may be empty, and that no reduction is over or counts its results by. With
/// `any_rows` the dims of rows may be empty, whatever is known of them.
fn dims_left_out<'c>(space: &Space<'c, '_>, any_rows: bool) -> Result<Vec<DimSet>, PassError<'c>> {
    let rows = if any_rows { rows(space)? } else { Vec::new() };
    let mut reduced = space.reduced_dims();
    reduced.extend(space.dims_of_nth());
    let has_points = |dim: usize| space.extent_bounds(dim).least > 0 && !rows.contains(&dim);
    let grid = (0..space.dims.len())
        .filter(|dim| !reduced.contains(dim) && !has_points(*dim))
        .collect::<DimSet>();
    // In a kernel that is left of one whose reductions were split, a guarded dim is a part of a reduced dim.
    let is_part = space.program.attribute(attributes::kernel::PART).is_ok();
    let of_guards = space.guards.iter().flat_map(guards::dims_of).collect::<DimSet>();
    let grid = match is_part {
        true => &grid - &of_guards,
        false => grid,
    };
    let writes = space.accesses()?.into_iter().filter(|access| access.is_write);
    Ok(writes.map(|write| &grid - &write.dims()).collect())
}

/// Keeps the writes that leave out exactly `dims`: erases the other writes, what only those need, and `dims`.
fn keep_writes<'c>(kernel: KernelOp<'c, '_>, left_out: &[DimSet], dims: &DimSet) -> PassResult<'c> {
    let space = Space::of(kernel)?;
    let b = Builder::before(kernel.op());
    if left_out
        .iter()
        .any(|of_write| of_write != dims || !dims.is_empty())
    {
        // What was chosen is a schedule of the kernel as it was.
        b.remove_attribute(kernel.op(), attributes::kernel::CHOICE);
    }
    let mut of_write = left_out.iter();
    let is_kept = |op: &OperationRef<'c, '_>| !is_write(*op) || of_write.next() == Some(dims);
    let (kept, others) = space.ops.iter().copied().partition::<Vec<_>, _>(is_kept);
    others.into_iter().for_each(|write| b.erase(write));
    b.erase_unused(kept.into_iter());
    if dims.is_empty() {
        return Ok(());
    }
    let remaining = (0..space.dims.len())
        .filter(|dim| !dims.contains(dim))
        .collect::<Vec<_>>();
    let extents = remaining
        .iter()
        .map(|dim| space.extents[*dim])
        .collect::<Vec<_>>();
    let extents = AffineMap::new(b.context(), 0, space.sizes.len(), &extents);
    b.set_attribute(kernel.op(), "extents", affine_map_attribute(extents));
    // A guard over a dim that is left out concerns nothing that is left.
    let all = remaining.iter().copied().collect();
    let left = space.guards.iter().filter(|guard| guards::concerns(guard, &all));
    let renumbered = |side: AffineExpr<'c>| {
        substitute(side, &mut |leaf| match leaf {
            Leaf::Dim(dim) => {
                let position = remaining.iter().position(|kept| *kept == dim);
                AffineExpr::dim(b.context(), position.unwrap_or(0))
            }
            Leaf::Symbol(symbol) => AffineExpr::symbol(b.context(), symbol),
        })
    };
    let left = left.map(|guard| guard.map(renumbered)).collect::<Vec<_>>();
    match guards::map_of(b.context(), &left, remaining.len(), space.sizes.len()) {
        Some(guards) => b.set_attribute(kernel.op(), "guards", affine_map_attribute(guards)),
        None => {
            b.remove_attribute(kernel.op(), "guards");
            b.remove_attribute(kernel.op(), attributes::kernel::PART);
        }
    }
    let of_remaining = |schedule: ScheduleAttr<'c>| {
        let mut mapping = Mapping::of(schedule)?;
        mapping.keep_dims(&remaining);
        let schedule = mapping.attribute(kernel.op().location());
        schedule.map(Attribute::from).ok_or(PassError::Reported)
    };
    if let Some(schedule) = kernel.schedule() {
        b.set_attribute(kernel.op(), "schedule", of_remaining(schedule)?);
    }
    if let Some(alternatives) = kernel.alternatives() {
        let schedules = alternatives.into_iter().filter_map(ScheduleAttr::from_attribute);
        let schedules = schedules.map(of_remaining).collect::<Result<Vec<_>, _>>()?;
        let schedules = ArrayAttribute::new(b.context(), &schedules);
        b.set_attribute(kernel.op(), "alternatives", schedules.into());
    }
    let block = walk::entry_block(kernel.op())?;
    let first_dim = space.buffers.len() + space.scalars.len();
    for dim in dims.iter().rev() {
        // SAFETY: no access that is left uses the dim, no reduction is over it, and so no value varies over it.
        unsafe { block.erase_argument(first_dim + dim) }
    }
    Ok(())
}

/// Launches `name` after each of `launches`, with the same arguments.
fn add_launches<'c: 'a, 'a>(launches: &[LaunchOp<'c, 'a>], name: &str) -> PassResult<'c> {
    for launch in launches {
        let b = Builder::after(launch.op());
        let callee = FlatSymbolRefAttribute::new(b.context(), name).into();
        b.insert(LaunchOp::build(
            launch.op().location(),
            &launch.arguments(),
            callee,
        )?);
    }
    Ok(())
}
