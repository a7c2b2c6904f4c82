//! Dynamic tile scheduling of a persistent kernel, `hand_out = dynamic`: its requirements on the schedule and on the kernel.
//!
//! The steps of the only loop are tiles that any CTA may work on: a CTA that has finished one draws the next (`gl.next_tile`). The
//! grid factor within the loop then gives the number of CTAs, and no longer says which steps belong to which CTA. The tiles that a
//! CTA draws depend on how fast the others are, so no value may depend on the steps that a CTA has made before. In particular there
//! may be no sum over the loop, which would be rounded differently from run to run.

use norma_dialects::norm::{CopyMechanism, HandOut, Level};

use super::{
    mapping::{Factor, Mapping},
    reason::Reason,
};
use crate::kernel::space::{Access, Space};

/// Returns the mapping that the kernel is tiled by: where tiles are drawn, the loop has the steps of all CTAs.
///
/// # Errors
///
/// The hand-out is dynamic, and the kernel or the rest of the mapping does not allow it.
pub(super) fn walked(space: &Space<'_, '_>, mapping: &Mapping) -> Result<Mapping, Reason> {
    let mut walked = mapping.clone();
    if mapping.hand_out == HandOut::Static {
        return Ok(walked);
    }
    let dim = drawn_dim(mapping)?;
    let factors = &mut walked.spread[dim];
    let ctas = match factors[..] {
        [_, grid, ..] if grid.level == Level::Grid => grid.size,
        _ => None,
    };
    let Some(ctas) = ctas else {
        return Err(Reason::wrong(format!(
            "expected the number of CTAs that draw the steps of dim {dim}, as in [loop, grid(264), ...], for hand_out = dynamic"
        )));
    };
    factors.remove(1);
    factors[0].size = factors[0].size.map(|steps| steps.saturating_mul(ctas));
    check_rest(&walked)?;
    check_kernel(space, dim)?;
    check_exchanges(space, &walked)?;
    check_producers(space, &walked, dim)?;
    Ok(walked)
}

/// Returns the dim whose steps CTAs draw: the only one with a loop, which has to be its outermost factor.
fn drawn_dim(mapping: &Mapping) -> Result<usize, Reason> {
    let is_loop = |factor: &Factor| factor.level == Level::Loop;
    let looped = (0..mapping.spread.len()).filter(|dim| mapping.spread[*dim].iter().any(is_loop));
    match looped.collect::<Vec<_>>()[..] {
        [dim] if mapping.spread[dim].first().is_some_and(is_loop) => Ok(dim),
        [dim] => Err(Reason::wrong(format!(
            "expected the loop of dim {dim} outside of its other factors for hand_out = dynamic"
        ))),
        [] => Err(Reason::wrong(
            "expected a dim that passes in a loop for hand_out = dynamic, got none",
        )),
        ref dims => Err(Reason::unsupported(format!(
            "hand_out = dynamic with loops over {} dims; supported: one",
            dims.len()
        ))),
    }
}

/// Refuses mappings that dynamic tiles do not support.
fn check_rest(walked: &Mapping) -> Result<(), Reason> {
    let is_of_grid = |factor: &Factor| factor.level == Level::Grid && factor.size != Some(1);
    if let Some(dim) = walked.spread.iter().position(|dim| dim.iter().any(is_of_grid)) {
        return Err(Reason::unsupported(format!(
            "hand_out = dynamic with CTAs along dim {dim} besides those that draw; supported: one grid factor, within the loop"
        )));
    }
    let is_ring = matches!(walked.bring, CopyMechanism::Bulk | CopyMechanism::Tensor);
    if walked.ctas_per_cluster() > 1 && !is_ring {
        return Err(Reason::unsupported(
            "hand_out = dynamic in clusters whose tiles are loaded; supported: tiles that bulk or tensor copies bring, and CTAs on their \
             own",
        ));
    }
    // The first copy of a step is issued once each CTA of the cluster has used its stage, and so has read what was drawn for that stage
    // before. With one stage this is the number that the next draw replaces.
    if walked.ctas_per_cluster() > 1 && walked.stages < 2 {
        return Err(Reason::unsupported(
            "hand_out = dynamic in clusters with one stage; supported: two stages or more",
        ));
    }
    if walked.bring == CopyMechanism::CpAsync {
        return Err(Reason::unsupported(
            "bring = cp_async with hand_out = dynamic; supported: load, bulk and tensor",
        ));
    }
    if walked.prefetches() {
        return Err(Reason::unsupported(format!(
            "stages = {} of registers with hand_out = dynamic; supported: 1, and stages in shared memory",
            walked.stages
        )));
    }
    Ok(())
}

/// Refuses clusters whose CTAs exchange nothing in a step. The one that draws for the others overwrites numbers that they have read, which
/// it knows from what they send in the steps between (`gl-pipeline`).
fn check_exchanges(space: &Space<'_, '_>, walked: &Mapping) -> Result<(), Reason> {
    let reduced = space.reduced_dims();
    let shares = |factor: &Factor| factor.level == Level::Cluster;
    let mut shared = (0..walked.spread.len()).filter(|dim| walked.spread[*dim].iter().any(shares));
    match shared.find(|dim| !reduced.contains(dim)) {
        Some(dim) => Err(Reason::unsupported(format!(
            "hand_out = dynamic in clusters along dim {dim}, which nothing is reduced over; supported: clusters that share a reduced dim"
        ))),
        None => Ok(()),
    }
}

/// Refuses producer warps that bring nothing for a step. They draw for the consumers, and know from the stages which these have released that
/// the number drawn before has been read (`gl-pipeline`); what is the same in all steps is brought once, ahead of the loop.
fn check_producers(space: &Space<'_, '_>, walked: &Mapping, dim: usize) -> Result<(), Reason> {
    let accesses = space.accesses().map_err(Reason::wrong)?;
    let is_brought = |access: &&Access<'_, '_>| !access.is_write && walked.copies_tiles_of(access);
    let mut brought = accesses.iter().filter(is_brought).peekable();
    let has_producers = walked.producer_warps > 0 && brought.peek().is_some();
    if has_producers && !brought.any(|access| access.dims().contains(&dim)) {
        return Err(Reason::unsupported(format!(
            "hand_out = dynamic with producer_warps = {} that bring nothing which varies along dim {dim}; supported: producers of what each \
             step needs",
            walked.producer_warps
        )));
    }
    Ok(())
}

/// Refuses kernels in which a step depends on others, or a result on no step.
fn check_kernel(space: &Space<'_, '_>, dim: usize) -> Result<(), Reason> {
    if space.reduced_dims().contains(&dim) {
        return Err(Reason::wrong(format!(
            "expected hand_out = static for dim {dim}, which is reduced: what CTAs draw would decide on how sums are rounded"
        )));
    }
    let mut scans = space.scans().into_iter();
    if scans.any(|scan| space.dims_scanned_by(scan).contains(&dim)) {
        return Err(Reason::wrong(format!(
            "expected hand_out = static for dim {dim}, which is scanned: a CTA does not come by all of its points"
        )));
    }
    let accesses = space.accesses().map_err(Reason::wrong)?;
    let mut writes = accesses.iter().filter(|access| access.is_write);
    match writes.find(|write| !write.dims().contains(&dim)) {
        Some(write) => Err(Reason::unsupported(format!(
            "hand_out = dynamic with results of buffer {} that do not vary along dim {dim}; supported: results of each step",
            write.buffer
        ))),
        None => Ok(()),
    }
}
