//! Splits reductions over the dim that devices share: into one over a device's share, and one over the devices.
//!
//! A combiner is associative and commutative up to rounding, so partial results may be combined. A reduction that waits for another one
//! over the same dim is merged with it if [`crate::kernel::homomorphism`] allows it: each device then reduces with a reference of its own,
//! and one exchange serves both.

use std::collections::BTreeSet;

use melior::ir::{AffineExpr, AffineMap, BlockLike, Operation, Type, Value, operation::OperationLike};
use norma_dialects::{
    affine_map_attribute,
    norm::{ComputeOp, ReduceOp},
};

use crate::{
    kernel::{compute, homomorphism, reductions::set_operands, signature::drop_dead_of, space::Space},
    mlir::{
        builder::Builder,
        pass::PassError,
        values::{key, users},
    },
    norm::merge_reductions::{Combination, Partition, merge_groups},
};

/// Splits the reductions of a compute over `shared`. The compute gets another dim after its own, over the devices. No value before the
/// exchange varies over it: a value that is reduced over this dim stands for one value of each device. Returns that dim; `None` if there is
/// no such reduction.
pub(super) fn take_apart<'c: 'a, 'a>(
    compute: ComputeOp<'c, 'a>,
    shared: usize,
    devices: i64,
) -> Result<Option<usize>, PassError<'c>> {
    let space = Space::of_compute(compute)?;
    let reductions = BTreeSet::from_iter(space.reductions_over(shared));
    if reductions.is_empty() {
        return Ok(None);
    }
    let mut groups = homomorphism::groups(&space);
    groups.retain(|group| reductions.contains(&group.lead));
    let merged = groups.iter().flat_map(|group| {
        let followers = group.followers.iter().map(|follower| follower.position);
        followers.chain([group.lead])
    });
    let merged = merged.collect::<BTreeSet<_>>();

    let of_devices = add_dim(compute, &space, devices)?;
    for position in reductions.difference(&merged) {
        split(&space, *position, of_devices)?;
    }
    merge_groups(
        || Space::of_compute(compute),
        |space, lead| {
            let over = lead.dims();
            let is_whole = over.contains(&space.dims[shared]) && !is_split(lead, of_devices);
            is_whole.then(|| Partition {
                within: over,
                combinations: vec![Combination::OneByOne(vec![of_devices])],
            })
        },
    )?;
    drop_dead_of(Space::of_compute(compute)?);
    Ok(Some(space.dims.len()))
}

/// Adds a dim after the others.
fn add_dim<'c: 'a, 'a>(
    compute: ComputeOp<'c, 'a>,
    space: &Space<'c, 'a>,
    extent: i64,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let b = Builder::before(compute.op());
    let dim = compute::block(compute)?.add_argument(Type::index(b.context()), b.location());
    let mut extents = space.extents.clone();
    extents.push(AffineExpr::constant(b.context(), extent));
    let extents = AffineMap::new(b.context(), 0, space.sizes.len(), &extents);
    b.set_attribute(compute.op(), "extents", affine_map_attribute(extents));
    Ok(dim)
}

/// Inserts after a reduction another one of its results, by the same combiner, over `dim`.
fn split<'c: 'a, 'a>(
    space: &Space<'c, 'a>,
    position: usize,
    dim: Value<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let part = space.ops[position];
    let b = Builder::after(part);
    let whole = b.insert(Operation::clone(&part));
    let parts = part.results().map(Value::from).collect::<Vec<_>>();
    for (part, whole) in parts.iter().zip(whole.results()) {
        b.replace_all_uses(*part, whole.into());
    }
    set_operands(&b, whole, &parts, &[dim], None);
    Ok(())
}

/// Whether a reduction's results are those of one device's share, which another reduction combines.
fn is_split<'c: 'a, 'a>(reduce: ReduceOp<'c, 'a>, of_devices: Value<'c, 'a>) -> bool {
    let over_devices = |user| {
        ReduceOp::from_op(user).is_some_and(|user| user.dims().iter().any(|dim| key(*dim) == key(of_devices)))
    };
    reduce
        .results()
        .into_iter()
        .any(|result| users(result).into_iter().any(over_devices))
}
