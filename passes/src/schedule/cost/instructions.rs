//! The time that a kernel's instructions take.

use norma_dialects::norm::Level;

use super::{
    super::facts::{Access, Reduction},
    accesses::exchange_ops,
    candidate::Candidate,
    mapped::Mapped,
    measured::*,
    rounds, runs,
    waiting::longer,
};

/// Instructions: microseconds by which a kernel takes longer than its bytes because it issues instructions meanwhile. Memory, the issue slots
/// and, where runs go through it, shared memory work beside one another, but do not overlap in full. For a walk whose rows arrive while it
/// computes they count among what its steps take ([`super::waiting`]).
pub(super) fn instructions_us(candidate: &Candidate<'_>) -> f64 {
    match candidate.mapped.overlaps_steps() {
        true => 0.0,
        false => {
            let ideal_us = candidate.ideal_us();
            let beside = [issue_us(candidate), runs::shared_us(candidate)].map(|us| us / ideal_us);
            let power = match candidate.mapped.facts.reductions.is_empty() {
                true => ELEMENTWISE_OVERLAP_POWER,
                false => OVERLAP_POWER,
            };
            ideal_us * longer(&beside, power) / 100.0
        }
    }
}

/// Microseconds in which the SMs that have CTAs issue the instructions of all threads, with the warps that they have.
pub(super) fn issue_us(candidate: &Candidate<'_>) -> f64 {
    let needed = match candidate.mapped.is_looped() {
        true => ISSUING_WARPS,
        false => ISSUING_WARPS_OF_HELD,
    };
    candidate.all_issue_us() / (candidate.warps() / needed).min(1.0)
}

/// Like [`issue_us`], with warps enough for all issue slots. [`Candidate::all_issue_us`] caches it.
pub(super) fn all_issue_us(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let of_lanes = body_work(mapped)
        + merging_work(mapped)
        + covering_work(mapped)
        + exchange_work(mapped)
        + exchange_ops(candidate)
        + runs::ops(candidate);
    let ops = of_lanes / mapped.live_lanes().max(0.01) + row_ends_work(mapped);
    let ops_per_second = f64::from(WARP as u32) * ISSUE_PER_SM * candidate.sms() * candidate.busy();
    1e6 * ops * INSTRUCTIONS_PER_OP / ops_per_second
}

/// Ops of the body. An access is one op for all elements that a thread moves together, in each pass over them; one that several points of a
/// thread share is made once for them. Those of runs count as [`runs::ops`].
fn body_work(mapped: &Mapped<'_>) -> f64 {
    let facts = mapped.facts;
    let points = facts.dims.iter().map(|dim| dim.extent as f64).product::<f64>();
    let made = |access: &Access| {
        let elements = (mapped.width(access) * mapped.sharing(access)) as f64;
        mapped.passes(access) * points / elements
    };
    let accesses = || facts.accesses.iter();
    let all_made = accesses()
        .filter(|access| !mapped.takes_runs(access))
        .map(made)
        .sum::<f64>();
    // The facts count an op for each element.
    let of_elements = accesses()
        .map(|access| access.total_elements(&facts.dims))
        .sum::<f64>();
    (facts.work - of_elements).max(0.0) + all_made
}

/// Ops for the ends of rows with alignment peeling. Whichever lanes have them, all threads of a row execute the predicates, the selection of
/// elements and the accesses of single elements for its first and its last vector, in each pass over an access that moves a good part of all
/// bytes. From a ring vectors are read as a whole, and only warps that have an end enter the branch that replaces elements.
fn row_ends_work(mapped: &Mapped<'_>) -> f64 {
    let Some(aligned) = mapped.mapping.aligned_dim.filter(|_| !mapped.is_ringed()) else {
        return 0.0;
    };
    let along = &mapped.dims[aligned];
    let threads = (along.threads() * along.cluster) as f64;
    let of = |access: &Access| {
        let rows = access.total_elements(&mapped.facts.dims) / along.extent as f64;
        mapped.passes(access) * rows * threads
    };
    let accesses = mapped.facts.accesses.iter();
    let with_ends = accesses.filter(|access| access.uses[aligned] && mapped.streams(access));
    with_ends.map(of).sum::<f64>() * OPS_OF_ROW_ENDS
}

/// Ops that combining partial results of merged reductions takes beyond the reductions themselves, in all threads and steps.
fn merging_work(mapped: &Mapped<'_>) -> f64 {
    let reductions = mapped.facts.reductions.iter();
    let followers = reductions.filter(|reduction| reduction.follows.is_some());
    let combinations = followers.map(|reduction| {
        let in_loops = match mapped.is_merged(reduction) {
            true => combinations_in_loops(mapped, reduction),
            false => 0.0,
        };
        // Results of a thread whose partial results have as many elements share the weights.
        let sharing = match reduction.weighs_by_count {
            true => registers_of_results(mapped, reduction) as f64,
            false => 1.0,
        };
        let of_loop = match mapped.mapping.unroll_bytes > 0 && reduction.weighs_by_count {
            true => OPS_PER_UNROLLED_MERGE,
            false => OPS_PER_WEIGHTED_MERGE + (OPS_PER_MERGE - OPS_PER_WEIGHTED_MERGE) / sharing,
        };
        in_loops * of_loop + combinations_of_threads(mapped, reduction) * OPS_PER_MERGE
    });
    combinations.sum()
}

/// Partial results of a merged reduction that loops combine, one for each thread and step.
fn combinations_in_loops(mapped: &Mapped<'_>, reduction: &Reduction) -> f64 {
    let dims = &mapped.dims;
    (0..dims.len())
        .map(|dim| match (reduction.over[dim], reduction.keeps[dim]) {
            (true, _) => dims[dim].extent as f64 / dims[dim].registers as f64,
            (false, true) => dims[dim].extent as f64,
            (false, false) => 1.0,
        })
        .product()
}

/// Returns how many partial results of a merged reduction threads combine where lanes, warps or the CTAs of a cluster meet: one in
/// each butterfly step between lanes, and those of all warps and CTAs in every thread.
fn combinations_of_threads(mapped: &Mapped<'_>, reduction: &Reduction) -> f64 {
    let dims = &mapped.dims;
    let over = || (0..dims.len()).filter(|dim| reduction.over[*dim]);
    let mut of_result = 0.0;
    if mapped.mapping.merges_at(Level::Lane) {
        let lanes = over().map(|dim| dims[dim].lanes).product::<u64>();
        let warps = over().map(|dim| dims[dim].warps).product::<u64>();
        of_result += f64::from(lanes.ilog2()) + (warps - 1) as f64;
    }
    if mapped.mapping.merges_at(Level::Cluster) {
        of_result += (over().map(|dim| dims[dim].cluster).product::<u64>() - 1) as f64;
    }
    of_result * results_of_thread(mapped, reduction) * mapped.ctas() * mapped.threads() as f64
}

/// Partial results that warps leave for the elements of a vector of results beyond its first: (length of the vector - 1) * warps. 0 for a
/// reduction that a loop carries, which is exchanged only once, behind the loop.
fn further_results(mapped: &Mapped<'_>, reduction: &Reduction) -> f64 {
    if mapped.is_carried(reduction) {
        return 0.0;
    }
    let dims = &mapped.dims;
    let vectors = (0..dims.len())
        .filter(|dim| reduction.keeps[*dim])
        .map(|dim| dims[dim].vector);
    let warps = (0..dims.len())
        .filter(|dim| reduction.over[*dim])
        .map(|dim| dims[dim].warps);
    (vectors.product::<u64>() - 1) as f64 * warps.product::<u64>() as f64
}

/// Returns the number of results of a reduction that a thread has, over all steps of the loops that they vary over.
fn results_of_thread(mapped: &Mapped<'_>, reduction: &Reduction) -> f64 {
    registers_of_results(mapped, reduction) as f64 * rounds::steps(&mapped.dims, reduction)
}

/// The number of results of a reduction that a thread has at a time.
fn registers_of_results(mapped: &Mapped<'_>, reduction: &Reduction) -> u64 {
    let kept = (0..mapped.dims.len()).filter(|dim| reduction.keeps[*dim]);
    kept.map(|dim| mapped.dims[dim].registers).product()
}

/// Ops that shift vectors out of the aligned words around them, once for the points of a thread that share them.
fn covering_work(mapped: &Mapped<'_>) -> f64 {
    let Some(aligned) = mapped.mapping.aligned_dim else {
        return 0.0;
    };
    let points = mapped.dims.iter().map(|dim| dim.extent as f64).product::<f64>();
    let shifted = |access: &Access| points / mapped.sharing(access) as f64;
    let accesses = mapped.facts.accesses.iter();
    let accesses = accesses.filter(|access| !mapped.is_same_in_all_steps(access));
    let covered = accesses.filter(|access| mapped.facts.covers(access, aligned));
    covered.map(shifted).sum::<f64>() * OPS_PER_SHIFT
}

/// Ops of all threads to exchange partial results: for each reduction once for each step of the loops that its result varies over.
/// Reductions that are merged at the cluster share one exchange. Those that are merged at lanes and warps still shuffle and store each
/// its own words; what it takes to combine them there, where they meet, is [`merging_work`].
fn exchange_work(mapped: &Mapped<'_>) -> f64 {
    let dims = &mapped.dims;
    let of = |reduction: &Reduction| {
        let over = || (0..dims.len()).filter(|dim| reduction.over[*dim]);
        let lanes = over().map(|dim| dims[dim].lanes).product::<u64>() as f64;
        let crosses_warps = over().any(|dim| dims[dim].warps > 1);
        let between_warps = match crosses_warps {
            true => OPS_BETWEEN_WARPS * (1.0 + further_results(mapped, reduction) * OPS_OF_FURTHER_RESULTS),
            false => 0.0,
        };
        let joins = reduction.follows.is_some() && mapped.mapping.merges_at(Level::Cluster);
        let crosses_ctas = over().any(|dim| dims[dim].cluster > 1) && !joins;
        let between_ctas = if crosses_ctas { OPS_BETWEEN_CTAS } else { 0.0 };
        let words = reduction.bytes.div_ceil(4) as f64;
        let of_word = OPS_PER_SHUFFLE * lanes.log2() + between_warps + between_ctas;
        results_of_thread(mapped, reduction) * words * of_word
    };
    mapped.ctas() * mapped.threads() as f64 * mapped.facts.reductions.iter().map(of).sum::<f64>()
}
