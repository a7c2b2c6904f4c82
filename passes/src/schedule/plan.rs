//! The space that a mapping makes of a kernel's: the dims that factors become, the old dims in terms of them, and the guards.
//!
//! A run of neighbouring factors of one role, be it threads, registers or the CTAs of a cluster, becomes one dim; every other
//! factor is a dim of its own. The kernel's tile thus has an axis for each run. The elements of one thread lie along register axes,
//! which a reduction combines without communication between threads; likewise the elements of one CTA lie along axes that it
//! combines without communication between CTAs.

mod applied;
mod copied_runs;
mod specialized;

use applied::{check_applied, check_reduced};
use melior::ir::{AffineExpr, AffineMap};
use norma_dialects::norm::{DimRole, Level};

pub use applied::check;

use super::{
    alignment::Alignment,
    hand_out,
    mapping::{Factor, Mapping},
    reason::Reason,
};
use crate::{
    kernel::{
        space::Space,
        space_rewrite::{NewDim, NewSpace},
    },
    mlir::{
        affine::{Leaf, substitute},
        context,
        linear_form::LinearForm,
    },
};

/// The most elements of the tile that one thread may hold: all of them are unrolled into its program, so that more would
/// take minutes to compile, and a thread has registers for fewer.
pub const UNROLLED_ELEMENTS: i64 = 256;
/// Returns the iteration space that a kernel has once `mapping` is applied.
///
/// # Errors
///
/// The mapping does not fit the space, or asks for what no pass applies.
pub fn apply<'c>(space: &Space<'c, '_>, mapping: &Mapping) -> Result<NewSpace<'c>, Reason> {
    let divided = divided(space, mapping)?;
    check_reduced(space, mapping)?;
    Ok(divided)
}

/// [`apply`], where a dim that is reduced may be spread over the grid, as the parts of a split are.
fn divided<'c>(space: &Space<'c, '_>, mapping: &Mapping) -> Result<NewSpace<'c>, Reason> {
    if mapping.spread.len() != space.dims.len() {
        return Err(Reason::wrong(format!(
            "expected a schedule that spreads {} dims, got {}",
            space.dims.len(),
            mapping.spread.len()
        )));
    }
    let mapping = &hand_out::walked(space, mapping)?;
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
    for dim in 0..mapping.spread.len() {
        split(space, dim, mapping, before(dim), &mut new)?;
    }
    guard_parts(space, &mut new);
    copied_runs::check(space, mapping, &new)?;
    if let Some(alignment) = alignment {
        alignment.shift(space, &mut new)?;
    }
    Ok(new)
}

/// Adds the guards of accesses that use only a part of a split dim, a quotient or a remainder of it. A guard concerns only accesses
/// that use all of its dims. The points of an access by a part exist where the guard holds with the other parts at 0.
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

/// Whether a loop factor is known to have one step, given that its dim has `before` points more.
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

/// Whether a dim has a loop that is not known to have one step.
fn has_steps(space: &Space<'_, '_>, mapping: &Mapping, dim: usize, before: i64) -> bool {
    let factors = &mapping.spread[dim];
    let has_steps = |position: usize| {
        factors[position].level == Level::Loop
            && !is_one_step(space, mapping, dim, &factors[position], before)
    };
    (0..factors.len()).any(has_steps)
}

/// Returns the size of a factor of a dim; `None` if it is dynamic.
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

/// Adds the dims that the factors of one dim become. Together they hold `before` points more than the dim.
fn split<'c>(
    space: &Space<'c, '_>,
    dim: usize,
    mapping: &Mapping,
    before: i64,
    new: &mut NewSpace<'c>,
) -> Result<(), Reason> {
    let factors = &mapping.spread[dim];
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
    check_sizes(dim, rest, sized, most, before)?;

    // The size of the factor that has none. If the extent is dynamic, so is the size of an outermost factor (`None`), unless
    // the other factors hold all of the dim; an inner factor has the size that the upper bound of the extent asks for.
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
    if runs.is_empty() {
        runs.extend(of_no_factors(space, dim, known));
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
        // Only the outermost factor may have a dynamic size, and no stride depends on it.
        stride = stride.saturating_mul(size.unwrap_or(1));
    }
    new.old_dims.push(whole);
    let is_exact = match (rest, known, left) {
        (None, Some(extent), _) => extent == sized,
        // An extent of 0 is a multiple of everything, and yet has none of the tile's points.
        (Some(_), Some(extent), _) => extent > 0 && extent % sized == 0,
        // Held steps are taken whether the dim has so many or not.
        (Some(_), None, None) => {
            let held = mapping.held_steps.saturating_mul(sized);
            extent.is_multiple_of(sized) && (held <= bounds.least || !has_steps(space, mapping, dim, before))
        }
        // The dims are sized for the upper bound: unless every extent has all of their points, a guard masks some.
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

/// Checks that the factors of a dim hold all of its points, of which there are at most `most` with the `before` points before them.
/// Those with sizes hold `sized` points; `rest` is the position of the one without.
fn check_sizes(
    dim: usize,
    rest: Option<usize>,
    sized: i64,
    most: Option<i64>,
    before: i64,
) -> Result<(), Reason> {
    match (rest, most) {
        (None, None) => Err(Reason::wrong(format!(
            "expected a factor without a size for dim {dim}, whose extent is dynamic"
        ))),
        (None, Some(most)) if sized < most => {
            let shifted = match before {
                0 => String::new(),
                _ => format!(" and {before} before them"),
            };
            Err(Reason::wrong(format!(
                "expected factors of dim {dim} that hold its {} points{shifted}, got {sized}",
                most - before
            )))
        }
        (Some(position), None) if position > 0 => Err(Reason::unsupported(format!(
            "a factor without a size inside of others for dim {dim}, whose extent is dynamic; supported: \
             as the outermost factor"
        ))),
        _ => Ok(()),
    }
}

/// A dim to be: neighbouring factors of one role.
struct Run {
    role: DimRole,
    size: Option<i64>,
}

/// What a dim without factors of several points, and of this extent if that is known, becomes; `None` if it has the one point that no dim
/// stands for.
fn of_no_factors(space: &Space<'_, '_>, dim: usize, known: Option<i64>) -> Option<Run> {
    let run = |role, size| Run {
        role,
        size: Some(size),
    };
    if known == Some(0) {
        // Without any dim there would be one point.
        return Some(run(DimRole::Loop, 0));
    }
    let may_be_empty = known.is_none() && space.extent_bounds(dim).least < 1;
    let is_guarded = |side: &AffineExpr<'_>| side.is_function_of_dim(dim);
    if !may_be_empty && !space.guards.iter().flatten().any(is_guarded) {
        return None;
    }
    // Without any dim there would be no point that a guard could mask. A CTA holds all of a dim that is reduced, and
    // `norm-persistent-reduction` removes loops of one step where it may.
    match space.reduced_dims().contains(&dim) {
        true => Some(run(DimRole::Loop, 1)),
        false => may_be_empty.then(|| run(DimRole::Grid, 1)),
    }
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
