//! Schedules whose rows the CTAs of a cluster share.

use norma_dialects::norm::Level;
use norma_targets::{THREADS_PER_CTA, Target, WARP_SIZE};

use super::{
    super::{cluster_room, facts::Facts, mapping::Mapping, rings, rows_in_shared_memory},
    ACCESSES_PER_STEP, Extent, add_mappings, longest_along, next_dim_of_run, persistent, powers,
    registers_along,
    variants::prefetching,
};

/// CTAs on each SM in walks by clusters. Through rings, LayerNorm's gradient over 8192 columns in clusters of two reaches 3695 GB/s
/// with two CTAs on an SM, and 2440 with four; over 12288 columns 3988 with two and 2565 with three; over 16384 columns 3578 with
/// one and 985 with three. Where they hold their rows, over 10001 columns, 2526 with two, and 2362 with one that loads ahead (H100).
const WALKS_PER_SM: [u64; 2] = [1, 2];

/// The levels at which reductions of a row that a cluster holds are merged: one exchange between CTAs and one between warps instead of
/// one for each reduction. LayerNorm over 49152 columns reaches 2959 GB/s so and 2888 at best with two exchanges, over 65536 columns 2856
/// and 2735 (H100, docs/measurements/shared-weights.md).
const MERGED_IN_CLUSTER: [Level; 3] = [Level::Cluster, Level::Warp, Level::Lane];

/// The most warps of a CTA.
const WARPS: u64 = THREADS_PER_CTA as u64 / WARP_SIZE as u64;

/// Adds the candidates with clusters in which each CTA has accesses for all of its threads. Of a row that is needed again each CTA holds a
/// part; rows that are only summed up are split instead. Clusters of more CTAs than are portable hold rows along `first`: a sum with a
/// residual and its RMSNorm over 262144 columns reach 4126 GB/s by 16 CTAs, and 3728 at best by up to eight. Rows of several runs do not
/// reliably gain by them: GroupNorm with the channels last reaches 3804 or 3339 GB/s, depending on the registers of a thread, and 3711 with
/// eight (H200, docs/measurements/large-clusters.md).
pub(super) fn candidates(
    facts: &Facts,
    target: &Target,
    within: &[Extent],
    (first, vector): (usize, u64),
    all: &mut Vec<Mapping>,
) {
    let is_shared = |dim: usize| {
        let dim = &facts.dims[dim];
        dim.is_known && dim.is_revisited && !dim.is_whole
    };
    let is_other = |dim: &usize| *dim != first && within[*dim] == Extent::ONE && is_shared(*dim);
    for ctas in powers(2, target.cluster_size_non_portable.into()) {
        for warps in powers(1, WARPS) {
            let along = Extent {
                warps,
                lanes: WARP_SIZE as u64,
                vector,
                ..Extent::ONE
            };
            if is_shared(first) {
                along_row(facts, target, within, (first, Extent { ctas, ..along }), all);
            }
            if !target.is_portable(ctas) {
                continue;
            }
            for other in (0..facts.dims.len()).filter(is_other) {
                across_runs(facts, target, within, [first, other], (along, ctas), all);
            }
        }
    }
}

/// Adds the candidates in which the CTAs of a cluster lie along `first`.
fn along_row(
    facts: &Facts,
    target: &Target,
    within: &[Extent],
    (first, along): (usize, Extent),
    all: &mut Vec<Mapping>,
) {
    let dim = &facts.dims[first];
    if along.points() > dim.extent.next_power_of_two() {
        return;
    }
    for registers in registers_along(dim, along)
        .into_iter()
        .chain(longest_along(dim, along))
    {
        let mut tile = within.to_vec();
        tile[first] = Extent { registers, ..along };
        let mut mappings = Vec::new();
        add_mappings(facts, target, &tile, &mut mappings);
        // A row that fits in L1 is reread faster from there: RMSNorm by hand at 65536 columns, 128 KB, reached 4244 GB/s from L1,
        // and 4105 from the shared memory of a cluster; at 131072 columns 3766 and 4146 (H200).
        let held = mappings
            .iter()
            .filter_map(|mapping| rows_in_shared_memory::bulk_copied(facts, mapping, target));
        let row = |held: &Mapping| rows_in_shared_memory::bytes(facts, held) * along.ctas;
        all.extend(held.filter(|held| row(held) >= u64::from(target.l1_and_shared)));
        all.extend(resident_walks(facts, target, &mappings, along.ctas));
        let merges = gains_by_merging(facts, first);
        all.extend(persistent::variants(facts, target, &mappings, first, merges));
        all.extend(
            mappings
                .iter()
                .filter_map(|mapping| merged(facts, mapping, first)),
        );
        all.extend(mappings);
    }
}

/// Returns the variant of a mapping that holds a row along `first` in which reductions share their exchanges; `None` if it holds none, or
/// if no reduction gains by it. Sums of squares around a mean do. Sums of exponentials refer to a maximum, and are computed again once it
/// is known: softmax over 32768 columns reaches 3005 GB/s in either way, over 49152 columns 2800 merged and 3000 otherwise. The longer the
/// row, the slower are late reads: LayerNorm over 100352 columns reaches 2484 GB/s with them, and 2784 in a loop (H100).
fn merged(facts: &Facts, mapping: &Mapping, first: usize) -> Option<Mapping> {
    (is_held(mapping) && gains_by_merging(facts, first)).then(|| Mapping {
        merge_reductions: MERGED_IN_CLUSTER.to_vec(),
        ..mapping.clone()
    })
}

/// Whether a mapping holds its rows, with reads that are issued early.
pub(super) fn is_held(mapping: &Mapping) -> bool {
    mapping.looped_dims() == 0 && mapping.early_reads
}

/// Whether a reduction along `first` gains by sharing its exchange with the one that it follows, as sums of squares around a mean do.
fn gains_by_merging(facts: &Facts, first: usize) -> bool {
    let mut reductions = facts.reductions.iter();
    reductions
        .any(|reduction| reduction.follows.is_some() && reduction.weighs_by_count && reduction.over[first])
}

/// Adds the candidates for rows that consist of several runs, such as the channels of one group in a GroupNorm. Each run lies along
/// `first`, and a CTA holds it as a whole; `other` counts the runs, and the CTAs of a cluster and the warps that `along` leaves lie
/// along it. Where a run is shorter than a warp, the remaining lanes lie along the dim by which runs continue in memory, and along
/// `other`. GroupNorm of 64 by 64 positions by 512 channels in 32 groups, channels last, reaches 3380 GB/s in clusters of 8 CTAs with
/// two groups a CTA, and 2245 in loops of CTAs alone. What a cluster cannot hold passes in a loop: 32 images of 320 channels reach
/// 1690 GB/s in clusters of 8 CTAs that read again, and 1159 by CTAs alone (H100, with SiLU).
fn across_runs(
    facts: &Facts,
    target: &Target,
    within: &[Extent],
    [first, other]: [usize; 2],
    (along, ctas): (Extent, u64),
    all: &mut Vec<Mapping>,
) {
    let [run, runs] = [first, other].map(|dim| facts.dims[dim].extent.next_power_of_two());
    let along = Extent {
        lanes: along.lanes.min(run.div_ceil(along.vector)),
        ..along
    };
    if along.points() > run || !facts.dims[first].is_known {
        return;
    }
    let left = WARP_SIZE as u64 / along.lanes;
    let next = next_dim_of_run(facts, first).filter(|next| *next != other && within[*next] == Extent::ONE);
    let lanes_of_next = powers(1, left).filter(|lanes| match next {
        Some(next) => *lanes <= facts.dims[next].extent.next_power_of_two(),
        None => *lanes == 1,
    });
    for lanes_of_next in lanes_of_next {
        let lanes = left / lanes_of_next;
        for warps in powers(1, WARPS / along.warps).filter(|warps| ctas * warps * lanes <= runs) {
            let whole = runs / (ctas * warps * lanes);
            for registers in ACCESSES_PER_STEP
                .into_iter()
                .filter(|steps| *steps < whole)
                .chain([whole])
            {
                let mut tile = within.to_vec();
                tile[first] = Extent {
                    registers: run / along.points(),
                    ..along
                };
                tile[other] = Extent {
                    registers,
                    ctas,
                    warps,
                    lanes,
                    ..Extent::ONE
                };
                if let Some(next) = next {
                    tile[next].lanes = lanes_of_next;
                }
                add_mappings(facts, target, &tile, all);
            }
        }
    }
}

/// Returns the variants of `walks` of which all clusters are resident at once; otherwise the last ones would walk alone. The walks differ
/// in how they are split. Registers are bounded so that an SM has room for them. They go through rings where copies can bring their rows,
/// and hold their rows otherwise. Of clusters of more CTAs than are portable that hold their rows, an SM has one CTA: RMSNorm's gradient
/// over 65537 columns reaches 1511 GB/s with two CTAs of clusters of 16 on each SM, and 2170 with one that loads ahead; over 80001 columns
/// 1682, and 1956 with one of clusters of eight (H200).
fn resident_walks(facts: &Facts, target: &Target, walks: &[Mapping], ctas: u64) -> Vec<Mapping> {
    let Some(split) = walks.first().map(|walk| walk.extent(Level::Split)) else {
        return Vec::new();
    };
    let clusters = |per_sm: u64| cluster_room::resident(target, ctas, per_sm);
    let is_walk = |walk: &&Mapping| {
        split > 1 && walk.extent(Level::Split) == split && walk.unroll_bytes == 0 && !walk.prefetches()
    };
    let with_so_many = |per_sm: u64| {
        let walks = walks.iter().filter(is_walk);
        walks.flat_map(move |walk| {
            let mut walk = walk.clone();
            for factor in walk.spread.iter_mut().flatten() {
                if factor.level == Level::Split {
                    factor.size = Some(clusters(per_sm) as i64);
                }
            }
            walk.min_ctas_per_sm = per_sm as i64;
            match rings::ringed(facts, &walk, target) {
                Some(ringed) => vec![ringed],
                None if walk.looped_dims() > 1 || !target.is_portable(ctas) && per_sm > 1 => Vec::new(),
                None => prefetching(facts, &walk, target)
                    .into_iter()
                    .chain([walk])
                    .collect(),
            }
        })
    };
    WALKS_PER_SM.into_iter().flat_map(with_so_many).collect()
}
