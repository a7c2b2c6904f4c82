//! Terms of threads that wait for one another, in per cent of a copy's time.

use norma_dialects::norm::Level;

use super::{
    super::facts::Use,
    candidate::{Candidate, bandwidth_per_sm},
    instructions::{rounds_between_ctas, rounds_between_warps},
    measured::*,
};

/// Barriers: a CTA that waits at one, for a reduction or for a tile that goes through shared memory, stops all its warps, and only
/// others on its SM read meanwhile.
pub(super) fn barriers(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let resident_now = candidate.resident_now();
    let is_exchanged = mapped.is_exchanged();
    match (mapped.crosses_warps() || is_exchanged, mapped.is_looped()) {
        (true, false) => {
            let rounds = rounds_between_warps(mapped.facts, &mapped.dims) + usize::from(is_exchanged);
            let rounds = rounds as f64;
            let alone = if candidate.resident == 1 { ALONE } else { 0.0 };
            LONE_CTA * rounds.powi(2) / resident_now + alone
        }
        (true, true) if mapped.is_ringed() => LONE_RING_CTA / (resident_now * resident_now),
        (true, true) => LONE_WALKING_CTA / (resident_now * resident_now),
        (false, _) => LONE_CTA_OF_WARPS / resident_now,
    }
}

/// Few warps: rows that fewer than four warps walk with merged reductions.
pub(super) fn few_warps(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    match mapped.is_looped() && mapped.mapping.merge_reductions {
        true => FEW_WARPS * (1.0 - mapped.warps_of_row() as f64 / 4.0).max(0.0),
        false => 0.0,
    }
}

/// Clusters: CTAs that start and end together, and that wait for each other's partial results. What a CTA waits, others hide that are
/// on its SM, as far as they do not wait themselves. In a walk through a ring copies go on meanwhile, and what a step waits is measured.
pub(super) fn clusters(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    if mapped.mapping.ctas_per_cluster() == 1 {
        return 0.0;
    }
    let cta_us = 1e6 * mapped.bytes / mapped.ctas() / bandwidth_per_sm(candidate.target);
    let stalled = rounds_between_ctas(mapped.facts, &mapped.dims) * EXCHANGE_US / cta_us;
    let resident = candidate.resident_now();
    if mapped.is_ringed() && mapped.is_looped() {
        let warps = resident * mapped.threads() as f64 / WARP as f64;
        let ctas = mapped.mapping.ctas_per_cluster() as f64;
        let rounds = rounds_between_ctas(mapped.facts, &mapped.dims);
        let waits = rounds * RING_EXCHANGE_US * ctas * (warps / RING_WARPS).powi(2);
        return 100.0 * waits / candidate.ideal_us();
    }
    CLUSTER + 100.0 * stalled / resident.powi(2)
}

/// Late reads: what results alone need of a held row is read behind its reductions, and a CTA has nothing else under way meanwhile. What is
/// read element by element, and beside rows that copies bring, is never read early, and the terms of those have it in them.
pub(super) fn late_reads(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    if mapped.mapping.extent(Level::Vector) == 1 && mapped.mapping.ctas_per_cluster() == 1 {
        return 0.0;
    }
    let mut accesses = mapped.facts.accesses.iter();
    let are_late = accesses.any(|access| mapped.facts.is_late(access));
    if mapped.is_looped() || mapped.is_ringed() || mapped.mapping.early_reads || !are_late {
        return 0.0;
    }
    let cta_us = 1e6 * mapped.bytes / mapped.ctas() / bandwidth_per_sm(candidate.target);
    100.0 * LATE_READS_US / cta_us / candidate.resident_now().powi(2)
}

/// Shared barriers: rows of one CTA that wait for each other.
pub(super) fn shared_barriers(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let kept = mapped.facts.dims.iter().zip(&mapped.dims);
    let kept = kept.filter(|(dim, _)| dim.usage == Use::Kept);
    let beside = kept.map(|(_, spread)| spread.tile).product::<u64>();
    match mapped.crosses_warps() && beside > 1 {
        true => SHARED_BARRIER,
        false => 0.0,
    }
}
