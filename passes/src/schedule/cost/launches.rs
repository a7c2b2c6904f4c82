//! Terms of CTAs and kernels as a whole: how they fill the SMs, and what starting them takes.

use norma_dialects::norm::Level;
use norma_targets::Target;

use super::{
    super::facts::{Facts, Reduction, Use},
    candidate::Candidate,
    measured::*,
};

/// Waves: SMs that run dry while others start new CTAs, in per cent of a copy's time. CTAs that walk over rows have equal
/// shares of them, so that those of the last wave take as long as the first ones.
pub(super) fn waves(candidate: &Candidate<'_>) -> f64 {
    let waves = candidate.waves();
    let mapped = &candidate.mapped;
    if mapped.walks_through_rings() || mapped.reduces_in_steps() {
        return 100.0 * RING_WAVES * (waves.max(1.0).ceil() / waves.max(1.0) - 1.0);
    }
    WAVES * (waves - 1.0).clamp(0.0, 1.0) / waves
}

/// CTA launches: the time to launch a CTA, spread over its threads, and the rate at which CTAs can be launched, in per cent of a
/// copy's time.
pub(super) fn cta_launches(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let cta_bytes = mapped.read / mapped.ctas();
    LAUNCH / mapped.threads() as f64
        + 100.0 * (1.0 - cta_bytes / LAUNCH_BYTES).max(0.0) * candidate.waves().min(1.0)
}

/// Idle SMs: fewer CTAs than SMs that have room for them, in per cent of a copy's time. The others move the bytes of SMs that have no room
/// for a cluster: LayerNorm over 65536 columns reaches 3977 GB/s by 30 persistent clusters of four, on 120 of 132 SMs (H200).
///
/// In walks through rings over rows that begin anywhere, each SM that has CTAs moves more bytes in their place, until its instructions take
/// longer: LayerNorm over 100001 columns reaches 2861 GB/s on 96 SMs.
pub(super) fn idle_sms(candidate: &Candidate<'_>) -> f64 {
    if candidate.mapped.walks_odd_rows_through_rings() {
        return 0.0;
    }
    100.0 * IDLE_SMS * (candidate.room(1) / candidate.mapped.ctas() - 1.0).max(0.0)
}

/// Uneven parts: steps in which only some of the CTAs that share a reduced dim have points left, in per cent of a copy's time. Those that walk
/// over rows have one more or less.
pub(super) fn uneven_parts(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let dims = mapped.facts.dims.iter().zip(&mapped.dims);
    let split = dims.filter(|(dim, spread)| {
        let is_shared = dim.usage == Use::Reduced || dim.is_revisited;
        is_shared && dim.is_known && spread.is_looped && spread.ctas > 1
    });
    let longer = split.map(|(_, spread)| {
        let covered = spread.steps() * (spread.tile * spread.ctas) as f64;
        covered / spread.extent as f64 - 1.0
    });
    100.0 * longer.sum::<f64>()
}

/// A reduction decides over which points the second kernel is spread if its partial results have at least one in so many of the bytes of
/// the largest ones. Smaller ones are combined wherever they are needed.
const FEW_PARTIALS: f64 = 32.0;

/// A second kernel, which combines the partial results of a split, and a third, if results are broadcast along the split dim again,
/// in microseconds; and, in per cent of a copy's time, the partial results, which are written and read again by as many SMs as
/// there are points to combine them at.
pub(super) fn second_kernel(candidate: &Candidate<'_>) -> (f64, f64) {
    let mapped = &candidate.mapped;
    let parts = mapped.parts();
    if parts <= 1.0 {
        return (0.0, 0.0);
    }
    let is_split = |dim: usize| {
        let mut factors = mapped.mapping.spread[dim].iter();
        factors.any(|factor| factor.level == Level::Split)
    };
    let leaves_partials =
        |reduction: &Reduction| (0..mapped.dims.len()).any(|dim| reduction.over[dim] && is_split(dim));
    let result_bytes = |reduction: &Reduction| {
        let kept = (0..mapped.dims.len()).filter(|dim| reduction.keeps[*dim]);
        let results = kept.map(|dim| mapped.dims[dim].extent as f64).product::<f64>();
        results * reduction.bytes as f64
    };
    let reductions = &mapped.facts.reductions;
    let partials = || reductions.iter().filter(|reduction| leaves_partials(reduction));
    let scratch = partials().map(result_bytes).sum::<f64>();
    // Few partial results, such as numbers of points, are combined wherever they are needed.
    let largest = partials().map(result_bytes).fold(0.0, f64::max);
    let spreads = |reduction: &Reduction| {
        leaves_partials(reduction) && FEW_PARTIALS * result_bytes(reduction) >= largest
    };
    let finishing = f64::from(candidate.target.part.sms).min(points_behind(candidate, &spreads));
    let read_again = f64::from(candidate.target.part.sms) / finishing.max(1.0);
    // Partial results that are merged with those that they wait for need no other pass, unless something is written along the dim.
    let is_needed_again = |dim: usize| {
        let mut writes = mapped.facts.accesses.iter().filter(|access| access.is_write);
        let is_merged = mapped.mapping.merges_at(Level::Split);
        mapped.facts.dims[dim].is_revisited && (!is_merged || writes.any(|write| write.uses[dim]))
    };
    let comes_back = (0..mapped.dims.len()).any(|dim| is_split(dim) && is_needed_again(dim));
    let kernels = if comes_back { 2.0 } else { 1.0 };
    let is_reduced = |dim: &usize| partials().any(|reduction| reduction.over[*dim]);
    let warps = (0..mapped.dims.len())
        .filter(is_reduced)
        .map(|dim| (mapped.dims[dim].warps * mapped.dims[dim].cluster) as f64)
        .product::<f64>();
    (
        kernels * KERNEL_US + END_OF_PART_US * warps.log2(),
        100.0 * (1.0 + read_again) * parts * scratch / mapped.bytes,
    )
}

/// Microseconds in which three kernels reduce in two stages, over the dim `inner` in the second, and compute what needs the results
/// (`norm-stage-reductions`), or two if nothing is needed again. The reads that are reduced are made twice, both times in long rows;
/// results are written and read again, one for each point of `inner`, and partial results likewise for each of `parts`.
pub fn staged_us(facts: &Facts, inner: usize, parts: u64, target: &Target) -> f64 {
    let (read, written) = facts.traffic();
    let left = |reduction: &Reduction| {
        let dims = (0..facts.dims.len()).filter(|dim| reduction.keeps[*dim] || *dim == inner);
        let points = dims.map(|dim| facts.dims[dim].extent as f64).product::<f64>();
        points * reduction.bytes as f64
    };
    let results = 2.0 * facts.reductions.iter().map(left).sum::<f64>();
    let partials = results * parts as f64;
    let comes_back = facts.dims.iter().any(|dim| dim.is_revisited);
    let (bytes, kernels) = match comes_back {
        true => (2.0 * read + written + partials + results, 3.0),
        false => (read + written + partials, 2.0),
    };
    let speed = target.part.bandwidth * target.part.copy_efficiency;
    1e6 * bytes / speed * STAGED + kernels * KERNEL_US
}

/// The parts in which the first of these kernels reduces `points` rows of `row_bytes` bytes each, for each of `kept` points: as many as give
/// each SM [`CTAS_OF_STAGE`] CTAs that read [`RUN_OF_STAGE`] bytes of each row, if a part then has [`ROWS_OF_PART`] rows.
pub fn parts_of_stage(kept: u64, points: u64, row_bytes: u64, target: &Target) -> u64 {
    let ctas = kept * row_bytes.div_ceil(RUN_OF_STAGE);
    let wanted = (u64::from(target.part.sms) * CTAS_OF_STAGE).div_ceil(ctas.max(1));
    let wanted = wanted.min(points / ROWS_OF_PART).max(1);
    // Parts of equal length need no guards.
    let divides = |parts: &u64| points.is_multiple_of(*parts);
    (wanted..2 * wanted).find(divides).unwrap_or(wanted)
}

/// Returns the number of points over which the kernel that combines partial results is spread: those of the dims that all reductions
/// selected by `spreads` keep, and that no later reduction which waits for one of them ranges over.
fn points_behind(candidate: &Candidate<'_>, spreads: &dyn Fn(&Reduction) -> bool) -> f64 {
    let mapped = &candidate.mapped;
    let reductions = &mapped.facts.reductions;
    // Reductions are in order: each comes behind those that it waits for.
    let mut is_behind = Vec::<bool>::with_capacity(reductions.len());
    for reduction in reductions {
        let hangs = |number: &usize| spreads(&reductions[*number]) || is_behind.get(*number) == Some(&true);
        is_behind.push(reduction.waits_for.iter().any(hangs));
    }
    let is_spread = |dim: usize| {
        let mut all = reductions.iter().zip(&is_behind);
        all.all(|(reduction, is_behind)| match spreads(reduction) {
            true => reduction.keeps[dim],
            false => !is_behind || !reduction.over[dim],
        })
    };
    let dims = (0..mapped.dims.len()).filter(|dim| is_spread(*dim));
    dims.map(|dim| mapped.dims[dim].extent as f64).product()
}
