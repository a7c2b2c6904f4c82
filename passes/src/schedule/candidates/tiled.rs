//! The mappings of one tile: which levels take the points that it does not hold, and what is kept where.

use std::cmp::Reverse;

use norma_dialects::norm::{CachePlace, Level};
use norma_targets::{ACCESS_BYTES, Target};

use super::{
    super::{
        dense_rows,
        facts::{Access, Facts, Reduction, Use},
        mapping::{Factor, Mapping},
        plan::UNROLLED_ELEMENTS,
        rings,
    },
    Extent,
    variants::{prefetching, push_held, unrolled},
};

/// CTAs for each SM that a dim is split into where there would be too few.
const SPLIT_CTAS_PER_SM: [u64; 4] = [1, 2, 3, 4];

/// Adds the mappings of a tile: the rest of each dim goes to the grid or to loops, and reused reads to where they can stay.
pub(super) fn add_mappings(facts: &Facts, target: &Target, tile: &[Extent], all: &mut Vec<Mapping>) {
    let registers = tile.iter().map(|extent| extent.registers * extent.vector);
    if registers.product::<u64>() > UNROLLED_ELEMENTS as u64 {
        return;
    }
    let tiled = Tiled::new(facts, target, tile);
    let places: &[&[CachePlace]] = if tiled.is_revisited() {
        &[&[CachePlace::L1], &[CachePlace::L2]]
    } else {
        &[&[]]
    };
    let merges = merges(facts, |dim| tiled.looped.contains(&dim));
    let can_merge_loops = merges.iter().any(|levels| levels.contains(&Level::Loop));
    for split in tiled.splits() {
        for (places, levels) in places
            .iter()
            .flat_map(|places| merges.iter().map(move |levels| (places, levels)))
        {
            let is_merged = levels.contains(&Level::Loop);
            // The parts of a row are reread by other CTAs, whose L1 does not have them, and can only be combined if their
            // reductions are merged.
            let is_shared = tiled.is_split_revisited(split);
            if is_shared && (places.contains(&CachePlace::L1) || is_merged != can_merge_loops) {
                continue;
            }
            let mut mapping = Mapping::new((0..tile.len()).map(|dim| tiled.spread(dim, split)).collect());
            mapping.keep = places.to_vec();
            let of_parts = (split.parts > 1 && is_merged).then_some(Level::Split);
            mapping.merge_reductions = of_parts.into_iter().chain(levels.iter().copied()).collect();
            tiled.add_variants(mapping, split, all);
        }
    }
}

/// A tile, and the dims that it does not cover.
struct Tiled<'f> {
    facts: &'f Facts,
    target: &'f Target,
    tile: &'f [Extent],
    /// The reduced dims that a CTA passes over in loops.
    looped: Vec<usize>,
    /// The looped dims whose points CTAs may share, longest first. One that is only summed up may be split over CTAs. If results are
    /// broadcast along it again, a split takes two kernels more, and is for kernels with too few CTAs for the SMs, however others are split.
    splittable: Vec<usize>,
    /// The CTAs that the kept dims take.
    ctas: u64,
}

/// The parts into which the points of a dim are divided, one for each of so many CTAs.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Split {
    /// `None` if no dim can be split.
    dim: Option<usize>,
    parts: u64,
}

impl<'f> Tiled<'f> {
    fn new(facts: &'f Facts, target: &'f Target, tile: &'f [Extent]) -> Self {
        let dims = &facts.dims;
        let covers = |dim: usize| dims[dim].is_known && tile[dim].points() >= dims[dim].extent;
        let is_looped = |dim: &usize| dims[*dim].usage != Use::Kept && !covers(*dim);
        let looped = (0..tile.len()).filter(is_looped).collect::<Vec<_>>();
        let ctas = (0..tile.len())
            .filter(|dim| dims[*dim].usage == Use::Kept)
            .map(|dim| dims[dim].extent.div_ceil(tile[dim].points()))
            .product::<u64>();
        let steps = |dim: &usize| dims[*dim].extent.div_ceil(tile[*dim].points());
        let mut splittable = looped.clone();
        splittable.retain(|dim| !dims[*dim].is_whole && !dims[*dim].is_counting);
        let once = splittable.iter().filter(|dim| !dims[**dim].is_revisited);
        let most = ctas.saturating_mul(once.map(steps).max().unwrap_or(1));
        splittable.retain(|dim| !dims[*dim].is_revisited || most < u64::from(target.part.sms));
        splittable.sort_by_key(|dim| Reverse((!dims[*dim].is_revisited, dims[*dim].extent)));
        Self {
            facts,
            target,
            tile,
            looped,
            splittable,
            ctas,
        }
    }

    /// The steps of the loop over a dim, if its extent is the one assumed.
    fn steps(&self, dim: usize) -> u64 {
        self.facts.dims[dim].extent.div_ceil(self.tile[dim].points())
    }

    fn is_revisited(&self) -> bool {
        self.looped.iter().any(|dim| self.facts.dims[*dim].is_revisited)
    }

    /// Whether other CTAs reread the parts that a CTA has reduced.
    fn is_split_revisited(&self, split: Split) -> bool {
        let mut dim = split.dim.into_iter();
        split.parts > 1 && dim.any(|dim| self.facts.dims[dim].is_revisited)
    }

    /// Whether CTAs walk over the points of a dim that may be split, such as the rows of a gradient: each point has results too, beside
    /// those of the reduction over all of them.
    fn is_walk(&self, dim: Option<usize>) -> bool {
        dim.is_some_and(|dim| self.facts.dims[dim].usage == Use::Both)
    }

    /// The splits to try.
    fn splits(&self) -> Vec<Split> {
        let sms = u64::from(self.target.part.sms);
        let mut splits = Vec::new();
        for dim in self.splittable.iter().copied() {
            let is_walk = self.is_walk(Some(dim));
            if self.ctas >= 4 * sms && !is_walk {
                continue;
            }
            let steps = self.steps(dim);
            // A split whose parts are known to be single points is refused.
            let most = match self.facts.dims[dim].is_known && self.tile[dim] == Extent::ONE {
                true => steps.div_ceil(2),
                false => steps,
            };
            let wanted = SPLIT_CTAS_PER_SM.map(|per_sm| {
                let parts = (per_sm * sms).div_ceil(self.ctas.max(1));
                parts.min(most).max(1)
            });
            let whole = (!is_walk).then_some(1);
            let wanted = wanted.map(|wanted| [self.equal_parts(dim, wanted), Some(wanted)]);
            for parts in whole.into_iter().chain(wanted.into_iter().flatten().flatten()) {
                let split = Split {
                    dim: Some(dim),
                    parts,
                };
                // What is not split is the same for all dims.
                let is_same = |other: &Split| *other == split || (parts == 1 && other.parts == 1);
                if !splits.iter().any(is_same) {
                    splits.push(split);
                }
            }
        }
        if splits.is_empty() {
            splits.push(Split { dim: None, parts: 1 });
        }
        splits
    }

    /// The most parts, of at least seven eighths of `wanted`, into which the splittable dim can be divided so that all take as many whole
    /// steps. Batch statistics of 32768 rows of 4096 columns take 64.7 us in 32 parts, and 66.5 in 33, the last of whose steps has rows for one
    /// part alone (docs/measurements/middle-axes.md). Walks, whose parts differ by a row, gain nothing.
    fn equal_parts(&self, dim: usize, wanted: u64) -> Option<u64> {
        let of_dim = &self.facts.dims[dim];
        let is_whole = of_dim.is_known && of_dim.extent.is_multiple_of(self.tile[dim].points());
        let steps = self.steps(dim);
        let least = (wanted - wanted / 8).max(2);
        let is_walk = self.is_walk(Some(dim)) && !of_dim.is_revisited;
        let mut parts = (least..=wanted).rev();
        parts.find(|parts| is_whole && !is_walk && steps.is_multiple_of(*parts))
    }

    /// The factors of a dim.
    fn spread(&self, dim: usize, split: Split) -> Vec<Factor> {
        let (extent, of_dim) = (self.tile[dim], &self.facts.dims[dim]);
        let mut factors = Vec::new();
        if of_dim.usage == Use::Kept {
            if !of_dim.is_known || extent.points() < of_dim.extent {
                factors.push(Factor::rest(Level::Grid));
            }
        } else if self.looped.contains(&dim) {
            factors.push(Factor::rest(Level::Loop));
            if Some(dim) == split.dim {
                factors.push(Factor::new(Level::Split, split.parts as i64));
            }
        }
        let registers = Factor::new(Level::Register, extent.registers as i64);
        let threads = [
            Factor::new(Level::Cluster, extent.ctas as i64),
            Factor::new(Level::Warp, extent.warps as i64),
            Factor::new(Level::Lane, extent.lanes as i64),
        ];
        match self.is_scanned_across_memory(dim) {
            true => factors.extend(threads.into_iter().chain([registers])),
            false => factors.extend([registers].into_iter().chain(threads)),
        }
        factors.push(Factor::new(Level::Vector, extent.vector as i64));
        factors.retain(|factor| factor.size != Some(1));
        factors
    }

    /// Whether a scan is along a dim whose points are no neighbours in memory. Each thread then takes points that follow each other, so that
    /// a warp leaves one partial sum: running sums over 4096 rows of 16384 f32 take 163 us with eight points in each thread of eight warps, and
    /// 197 us where the eight points are as far apart as eight warps reach (H200).
    fn is_scanned_across_memory(&self, dim: usize) -> bool {
        let is_contiguous = self.facts.lead().and_then(Access::contiguous) == Some(dim);
        !is_contiguous && self.facts.scans.iter().any(|scan| scan.over[dim])
    }

    /// Adds a mapping and its variants: with rings, unrolled, with reads ahead, by way of shared memory, and held.
    fn add_variants(&self, mapping: Mapping, split: Split, all: &mut Vec<Mapping>) {
        let (facts, target, looped) = (self.facts, self.target, &self.looped);
        let is_merged = mapping.merge_reductions.contains(&Level::Loop);
        let is_shared = self.is_split_revisited(split);
        let is_walk = self.is_walk(split.dim);
        let is_revisited = self.is_revisited();
        let is_alone = mapping.ctas_per_cluster() == 1;
        let ringed = (!is_shared && (is_alone || is_walk))
            .then(|| rings::ringed(facts, &mapping, target))
            .flatten();
        let is_held_walk = is_walk && !is_revisited && ringed.is_none();
        // If a row is split, another kernel rereads its parts, and a ring would serve nothing. Rings of clusters are split
        // otherwise (`clusters`).
        if !is_shared && is_alone {
            let in_turns = ringed
                .as_ref()
                .and_then(|ringed| rings::in_turns(facts, ringed, target));
            all.extend(ringed.into_iter().chain(in_turns));
        }
        let weighs_by_count = |reduction: &Reduction| {
            reduction.weighs_by_count && looped.iter().any(|dim| reduction.over[*dim])
        };
        let is_known = looped.iter().all(|dim| facts.dims[*dim].is_known);
        if is_merged && is_revisited && is_known && facts.reductions.iter().any(weighs_by_count) {
            let steps = looped.iter().map(|dim| self.steps(*dim)).product::<u64>();
            all.extend(unrolled(facts, &mapping, steps.div_ceil(split.parts)));
        }
        if (is_revisited || is_held_walk) && !is_shared && !is_merged {
            all.extend(prefetching(facts, &mapping, target));
        }
        if !is_shared {
            all.extend(dense_rows::as_runs(facts, &mapping, target));
        }
        let widest = facts.lead().map_or(0, |lead| lead.vector * lead.bytes);
        push_held(
            facts,
            mapping,
            widest >= ACCESS_BYTES as u64 && looped.is_empty(),
            all,
        );
    }
}

/// Returns the levels at which to try merging reductions with those that they wait for: at loops, if any reduction in a loop can be
/// merged, and at none. Merging saves a pass over the row and costs instructions in each step.
fn merges(facts: &Facts, is_looped: impl Fn(usize) -> bool) -> Vec<Vec<Level>> {
    let mut followers = facts
        .reductions
        .iter()
        .filter(|reduction| reduction.follows.is_some());
    let can_merge =
        followers.any(|reduction| (0..facts.dims.len()).any(|dim| reduction.over[dim] && is_looped(dim)));
    let merged = can_merge.then(|| vec![Level::Loop]);
    merged.into_iter().chain([Vec::new()]).collect()
}
