//! Launches with few bytes: microseconds that threads wait, however busy memory is.
//!
//! A launch of few rows is over before memory is ever busy. What it takes beside its bytes is the time of one CTA from its first load to its
//! last store, in which each wait counts in full, and the terms of throughput say nothing. The constants are fitted to 2428 schedules of 92
//! norms of 1 to 256 rows of 513 to 65536 columns, with a root mean square error of 12% (H200, docs/measurements/few-rows.md). What a launch
//! takes in any case is left out: it is the same for all candidates.

use super::{
    super::facts::{Access, Use},
    candidate::Candidate,
    mapped::Mapped,
    measured::*,
    rounds,
    waiting::has_late_reads,
};

/// Whether a kernel is known to have no more than [`SHORT_LAUNCH_ROWS`] rows and to move no more than [`SHORT_LAUNCH_BYTES`] for each SM, and
/// reduces rows that it needs again, all of which lie along memory. Other reads, reductions across rows, sums alone, and what walks carry were
/// not measured with few bytes.
pub(super) fn is_short(candidate: &Candidate<'_>) -> bool {
    let facts = candidate.mapped.facts;
    let mut dims = facts.dims.iter();
    let only_rows = dims.all(|dim| match dim.usage {
        Use::Kept => !dim.is_assumed,
        Use::Reduced => dim.is_revisited,
        Use::Both => false,
    });
    let along = facts.lead().and_then(Access::contiguous);
    let along_rows = along.is_some_and(|along| {
        let mut accesses = facts.accesses.iter();
        let is_along = accesses.all(|access| !access.uses[along] || access.strides[along] == Some(1));
        is_along && facts.dims[along].usage == Use::Reduced
    });
    let kept = facts.dims.iter().filter(|dim| dim.usage == Use::Kept);
    let rows = kept.map(|dim| dim.extent as f64).product::<f64>();
    let is_small = rows <= SHORT_LAUNCH_ROWS * candidate.sms()
        && candidate.mapped.bytes <= SHORT_LAUNCH_BYTES * candidate.sms();
    only_rows && along_rows && is_small
}

/// What threads wait for, in microseconds.
pub(super) fn waits_us(candidate: &Candidate<'_>) -> [(&'static str, f64); 8] {
    let mapped = &candidate.mapped;
    let waves = candidate.waves().max(1.0).ceil();
    [
        ("reads before writes", reads_before_writes_us(candidate)),
        ("loads", loads_us(candidate)),
        ("rounds", waves * rounds_us(mapped)),
        ("clusters", waves * clusters_us(mapped)),
        ("CTAs on an SM", SHORT_CTA_US * (ctas_of_sm(candidate) - 1.0)),
        ("steps", waves * steps_us(mapped)),
        ("rings", rings_us(mapped)),
        ("row ends", ends_of_rows_us(mapped)),
    ]
}

/// CTAs of the SM that has the most, in all waves.
fn ctas_of_sm(candidate: &Candidate<'_>) -> f64 {
    (candidate.mapped.ctas() / candidate.sms()).ceil()
}

/// A CTA reads before it reduces, and writes after: only other CTAs on its SM write while it reads, unless a ring brings its next rows.
fn reads_before_writes_us(candidate: &Candidate<'_>) -> f64 {
    match candidate.mapped.walks_through_rings() {
        true => 0.0,
        false => SHORT_SERIAL_SHARE * candidate.ideal_us() / candidate.resident_now(),
    }
}

/// What a walk through a ring takes before its first tile is there.
fn rings_us(mapped: &Mapped<'_>) -> f64 {
    match mapped.walks_through_rings() {
        true => SHORT_RING_US,
        false => 0.0,
    }
}

/// Loads of a thread beyond the first, and reads that only results need and that are issued behind the reductions.
fn loads_us(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let late = match has_late_reads(candidate) {
        true => SHORT_LATE_READS_US,
        false => 0.0,
    };
    SHORT_LOAD_US * mapped.further_loads() + late + SHORT_LATE_ACCESS_US * late_accesses(mapped)
}

/// Accesses of a thread that only results need and that are issued behind the reductions.
fn late_accesses(mapped: &Mapped<'_>) -> f64 {
    let of_thread = |access: &Access| mapped.held(access) as f64 / mapped.width(access) as f64;
    let late = mapped
        .facts
        .accesses
        .iter()
        .filter(|access| mapped.facts.is_late(access));
    match mapped.mapping.early_reads {
        true => 0.0,
        false => late.map(of_thread).sum(),
    }
}

/// Rounds in which the warps of a CTA, and the CTAs of a cluster, wait for one another.
fn rounds_us(mapped: &Mapped<'_>) -> f64 {
    let ctas = mapped.mapping.ctas_per_cluster() as f64;
    rounds::between_warps(mapped) * (SHORT_ROUND_US + SHORT_ROUND_OF_WARP_US * warps(mapped))
        + rounds::between_ctas(mapped) * (SHORT_EXCHANGE_US + SHORT_EXCHANGE_OF_DOUBLING_US * ctas.log2())
}

/// Warps of a CTA.
fn warps(mapped: &Mapped<'_>) -> f64 {
    (mapped.all_threads() / WARP) as f64
}

/// Clusters, whose CTAs start together and end together.
fn clusters_us(mapped: &Mapped<'_>) -> f64 {
    match mapped.mapping.ctas_per_cluster() {
        1 => 0.0,
        _ => SHORT_CLUSTER_OF_WARP_US * warps(mapped),
    }
}

/// Steps of loops beyond the first, in each pass over a row. What steps of a walk take beyond their rounds is hidden by the next tiles.
fn steps_us(mapped: &Mapped<'_>) -> f64 {
    if mapped.walks_through_rings() {
        return 0.0;
    }
    let passes = mapped.facts.accesses.iter().map(|access| mapped.passes(access));
    SHORT_STEP_US * (mapped.steps() * passes.fold(1.0, f64::max) - 1.0)
}

/// The ends of rows with alignment peeling.
fn ends_of_rows_us(mapped: &Mapped<'_>) -> f64 {
    match mapped.mapping.aligned_dim {
        Some(_) => SHORT_ROW_ENDS_US,
        None => 0.0,
    }
}

/// Instructions: those that a warp issues one after the other, and those that the fullest SM issues, some of them while it waits for memory.
pub(super) fn instructions_us(candidate: &Candidate<'_>) -> f64 {
    let issue_us = candidate.all_issue_us();
    let warps_of_scheduler =
        ctas_of_sm(candidate) * candidate.mapped.threads() as f64 / WARP as f64 / SCHEDULERS;
    SHORT_ISSUE * issue_us + SHORT_ISSUE_OF_WARP * issue_us / warps_of_scheduler
}
