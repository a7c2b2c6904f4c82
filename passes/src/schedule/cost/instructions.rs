//! What a kernel takes in instructions, and what reductions take in waiting.

use super::{
    super::{
        facts::{Access, Facts, Reduction},
        spread::Spread,
    },
    accesses::exchange_ops,
    candidate::Candidate,
    mapped::Mapped,
    measured::*,
};

/// Instructions: microseconds by which issuing them takes longer than moving the bytes. Those of a walk through a ring are among what
/// its steps take ([`super::waiting`]).
pub(super) fn instructions_us(candidate: &Candidate<'_>) -> f64 {
    match candidate.mapped.walks_through_rings() {
        true => 0.0,
        false => (issue_us(candidate) - candidate.ideal_us()).max(0.0),
    }
}

/// Microseconds in which the SMs that have CTAs issue the instructions of all threads, with the warps that they have.
pub(super) fn issue_us(candidate: &Candidate<'_>) -> f64 {
    candidate.all_issue_us() / (candidate.warps() / ISSUING_WARPS).min(1.0)
}

/// The same with warps enough for all issue slots. [`Candidate::all_issue_us`] remembers it.
pub(super) fn all_issue_us(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let all_threads = mapped.ctas() * mapped.threads() as f64;
    let ops = mapped.facts.work
        + merging_work(mapped)
        + covering_work(mapped)
        + exchange_work(mapped.facts, &mapped.dims, all_threads)
        + exchange_ops(candidate);
    let ops_per_second = f64::from(WARP as u32)
        * ISSUE_PER_SM
        * candidate.sms()
        * candidate.busy()
        * mapped.live_lanes().max(0.01);
    1e6 * ops * INSTRUCTIONS_PER_OP / ops_per_second
}

/// Ops that combining partial results of merged reductions takes beyond the reductions themselves, in all threads and steps.
fn merging_work(mapped: &Mapped<'_>) -> f64 {
    let dims = &mapped.dims;
    let combinations = |reduction: &Reduction| {
        (0..dims.len())
            .map(|dim| match (reduction.over[dim], reduction.keeps[dim]) {
                (true, _) => dims[dim].extent as f64 / dims[dim].registers as f64,
                (false, true) => dims[dim].extent as f64,
                (false, false) => 1.0,
            })
            .product::<f64>()
    };
    let reductions = mapped.facts.reductions.iter();
    let merged = reductions.filter(|reduction| mapped.is_merged(reduction));
    merged.map(combinations).sum::<f64>() * OPS_PER_MERGE
}

/// Ops that shift what is read as the aligned words around vectors, once for the points of a thread that share it.
fn covering_work(mapped: &Mapped<'_>) -> f64 {
    let Some(aligned) = mapped.mapping.aligned_dim else {
        return 0.0;
    };
    let points = mapped.dims.iter().map(|dim| dim.extent as f64).product::<f64>();
    let shifted = |access: &Access| points / mapped.sharing(access) as f64;
    let accesses = mapped.facts.accesses.iter();
    let covered = accesses.filter(|access| mapped.facts.covers(access, aligned));
    covered.map(shifted).sum::<f64>() * OPS_PER_SHIFT
}

/// Ops of all threads for what they tell each other: each reduction once for each step of the loops that its result varies over.
fn exchange_work(facts: &Facts, dims: &[Spread], all_threads: f64) -> f64 {
    let of = |reduction: &Reduction| {
        let over = || (0..dims.len()).filter(|dim| reduction.over[*dim]);
        let lanes = over().map(|dim| dims[dim].lanes).product::<u64>() as f64;
        let crosses_warps = over().any(|dim| dims[dim].warps > 1);
        let times = (0..dims.len())
            .filter(|dim| !reduction.over[*dim] && dims[*dim].is_looped)
            .map(|dim| dims[dim].steps())
            .product::<f64>();
        let between_warps = if crosses_warps { OPS_BETWEEN_WARPS } else { 0.0 };
        let crosses_ctas = over().any(|dim| dims[dim].cluster > 1);
        let between_ctas = if crosses_ctas { OPS_BETWEEN_CTAS } else { 0.0 };
        let kept = (0..dims.len()).filter(|dim| reduction.keeps[*dim]);
        let results = kept.map(|dim| dims[dim].registers).product::<u64>() * reduction.bytes.div_ceil(4);
        times * results as f64 * (OPS_PER_SHUFFLE * lanes.log2() + between_warps + between_ctas)
    };
    all_threads * facts.reductions.iter().map(of).sum::<f64>()
}

/// How often warps wait for each other, as [`rounds_between`].
pub(super) fn rounds_between_warps(facts: &Facts, dims: &[Spread]) -> f64 {
    rounds_between(facts, dims, |dim| dim.warps > 1)
}

/// How often CTAs of a cluster wait for each other, as [`rounds_between`].
pub(super) fn rounds_between_ctas(facts: &Facts, dims: &[Spread]) -> f64 {
    rounds_between(facts, dims, |dim| dim.cluster > 1)
}

/// Reductions that wait for one another and range over a dim that is `shared`, in each step of the loops that their results vary over.
fn rounds_between(facts: &Facts, dims: &[Spread], shared: impl Fn(&Spread) -> bool) -> f64 {
    let crosses =
        |reduction: &Reduction| (0..dims.len()).any(|dim| reduction.over[dim] && shared(&dims[dim]));
    let steps = |reduction: &Reduction| {
        (0..dims.len())
            .filter(|dim| !reduction.over[*dim] && dims[*dim].is_looped)
            .map(|dim| dims[dim].steps())
            .product::<f64>()
    };
    let crossing = facts.reductions.iter().filter(|reduction| crosses(reduction));
    rounds(facts, &crosses) as f64 * crossing.map(steps).fold(1.0, f64::max)
}

/// The longest chain of reductions that wait for one another, of those that `counts` says count.
fn rounds(facts: &Facts, counts: &impl Fn(&Reduction) -> bool) -> usize {
    let mut ends = Vec::<usize>::new();
    for reduction in &facts.reductions {
        let waits = reduction.waits_for.iter().filter_map(|waited| ends.get(*waited));
        ends.push(waits.copied().max().unwrap_or(0) + usize::from(counts(reduction)));
    }
    ends.into_iter().max().unwrap_or(0)
}
