//! What a mapping makes of a kernel's space: the dims that factors become, the old dims in terms of them, the guards.
//!
//! A run of neighbouring factors that threads take is one dim, and so is a run of registers, or of what the CTAs of a cluster take;
//! every other factor is a dim of its own. The kernel's tile thus has an axis for each run, and what a thread holds of it lies along
//! axes of its own, which a reduction can combine without a word to other threads, and what a CTA holds without a word to others.

use std::collections::HashSet;

use melior::ir::{AffineExpr, AffineMap, operation::OperationLike};
use norma_dialects::norm::{CachePlace, CopyMechanism, DimRole, HandOut, Level, ReduceOp};

use norma_targets::WARP_SIZE;

use super::{
    alignment::Alignment,
    mapping::{Factor, Mapping},
    reason::Reason,
};
use crate::{
    kernel::{
        homomorphism, nests,
        space::{DimSet, Space},
        space_rewrite::{NewDim, NewSpace},
    },
    mlir::{
        affine::{Leaf, substitute},
        context,
        linear_form::LinearForm,
        values::key,
    },
};

/// The most elements of the tile that one thread may hold: all of them are unrolled into its program, so that more would
/// take minutes to compile, and a thread has registers for fewer.
pub const ELEMENTS_PER_THREAD: i64 = 256;
/// Threads of a CTA at most (CUDA C++ Programming Guide, technical specifications per compute capability).
const MAX_THREADS: i64 = 1024;
/// The most elements that all values of a kernel may have in one thread together, each as often as loops compute it again, which
/// bounds how long the kernel takes to compile.
const UNROLLED_OPS: i64 = 1 << 16;

/// The space that `mapping` makes of a kernel's.
///
/// # Errors
///
/// The mapping does not fit the space, or asks for what no pass applies.
pub fn apply<'c>(space: &Space<'c, '_>, mapping: &Mapping) -> Result<NewSpace<'c>, Reason> {
    if mapping.spread.len() != space.dims.len() {
        return Err(Reason::wrong(format!(
            "expected a schedule that spreads {} dims, got {}",
            space.dims.len(),
            mapping.spread.len()
        )));
    }
    let alignment = match mapping.aligned_dim {
        Some(dim) => Some(Alignment::of(space, dim, mapping.vector(dim))?),
        None => None,
    };
    let before = |dim| {
        alignment
            .as_ref()
            .map_or(0, |alignment| alignment.most_before(dim))
    };
    check_applied(space, mapping, &before)?;
    let mut new = NewSpace::default();
    for (dim, factors) in mapping.spread.iter().enumerate() {
        split(space, dim, factors, before(dim), &mut new)?;
    }
    guard_parts(space, &mut new);
    if let Some(alignment) = alignment {
        alignment.shift(space, &mut new)?;
    }
    Ok(new)
}

/// Adds the guards of accesses that use a part of a split dim, by a quotient or a remainder of it. A guard concerns only what
/// uses all of its dims; such an access is of points that exist where the guard holds with the other parts at 0.
fn guard_parts<'c>(space: &Space<'c, '_>, new: &mut NewSpace<'c>) {
    let context = context::of(space.location());
    let composed = AffineMap::new(context, new.dims.len(), 0, &new.old_dims);
    let largest = |dim: usize| {
        let extent = new.dims[dim].extent;
        extent.is_constant().then(|| extent.constant_value() - 1)
    };
    let mut added = Vec::new();
    for access in space.accesses().unwrap_or_default() {
        let coordinates = access
            .coordinates
            .iter()
            .map(|coordinate| coordinate.compose(composed))
            .collect::<Vec<_>>();
        for [whole, extent] in &new.guards {
            let parts = (0..new.dims.len()).filter(|dim| whole.is_function_of_dim(*dim));
            let (used, unused) = parts.partition::<Vec<_>, _>(|dim| {
                coordinates
                    .iter()
                    .any(|coordinate| coordinate.is_function_of_dim(*dim))
            });
            if used.is_empty() || unused.is_empty() {
                continue;
            }
            let part = substitute(*whole, &mut |leaf| match leaf {
                Leaf::Dim(dim) if used.contains(&dim) => AffineExpr::dim(context, dim),
                Leaf::Dim(_) => AffineExpr::constant(context, 0),
                Leaf::Symbol(symbol) => AffineExpr::symbol(context, symbol),
            });
            let reach = LinearForm::of(part, new.dims.len(), space.sizes.len()).and_then(|form| {
                used.iter().try_fold(form.constant, |reach, dim| {
                    reach.checked_add(largest(*dim)?.checked_mul(form.dims[*dim])?)
                })
            });
            let least = space.bounds_of(*extent).least;
            let holds = reach.is_some_and(|reach| reach < least);
            if !holds && !added.contains(&[part, *extent]) {
                added.push([part, *extent]);
            }
        }
    }
    new.guards.extend(added);
}

/// Whether the passes can apply `mapping` to a kernel, splits included.
///
/// # Errors
///
/// See [`apply`].
pub fn check(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
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
        if hang_on_each_other(space, dim, mapping.merge_reductions) {
            return Err(Reason::unsupported(format!(
                "a split of dim {dim}, where a reduction over it ranges over what another one gives; supported: reductions \
                 that do not hang on each other, or that merge_reductions merges"
            )));
        }
        // A part is a dim of the grid in the kernel that leaves partial results.
        factors[split].level = Level::Grid;
    }
    apply(space, &whole).map(|_| ())
}

/// Whether a reduction over a dim depends on the result of another that it is not merged with.
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
        let ranges =
            ReduceOp::from_op(*op).is_some_and(|reduce| space.dims_reduced_by(reduce).contains(&dim));
        let depends = op.operands().any(|operand| made.contains(&key(operand)));
        if ranges || depends {
            made.extend(op.results().map(|result| key(result.into())));
        }
        ranges && depends && !followers.contains(&position)
    })
}

/// Refuses what no pass applies yet, and what takes too long to compile.
fn check_applied(
    space: &Space<'_, '_>,
    mapping: &Mapping,
    before: &dyn Fn(usize) -> i64,
) -> Result<(), Reason> {
    check_brought(space, mapping, before)?;
    if mapping.hand_out != HandOut::Static {
        return Err(Reason::unsupported("hand_out = dynamic; supported: static"));
    }
    if mapping.keep.len() > 1 && mapping.keep.len() != space.buffers.len() {
        return Err(Reason::wrong(format!(
            "expected a place for each of {} buffers or one for all, got {}",
            space.buffers.len(),
            mapping.keep.len()
        )));
    }
    if mapping.aligned_dim.is_some() && mapping.extent(Level::Split) != 1 {
        return Err(Reason::unsupported(
            "a split in a schedule with aligned_dim; supported: one or the other",
        ));
    }
    check_kept(space, mapping, before)?;
    let is_looped = |dim: usize| has_steps(space, mapping, dim, before(dim));
    let loops = (0..space.dims.len())
        .filter(|dim| is_looped(*dim))
        .collect::<DimSet>();
    let held = mapping.registers();
    if held > ELEMENTS_PER_THREAD {
        return Err(Reason::unsupported(format!(
            "{held} elements of each value in a thread; supported: {ELEMENTS_PER_THREAD}"
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
        nests::Refused::Crossing => Reason::unsupported(
            "loops over dims of which each reduces what is needed, with the other's result, at every point of both; supported: \
             one of these dims in a loop",
        ),
        nests::Refused::TooMany => Reason::unsupported(format!(
            "{held} elements of each value in a thread, where loops compute {} ops, or more of them again; supported: \
             {UNROLLED_OPS} elements of all values together",
            space.ops.len()
        )),
    })
}

/// Refuses ways through shared memory that no pass applies.
fn check_brought(
    space: &Space<'_, '_>,
    mapping: &Mapping,
    before: &dyn Fn(usize) -> i64,
) -> Result<(), Reason> {
    let is_shared = mapping.keep.contains(&CachePlace::Shared);
    match mapping.bring {
        CopyMechanism::Load if is_shared => {
            return Err(Reason::wrong(
                "expected bring = bulk for what is kept in shared memory, got load",
            ));
        }
        CopyMechanism::Load if mapping.stages != 1 || mapping.producer_warps != 0 => {
            return Err(Reason::wrong(
                "expected stages = 1 and producer_warps = 0 where nothing is kept in shared memory",
            ));
        }
        CopyMechanism::Load => return Ok(()),
        CopyMechanism::Bulk if !is_shared => {
            return Err(Reason::wrong(
                "expected a read that is kept in shared memory for bring = bulk, got none",
            ));
        }
        CopyMechanism::Bulk => {}
        other => {
            return Err(Reason::unsupported(format!(
                "bring = {}; supported: load and bulk",
                other.keyword()
            )));
        }
    }
    if mapping.producer_warps > 1 {
        return Err(Reason::unsupported(format!(
            "producer_warps = {}; supported: 0 and 1",
            mapping.producer_warps
        )));
    }
    if mapping.threads() + mapping.producer_warps * WARP_SIZE > MAX_THREADS {
        return Err(Reason::wrong(format!(
            "expected at most {MAX_THREADS} threads with those of producer warps, got {}",
            mapping.threads() + mapping.producer_warps * WARP_SIZE
        )));
    }
    if mapping.ctas_per_cluster() > 1 {
        return Err(Reason::unsupported(
            "reads kept in shared memory by the CTAs of a cluster; supported: one or the other",
        ));
    }
    if mapping.aligned_dim.is_some() {
        return Err(Reason::unsupported(
            "reads kept in shared memory in a schedule with aligned_dim; supported: one or the other",
        ));
    }
    let is_looped = |dim: usize| has_steps(space, mapping, dim, before(dim));
    let loops = (0..space.dims.len()).filter(|dim| is_looped(*dim)).count();
    if loops > 1 {
        return Err(Reason::unsupported(
            "reads kept in shared memory within several loops; supported: one loop",
        ));
    }
    Ok(())
}

/// Refuses registers for what a loop reads step by step, and needs again once the loop has ended.
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

/// Whether a loop factor is known to have one step, where its dim has `before` points more.
fn is_one_step(space: &Space<'_, '_>, mapping: &Mapping, dim: usize, factor: &Factor, before: i64) -> bool {
    match factor.size {
        Some(size) => size == 1,
        None => {
            let sized = mapping.spread[dim]
                .iter()
                .filter_map(|factor| factor.size)
                .fold(1_i64, i64::saturating_mul);
            let most = space.extent_bounds(dim).bound();
            most.is_some_and(|most| (1..=sized).contains(&(most + before)))
        }
    }
}

/// Whether a dim passes in a loop, unless that is known to have one step.
fn has_steps(space: &Space<'_, '_>, mapping: &Mapping, dim: usize, before: i64) -> bool {
    let factors = &mapping.spread[dim];
    let has_steps = |position: usize| {
        factors[position].level == Level::Loop
            && !is_one_step(space, mapping, dim, &factors[position], before)
    };
    (0..factors.len()).any(has_steps)
}

/// The size of a factor of a dim; `None` where only the run knows.
fn size_of(space: &Space<'_, '_>, dim: usize, factors: &[Factor], position: usize) -> Option<i64> {
    let sized = factors
        .iter()
        .filter_map(|factor| factor.size)
        .fold(1_i64, i64::saturating_mul);
    let extent = space.extents[dim];
    let known = extent.is_constant().then(|| extent.constant_value().max(0));
    factors[position]
        .size
        .or_else(|| Some((known?.unsigned_abs()).div_ceil(sized.unsigned_abs().max(1)) as i64))
}

/// Adds the dims that the factors of one dim become, which hold `before` points more than the dim.
fn split<'c>(
    space: &Space<'c, '_>,
    dim: usize,
    factors: &[Factor],
    before: i64,
    new: &mut NewSpace<'c>,
) -> Result<(), Reason> {
    let context = context::of(space.location());
    let constant = |value: i64| AffineExpr::constant(context, value);
    let extent = match before {
        0 => space.extents[dim],
        _ => space.extents[dim] + constant(before),
    };
    let known = extent.is_constant().then(|| extent.constant_value());
    let bounds = space.extent_bounds(dim);
    let most = bounds.bound().map(|most| most + before);
    let sized = factors
        .iter()
        .filter_map(|factor| factor.size)
        .try_fold(1_i64, i64::checked_mul)
        .ok_or_else(|| Reason::wrong(format!("factors of dim {dim} whose product exceeds 2^63")))?;
    let rest = factors.iter().position(|factor| factor.size.is_none());
    match (rest, most) {
        (None, None) => {
            return Err(Reason::wrong(format!(
                "expected a factor without a size for dim {dim}, whose extent only the run knows"
            )));
        }
        (None, Some(most)) if sized < most => {
            let shifted = match before {
                0 => String::new(),
                _ => format!(" and {before} before them"),
            };
            return Err(Reason::wrong(format!(
                "expected factors of dim {dim} that hold its {} points{shifted}, got {sized}",
                most - before
            )));
        }
        (Some(position), None) if position > 0 => {
            return Err(Reason::unsupported(format!(
                "a factor without a size inside of others for dim {dim}, whose extent only the run knows; supported: \
                 as the outermost factor"
            )));
        }
        _ => {}
    }

    // What the others leave of an extent that only the run knows: for the outermost factor the run says it, unless it is
    // one point at most; for an inner one the most that it can be.
    let ceil = |points: i64| points.max(0).unsigned_abs().div_ceil(sized.unsigned_abs()) as i64;
    let left = match (rest, known, most) {
        (Some(_), Some(known), _) => Some(ceil(known)),
        (Some(position), None, Some(most)) if position > 0 || most <= sized => Some(ceil(most).max(1)),
        _ => None,
    };
    let resolved = factors.iter().map(|factor| match (factor.size, known, left) {
        (None, None, Some(left)) => Factor::new(factor.level, left),
        _ => *factor,
    });
    let mut runs = runs(&resolved.collect::<Vec<_>>())?;
    if runs.is_empty() && known == Some(0) {
        // Without a dim there would be a point.
        runs.push(Run {
            role: DimRole::Loop,
            size: Some(0),
        });
    }
    if runs.is_empty() && known.is_none() && bounds.least < 1 {
        // Nor would there be one that a guard could keep out.
        runs.push(Run {
            role: DimRole::Grid,
            size: Some(1),
        });
    }
    let mut stride = 1_i64;
    let mut whole = constant(0);
    let first = new.dims.len();
    new.dims.extend(runs.iter().map(|run| NewDim {
        extent: match run.size {
            Some(size) => constant(size),
            None => AffineExpr::ceil_div(extent, constant(sized)),
        },
        role: Some(run.role),
    }));
    for (position, run) in runs.iter().enumerate().rev() {
        let own = AffineExpr::dim(context, first + position);
        whole = own * constant(stride) + whole;
        let size = run.size.or(left);
        // Only the outermost factor may be of a size that the run knows, and nothing is outside of it.
        stride = stride.saturating_mul(size.unwrap_or(1));
    }
    new.old_dims.push(whole);
    let is_exact = match (rest, known, left) {
        (None, Some(extent), _) => extent == sized,
        // An extent of 0 is a multiple of everything, and yet has none of the tile's points.
        (Some(_), Some(extent), _) => extent > 0 && extent % sized == 0,
        (Some(_), None, None) => extent.is_multiple_of(sized),
        // The dims do not follow the extent: it has all of their points, or a guard keeps some out.
        (_, None, _) => left
            .unwrap_or(1)
            .checked_mul(sized)
            .is_some_and(|points| points <= bounds.least),
    };
    if !is_exact && before == 0 {
        new.guards.push([whole, extent]);
    }
    Ok(())
}

/// A dim to be: neighbouring factors of one role.
struct Run {
    role: DimRole,
    size: Option<i64>,
}

fn runs(factors: &[Factor]) -> Result<Vec<Run>, Reason> {
    let mut runs = Vec::<Run>::new();
    for factor in factors {
        let Some(role) = factor.role() else {
            return Err(Reason::wrong(
                "expected no split factor in a kernel to be tiled; run norm-split-reductions first",
            ));
        };
        if factor.size == Some(1) {
            continue;
        }
        let joins = factor.is_in_tile() && runs.last().is_some_and(|run| run.role == role);
        match (runs.last_mut(), factor.size) {
            (Some(run), Some(size)) if joins => run.size = run.size.map(|other| other * size),
            _ => runs.push(Run {
                role,
                size: factor.size,
            }),
        }
    }
    Ok(runs)
}
