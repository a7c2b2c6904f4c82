//! Refuses tiles that the copy engine would bring or take away in too many pieces, `bring = bulk`.
//!
//! A bulk copy moves a run of neighbouring elements. `gl-pipeline` splits a tile into such runs, and a thread issues a copy for each of
//! them. This file counts the runs as `gl/pipeline/bulk.rs` does, from the space that the mapping makes, so that a schedule is refused at
//! the kernel.

use melior::ir::AffineExpr;
use norma_dialects::norm::{CopyMechanism, DimRole};

use super::super::{mapping::Mapping, reason::Reason};
use crate::{
    gl::pipeline::MOST_COPIES,
    kernel::{
        space::{Access, Space},
        space_rewrite::{NewDim, NewSpace},
    },
    mlir::linear_form::LinearForm,
};

/// Refuses tiles of more runs than one thread issues copies for. `new` is the space that `mapping` makes, before rows are shifted.
///
/// # Errors
///
/// Unsupported, with what is supported.
pub(super) fn check(space: &Space<'_, '_>, mapping: &Mapping, new: &NewSpace<'_>) -> Result<(), Reason> {
    if mapping.bring != CopyMechanism::Bulk {
        return Ok(());
    }
    let accesses = space.accesses().map_err(Reason::wrong)?;
    let is_copied = |access: &&Access<'_, '_>| !access.is_indirect() && mapping.copies_tiles_of(access);
    for access in accesses.iter().filter(is_copied) {
        let count = count(space, mapping, new, access);
        if count > MOST_COPIES {
            return Err(Reason::unsupported(format!(
                "bring = bulk of buffer {}, of which a CTA holds {count} runs of neighbouring elements at a time; supported: {MOST_COPIES}",
                access.buffer
            )));
        }
    }
    Ok(())
}

/// The number of runs of a CTA's tile of what an access reads or writes. A run consists of the innermost axes of the tile, as far as their
/// strides in the buffer are those of the tile in shared memory, and goes on beyond no axis along which a guard ends it.
fn count(space: &Space<'_, '_>, mapping: &Mapping, new: &NewSpace<'_>, access: &Access<'_, '_>) -> i64 {
    let Some(strides) = access.strides() else {
        return 1;
    };
    let form = |expression: &AffineExpr<'_>| LinearForm::of(*expression, new.dims.len(), space.sizes.len());
    let forms = new.old_dims.iter().map(form).collect::<Vec<_>>();
    let is_in_tile = |dim: &usize| {
        let NewDim { extent, role } = &new.dims[*dim];
        matches!(role, Some(DimRole::Thread | DimRole::Register))
            && extent.is_constant()
            && extent.constant_value() > 1
    };
    // The multiple of the axis that each old dim contains.
    let factor = |axis: usize, dim: usize| forms[dim].as_ref().map_or(0, |form| form.dims[axis]);
    let used = access.dims();
    let uses = |axis: &usize| used.iter().any(|dim| factor(*axis, *dim) != 0);
    let axes = (0..new.dims.len())
        .filter(is_in_tile)
        .filter(uses)
        .collect::<Vec<_>>();
    let stride = |axis: usize| {
        used.iter().try_fold(0_i64, |sum, dim| match factor(axis, *dim) {
            0 => Some(sum),
            factor => sum.checked_add(strides.dims[*dim]?.checked_mul(factor)?),
        })
    };
    let mut run = 1_i64;
    let mut first = axes.len();
    while first > 0 && stride(axes[first - 1]) == Some(run) {
        first -= 1;
        run = run.saturating_mul(new.dims[axes[first]].extent.constant_value());
    }
    // Where rows begin anywhere, each row of the tile is copied by itself.
    let is_shifted = |axis: &usize| mapping.aligned_dim.is_some_and(|dim| factor(*axis, dim) != 0);
    let is_guarded = |axis: &usize, [whole, _]: &[AffineExpr<'_>; 2]| {
        let concerns = (0..new.dims.len())
            .filter(|dim| whole.is_function_of_dim(*dim))
            .all(|dim| used.iter().any(|old| factor(dim, *old) != 0));
        concerns && whole.is_function_of_dim(*axis)
    };
    let ends_of_guards = new.guards.iter().filter_map(|guard| {
        let mut of_run = (first..axes.len()).filter(|position| is_guarded(&axes[*position], guard));
        of_run.next()
    });
    let end_of_shifted = (first..axes.len()).find(|position| is_shifted(&axes[*position]));
    let first = ends_of_guards.chain(end_of_shifted).fold(first, usize::max);
    let outer = axes[..first]
        .iter()
        .map(|axis| new.dims[*axis].extent.constant_value());
    outer.fold(1, i64::saturating_mul)
}
