//! Checks whether the passes can apply a mapping to a kernel.

use std::collections::HashSet;

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::norm::{CachePlace, CopyMechanism, Level, ReduceOp, ScanOp};
use norma_targets::{THREADS_PER_CTA, WARP_SIZE, WARPGROUP_WARPS};

use super::{
    super::{
        dense_rows,
        mapping::{Factor, Mapping},
        reason::Reason,
        tensor_maps,
    },
    UNROLLED_ELEMENTS, divided, has_steps, size_of, specialized,
};
use crate::{
    kernel::{
        homomorphism, nests,
        space::{Access, Crossing, DimSet, Space},
    },
    mlir::values::key,
};

/// The most elements that one thread computes of all values of a kernel together, counting a value once for each loop nest that
/// recomputes it. Bounds how long the kernel takes to compile.
const UNROLLED_OPS: i64 = 1 << 16;
/// The most bytes of a thread's registers, 255 of 4 bytes; loads of more bytes would not be in flight together.
const MOST_UNROLLED_BYTES: i64 = 1020;

/// Whether the passes can apply `mapping` to a kernel, splits included.
///
/// # Errors
///
/// See [`apply`].
pub fn check(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    check_reduced(space, mapping)?;
    let mut whole = mapping.clone();
    for (dim, factors) in whole.spread.iter_mut().enumerate() {
        let Some(split) = factors.iter().position(|factor| factor.level == Level::Split) else {
            continue;
        };
        if factors
            .iter()
            .filter(|factor| factor.level == Level::Split)
            .count()
            > 1
        {
            return Err(Reason::unsupported(format!(
                "two splits of dim {dim}; supported: one"
            )));
        }
        let others = (0..factors.len()).filter(|position| *position != split);
        if dim < space.dims.len()
            && others
                .map(|position| size_of(space, dim, factors, position))
                .all(|size| size == Some(1))
        {
            return Err(Reason::unsupported(format!(
                "a split that takes all of dim {dim}; supported: parts of several points"
            )));
        }
        if mapping.held_steps > 0 {
            return Err(Reason::unsupported(format!(
                "held_steps = {} in a schedule with a split, whose parts other kernels read again; supported: 0",
                mapping.held_steps
            )));
        }
        if mapping.aligned_dim == Some(dim) {
            return Err(Reason::unsupported(format!(
                "a split of dim {dim}, which is aligned_dim; supported: a split of another dim"
            )));
        }
        if hang_on_each_other(space, dim, mapping.merges_at(Level::Split)) {
            return Err(Reason::unsupported(format!(
                "a split of dim {dim}, where a reduction over it ranges over what another one gives; supported: reductions \
                 that do not hang on each other, or that merge_reductions = [split] merges"
            )));
        }
        let has_several_results =
            |reduce: &ReduceOp<'_, '_>| reduce.nth().is_some() && space.reduces_over(*reduce, dim);
        if space.reductions().iter().any(has_several_results) {
            return Err(Reason::unsupported(format!(
                "a split of dim {dim}, where a reduction over it has several results; supported: reductions without nth"
            )));
        }
        let is_same_along = |reduce: &ReduceOp<'_, '_>| {
            let mut values = reduce.values().into_iter();
            space.reduces_over(*reduce, dim) && values.any(|value| !space.dims_of(value).contains(&dim))
        };
        // The partial result of such a reduction depends on how many points its part has, although its values do not
        // vary over the parts: the scratch of another split would have no axis for them.
        if mapping.split_dims() > 1 && space.reductions().iter().any(is_same_along) {
            return Err(Reason::unsupported(format!(
                "a split of dim {dim} besides another one, where a reduction over it ranges over what is the same along it; supported: \
                 one split"
            )));
        }
        // With several splits, merged reductions can weigh partial results by numbers of points only if all parts have
        // equally many.
        if mapping.split_dims() > 1
            && mapping.merges_at(Level::Split)
            && !divides_evenly(space, &mapping.spread[dim], dim)
        {
            return Err(Reason::unsupported(format!(
                "merge_reductions = [split] with splits of several dims, of which dim {dim} has parts of different lengths; supported: \
                 one split, or parts that divide each dim"
            )));
        }
        // In the kernel that leaves partial results, the parts of the split are a grid dim.
        factors[split].level = Level::Grid;
    }
    divided(space, &whole).map(|_| ())
}

/// Whether the factors of a dim divide it, so that nothing is left out of its last tile.
fn divides_evenly(space: &Space<'_, '_>, factors: &[Factor], dim: usize) -> bool {
    let sizes = factors.iter().filter_map(|factor| factor.size);
    let tile = sizes.fold(1, i64::saturating_mul).max(1);
    let extent = space.extents[dim];
    extent.is_constant() && extent.constant_value() % tile == 0
}

/// Whether a reduction over `dim` depends on the result of another one over it with which it is not merged.
fn hang_on_each_other(space: &Space<'_, '_>, dim: usize, are_merged: bool) -> bool {
    let groups = if are_merged {
        homomorphism::groups(space)
    } else {
        Vec::new()
    };
    let followers = groups.iter().flat_map(|group| &group.followers);
    let followers = followers
        .map(|follower| follower.position)
        .collect::<HashSet<_>>();
    let mut made = HashSet::new();
    space.ops.iter().enumerate().any(|(position, op)| {
        let ranges = ReduceOp::from_op(*op).is_some_and(|reduce| space.reduces_over(reduce, dim));
        let depends = op.operands().any(|operand| made.contains(&key(operand)));
        if ranges || depends {
            made.extend(op.results().map(|result| key(result.into())));
        }
        ranges && depends && !followers.contains(&position)
    })
}

/// Refuses mappings that no pass applies yet, or whose kernels take too long to compile.
pub(super) fn check_applied(
    space: &Space<'_, '_>,
    mapping: &Mapping,
    before: &dyn Fn(usize) -> i64,
) -> Result<(), Reason> {
    check_brought(space, mapping, before)?;
    check_indirect(space, mapping)?;
    specialized::check(space, mapping, before)?;
    check_scans(space, mapping)?;
    check_counting(space, mapping)?;
    if mapping.keep.len() > 1 && mapping.keep.len() != space.buffers.len() {
        return Err(Reason::wrong(format!(
            "expected a place for each of {} buffers or one for all, got {}",
            space.buffers.len(),
            mapping.keep.len()
        )));
    }
    check_merged(mapping)?;
    check_unrolled(mapping)?;
    check_held_steps(space, mapping)?;
    check_kept(space, mapping, before)?;
    check_sent(space, mapping)?;
    tensor_maps::check(space, mapping)?;
    dense_rows::check(space, mapping)?;
    let is_looped = |dim: usize| has_steps(space, mapping, dim, before(dim));
    let loops = (0..space.dims.len())
        .filter(|dim| is_looped(*dim))
        .collect::<DimSet>();
    let held = mapping.registers_with_held_steps();
    if held > UNROLLED_ELEMENTS {
        let of_steps = match mapping.held_steps {
            0 => "",
            _ => ", with those of held steps",
        };
        return Err(Reason::unsupported(format!(
            "{held} elements of each value in a thread{of_steps}; supported: {UNROLLED_ELEMENTS}"
        )));
    }
    let fits = |ops: usize| match held.saturating_mul(ops as i64) <= UNROLLED_OPS {
        true => Ok(()),
        false => Err(nests::Refused::TooMany),
    };
    let nested = fits(space.ops.len()).and_then(|()| match loops.is_empty() {
        true => Ok(()),
        false => nests::count(space, &loops, UNROLLED_OPS as usize).and_then(fits),
    });
    nested.map_err(|refused| match refused {
        nests::Refused::Crossing | nests::Refused::Directions | nests::Refused::Overwritten => Reason::unsupported(refused.explained()),
        nests::Refused::TooMany => Reason::unsupported(format!(
            "{held} elements of each value in a thread, where loops compute {} ops, or more of them again; supported: \
             {UNROLLED_OPS} elements of all values together",
            space.ops.len()
        )),
    })
}

/// Refuses to merge reductions at only one of warp and lane, of which `norm-tile` makes one dim.
fn check_merged(mapping: &Mapping) -> Result<(), Reason> {
    match [Level::Warp, Level::Lane].map(|level| mapping.merges_at(level)) {
        [warp, lane] if warp != lane => Err(Reason::unsupported(format!(
            "merge_reductions at {} without {}; supported: at both or at none",
            if warp { "warp" } else { "lane" },
            if warp { "lane" } else { "warp" },
        ))),
        _ => Ok(()),
    }
}

/// Refuses reductions over dims that CTAs of the grid share, which leave each other no results.
pub(super) fn check_reduced(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    for (dim, factors) in mapping.spread.iter().enumerate().take(space.dims.len()) {
        let is_shared = (0..factors.len()).any(|position| {
            factors[position].level == Level::Grid && size_of(space, dim, factors, position) != Some(1)
        });
        let reductions = space.reductions();
        if is_shared && reductions.iter().any(|reduce| space.reduces_over(*reduce, dim)) {
            return Err(Reason::unsupported(format!(
                "a reduction over dim {dim}, which the schedule spreads over the grid; supported: a split, whose partial results \
                 another kernel combines"
            )));
        }
    }
    Ok(())
}

/// Refuses scans along dims whose points no single CTA visits in order.
fn check_scans(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    for scan in space.scans() {
        let mut is_within_tile = false;
        for dim in space.dims_scanned_by(scan) {
            for factor in mapping.spread[dim].iter().filter(|factor| factor.size != Some(1)) {
                let is_shared = matches!(factor.level, Level::Grid | Level::Split | Level::Cluster);
                if is_shared || (factor.level == Level::Loop && is_within_tile) {
                    return Err(Reason::unsupported(format!(
                        "a scan along dim {dim}, which the schedule gives to {} {}; supported: warps, lanes and registers \
                         within loops",
                        factor.level.keyword(),
                        if is_shared {
                            "factors"
                        } else {
                            "steps within others"
                        },
                    )));
                }
                is_within_tile |= factor.level != Level::Loop;
            }
        }
    }
    Ok(())
}

/// Refuses a dim that counts the results of reductions unless it is one loop: each result is found from the one before it.
fn check_counting(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    for dim in space.dims_of_nth() {
        let mut factors = mapping.spread[dim].iter().filter(|factor| factor.size != Some(1));
        let other = match (factors.next(), factors.next()) {
            (Some(factor), None) if factor.level != Level::Loop => factor,
            (Some(_), Some(factor)) => factor,
            _ => continue,
        };
        return Err(Reason::unsupported(format!(
            "dim {dim}, which counts the results of a reduction, in {} factors; supported: one loop over it",
            other.level.keyword()
        )));
    }
    Ok(())
}

/// Refuses combinations of `bring`, `keep` and `producer_warps` that no pass applies.
fn check_brought(
    space: &Space<'_, '_>,
    mapping: &Mapping,
    before: &dyn Fn(usize) -> i64,
) -> Result<(), Reason> {
    let is_shared = mapping.keep.contains(&CachePlace::Shared);
    match mapping.bring {
        CopyMechanism::Load => {
            check_loaded(mapping)?;
            if !is_shared {
                return Ok(());
            }
        }
        other if !is_shared => {
            let kept = match other {
                CopyMechanism::Bulk | CopyMechanism::Tensor => "a read or a result",
                _ => "a read",
            };
            return Err(Reason::wrong(format!(
                "expected {kept} that is kept in shared memory for bring = {}, got none",
                other.keyword()
            )));
        }
        // Each thread waits for its own copies.
        CopyMechanism::CpAsync if mapping.producer_warps != 0 => {
            return Err(Reason::wrong(format!(
                "expected producer_warps = 0 for bring = cp_async, got {}",
                mapping.producer_warps
            )));
        }
        _ => {}
    }
    if ![0, 1, WARPGROUP_WARPS].contains(&mapping.producer_warps) {
        return Err(Reason::unsupported(format!(
            "producer_warps = {}; supported: 0, 1 and {WARPGROUP_WARPS}",
            mapping.producer_warps
        )));
    }
    if mapping.producer_warps > 0
        && let Some(dim) = dim_of_values(space)
    {
        return Err(Reason::unsupported(format!(
            "producer_warps where values depend on positions along dim {dim}, so that data may decide which part of a tile is \
             needed; supported: 0"
        )));
    }
    let threads = mapping.all_warps().saturating_mul(WARP_SIZE);
    if threads > THREADS_PER_CTA {
        return Err(Reason::wrong(format!(
            "expected at most {THREADS_PER_CTA} threads with those of producer warps, got {threads}"
        )));
    }
    check_surroundings(space, mapping)?;
    let is_looped = |dim: usize| has_steps(space, mapping, dim, before(dim));
    let loops = (0..space.dims.len()).filter(|dim| is_looped(*dim)).count();
    if loops > 1 {
        return Err(Reason::unsupported(
            "reads kept in shared memory within several loops; supported: one loop",
        ));
    }
    Ok(())
}

/// Refuses to copy tiles of rows that begin anywhere where the elements around them may not be read.
fn check_surroundings(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    if mapping.aligned_dim.is_none() {
        return Ok(());
    }
    if mapping.bring != CopyMechanism::Bulk {
        return Err(Reason::unsupported(format!(
            "bring = {} in a schedule with aligned_dim; supported: bulk",
            mapping.bring.keyword()
        )));
    }
    let mut overwritten = space.aliases().into_iter();
    match overwritten.find(|(_, read)| mapping.place(*read) == CachePlace::Shared) {
        None => Ok(()),
        Some((_, read)) => Err(Reason::unsupported(format!(
            "reads of buffer {read} kept in shared memory in a schedule with aligned_dim, where a result is written over it; supported: \
             buffers that nothing writes"
        ))),
    }
}

/// Refuses to keep in shared memory what is read at places that the kernel computes: only tiles at places that follow from dims and
/// numbers are copied there.
fn check_indirect(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    for read in space.reused_reads() {
        let access = space.access(space.ops[read]).map_err(Reason::wrong)?;
        if let Some(access) = access.filter(Access::is_indirect)
            && mapping.place(access.buffer) == CachePlace::Shared
        {
            return Err(Reason::unsupported(format!(
                "keep = [shared] of buffer {}, which is read at computed places; supported: registers, l1, l2 and none",
                access.buffer
            )));
        }
    }
    Ok(())
}

/// Refuses results that no pass can write through shared memory.
fn check_sent(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    let accesses = space.accesses().map_err(Reason::wrong)?;
    let mut sent = accesses
        .iter()
        .filter(|access| access.is_write && mapping.sends(access.buffer));
    match sent.next() {
        Some(write) if mapping.bring == CopyMechanism::CpAsync => Err(Reason::unsupported(format!(
            "the result of buffer {} in shared memory for bring = cp_async; supported: load, bulk and tensor",
            write.buffer
        ))),
        Some(write) if mapping.ctas_per_cluster() > 1 => Err(Reason::unsupported(format!(
            "the result of buffer {} in shared memory, in a cluster; supported: CTAs on their own",
            write.buffer
        ))),
        _ => Ok(()),
    }
}

/// Returns a dim whose index is an operand of a computation, such as the comparison of a column with a label, or of an access at a computed
/// place.
fn dim_of_values(space: &Space<'_, '_>) -> Option<usize> {
    let is_computed = |access: Option<Access<'_, '_>>| access.is_none_or(|access| access.is_indirect());
    let computes = |op: &&OperationRef<'_, '_>| {
        space.access(**op).is_ok_and(is_computed)
            && ReduceOp::from_op(**op).is_none()
            && ScanOp::from_op(**op).is_none()
    };
    let mut operands = space.ops.iter().filter(computes).flat_map(|op| op.operands());
    operands.find_map(|operand| space.dim_position(operand))
}

/// Refuses bytes to be loaded together where no loop loads any to registers.
fn check_unrolled(mapping: &Mapping) -> Result<(), Reason> {
    match mapping.unroll_bytes {
        0 => Ok(()),
        bytes if bytes > MOST_UNROLLED_BYTES => Err(Reason::wrong(format!(
            "expected at most {MOST_UNROLLED_BYTES} unrolled bytes, got {bytes}"
        ))),
        _ if mapping.looped_dims() == 0 => Err(Reason::wrong(
            "expected a dim that passes in a loop for unroll_bytes, got none",
        )),
        _ if mapping.bring != CopyMechanism::Load || mapping.stages > 1 => Err(Reason::unsupported(
            "unroll_bytes for loops whose tiles are brought ahead; supported: bring = load and stages = 1",
        )),
        _ => Ok(()),
    }
}

/// Refuses to hold the tiles of steps unless they are those of the only loop, over a dim whose elements are read again once a reduction
/// over it is complete, and unless they are loaded to registers.
fn check_held_steps(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    if mapping.held_steps == 0 {
        return Ok(());
    }
    if mapping.bring != CopyMechanism::Load || mapping.keep.contains(&CachePlace::Shared) {
        return Err(Reason::unsupported(
            "held_steps where tiles go through shared memory; supported: bring = load, and keep = l1, l2 or none",
        ));
    }
    let looped = mapping.spread.iter().enumerate().flat_map(|(dim, factors)| {
        let loops = factors
            .iter()
            .filter(|factor| factor.level == Level::Loop && factor.size != Some(1));
        loops.map(move |_| dim)
    });
    let dim = match looped.collect::<Vec<_>>()[..] {
        [] => {
            return Err(Reason::wrong(
                "expected a dim that passes in a loop for held_steps, got none",
            ));
        }
        [dim] => dim,
        _ => {
            return Err(Reason::unsupported(
                "held_steps within several loops; supported: one loop",
            ));
        }
    };
    let is_read_again = |crossing: &Crossing| {
        let reduce = ReduceOp::from_op(space.ops[crossing.reduction]);
        let access = space.access(space.ops[crossing.read]).ok().flatten();
        reduce.is_some_and(|reduce| space.reduces_over(reduce, dim))
            && access.is_some_and(|access| access.dims().contains(&dim))
    };
    match space.crossings().iter().any(is_read_again) {
        true => Ok(()),
        false => Err(Reason::unsupported(format!(
            "held_steps in a loop over dim {dim}, along which nothing is needed again behind a reduction; supported: loops over what is \
             read again"
        ))),
    }
}

/// Refuses parameters that no pass applies to tiles loaded to registers: stages beyond the next step's, and producer warps.
fn check_loaded(mapping: &Mapping) -> Result<(), Reason> {
    if mapping.producer_warps != 0 {
        return Err(Reason::wrong(format!(
            "expected producer_warps = 0 for bring = load, got {}",
            mapping.producer_warps
        )));
    }
    match mapping.stages {
        1 => Ok(()),
        2 if mapping.looped_dims() > 0 => Ok(()),
        2 => Err(Reason::wrong(
            "expected a dim that passes in a loop for stages = 2, got none",
        )),
        stages => Err(Reason::unsupported(format!(
            "stages = {stages} for bring = load; supported: 1, and 2 for loops that load a step ahead"
        ))),
    }
}

/// Refuses to keep in registers or in shared memory what a loop reads step by step and the kernel needs again once the loop has
/// ended.
fn check_kept(space: &Space<'_, '_>, mapping: &Mapping, before: &dyn Fn(usize) -> i64) -> Result<(), Reason> {
    for crossing in space.crossings() {
        let Ok(Some(access)) = space.access(space.ops[crossing.read]) else {
            continue;
        };
        let Some(reduce) = ReduceOp::from_op(space.ops[crossing.reduction]) else {
            continue;
        };
        let is_looped = |dim: &&usize| has_steps(space, mapping, **dim, before(**dim));
        let dims = access.dims();
        let reduced = space.dims_reduced_by(reduce);
        if let Some(dim) = reduced.intersection(&dims).find(is_looped)
            && let place @ (CachePlace::Register | CachePlace::Shared) = mapping.place(access.buffer)
        {
            return Err(Reason::wrong(format!(
                "expected keep = l1, l2 or none for buffer {}, whose elements along dim {dim} pass in a loop before they \
                 are needed again, got {}",
                access.buffer,
                place.keyword()
            )));
        }
    }
    Ok(())
}
