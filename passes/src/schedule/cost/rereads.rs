//! Rereads: how often loops pass over an access, and what each further pass costs.

use norma_dialects::norm::{CachePlace, Level};

use super::{
    super::{
        facts::{Access, Facts, Reduction, Use},
        spread::Spread,
    },
    candidate::Candidate,
    mapped::Mapped,
    measured::*,
    rounds,
};

/// Whether a reduction ranges over a loop whose points are needed again behind it, so that they have to be read again.
pub(super) fn passes_in_loop(facts: &Facts, dims: &[Spread], reduction: &Reduction) -> bool {
    let is_looped = |dim: usize| dims[dim].is_looped && facts.dims[dim].is_revisited;
    (0..dims.len()).any(|dim| reduction.over[dim] && is_looped(dim))
}

/// Reading again: the cost of loops that pass over a dim more than once, in per cent of a copy's time.
pub(super) fn reading_again(candidate: &Candidate<'_>) -> f64 {
    let Mapped {
        facts, mapping, dims, ..
    } = &candidate.mapped;
    let target = candidate.target;
    let ctas_on_sm = candidate.resident_now();
    let ctas_at_once = ctas_on_sm * candidate.sms();
    let is_looped = |dim: usize| dims[dim].is_looped && facts.dims[dim].is_revisited;
    if !(0..dims.len()).any(is_looped) {
        return 0.0;
    }
    let in_loop = |reduction: &Reduction| passes_in_loop(facts, dims, reduction);
    let reused = || facts.accesses.iter().filter(|access| access.is_reused);
    // Tiles of held steps are read once.
    let again = |access: &Access| 1.0 - candidate.mapped.share_of_held_steps(access);
    let rows = reused()
        .map(|access| bytes_of_cta(access, dims) * again(access))
        .sum::<f64>();
    let l2 = target.part.l2_bytes as f64;
    let evicted = ((rows * ctas_at_once / l2 - L2_FULL[0]) / (L2_FULL[1] - L2_FULL[0])).clamp(0.0, 1.0);
    let from_l2 = AGAIN_FROM_L2 + EVICTED_FROM_L2 * evicted;
    let l1_full = through_l1(candidate, &is_looped) / f64::from(target.l1_and_shared);
    let mut lost = 0.0;
    for access in reused() {
        let passes = passes(facts, access, mapping.merges_at(Level::Loop), &in_loop);
        let share = passes.saturating_sub(1) as f64 * candidate.mapped.share(access) * again(access);
        // Each CTA of a cluster invalidates L1 when it starts, including the lines of other CTAs on its SM.
        let is_left_alone = mapping.ctas_per_cluster() == 1 || ctas_on_sm <= 1.0;
        lost += share
            * match mapping.place(access.buffer) {
                CachePlace::L1 if is_left_alone => {
                    let in_l1 = (L1_SHARE / l1_full).min(1.0);
                    in_l1 * AGAIN_FROM_L1 + (1.0 - in_l1) * from_l2
                }
                // Hints for a cache that does not hold the row only displace other lines.
                CachePlace::L1 => MISPLACED + from_l2,
                CachePlace::L2 => from_l2,
                _ => 100.0,
            };
    }
    lost
}

/// Loops of walks: a walk over rows that a CTA passes over in loops, once for each reduction, waits for memory in the steps of each.
pub(super) fn loops_of_walks(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let dims = mapped.facts.dims.iter().zip(&mapped.dims);
    let looped = || dims.clone().filter(|(_, spread)| spread.is_looped);
    let rereads = looped().any(|(dim, _)| dim.is_revisited);
    let walks = looped().any(|(dim, spread)| {
        let is_of_rows = dim.usage == Use::Both && !dim.is_revisited;
        is_of_rows && (!dim.is_known || spread.steps() > 1.0)
    });
    match rereads && walks && !mapped.is_ringed() {
        true => LOOPS_OF_WALK,
        false => 0.0,
    }
}

/// Bytes of an access that a CTA reads.
fn bytes_of_cta(access: &Access, dims: &[Spread]) -> f64 {
    let used = dims.iter().zip(&access.uses).filter(|(_, uses)| **uses);
    let points = used.map(|(dim, _)| dim.of_cta() as f64).product::<f64>();
    points * access.bytes as f64
}

/// Returns the bytes that pass through an SM's L1 between two passes over a row: the rows of each CTA but for held steps, and once the
/// weights, which all of them read.
fn through_l1(candidate: &Candidate<'_>, is_looped: &impl Fn(usize) -> bool) -> f64 {
    let Mapped { facts, dims, .. } = &candidate.mapped;
    let reads = facts.accesses.iter().filter(|access| !access.is_write);
    let in_loops = reads.filter(|access| (0..dims.len()).any(|dim| access.uses[dim] && is_looped(dim)));
    let bytes = in_loops.map(|access| {
        let is_shared = (0..dims.len()).all(|dim| !access.uses[dim] || is_looped(dim));
        let readers = if is_shared { 1.0 } else { candidate.resident_now() };
        let again = 1.0 - candidate.mapped.share_of_held_steps(access);
        bytes_of_cta(access, dims) * readers * again
    });
    bytes.sum()
}

/// Returns how many loops over reduced dims read an access, one after the other: the number of different rounds in which the
/// reductions and writes that need it run.
pub(super) fn passes(
    facts: &Facts,
    access: &Access,
    is_merged: bool,
    in_loop: &impl Fn(&Reduction) -> bool,
) -> usize {
    let loops = rounds::of_each(facts, is_merged, in_loop);
    let needs = access.needed_by.iter().map(|need| {
        let follows = need
            .reduction
            .and_then(|reduction| facts.reductions.get(reduction)?.follows);
        rounds::before(&need.waits_for, follows.filter(|_| is_merged), &loops)
    });
    let mut needs = needs.collect::<Vec<_>>();
    needs.sort_unstable();
    needs.dedup();
    needs.len()
}
