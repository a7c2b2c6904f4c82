//! The schedules that the selector chooses from: every way to lay a tile along one or two dims, in powers of two.
//!
//! A tile's lanes lie along the dim whose points are neighbours in memory, so that a warp's access is coalesced; lanes and warps
//! that this dim leaves over lie along a second dim. A dim that no reduction ranges over is spread over the grid. A dim whose
//! points are needed again behind a reduction is held as a whole, or walked in a loop twice. A dim that is only summed up is walked
//! once, by several CTAs if there would be too few otherwise.

mod aligned;
mod clusters;
mod counted;
mod vectors;

use norma_dialects::norm::{CachePlace, Level};
use norma_targets::{ACCESS_BYTES, THREADS_PER_CTA, Target, WARP_SIZE};
use vectors::{Vectors, vectors};

use super::{
    dense_rows,
    facts::{Access, Dim, Facts, Reduction, Use},
    mapping::{Factor, Mapping},
    rings,
    spread::spreads,
};

/// The most elements of a dim that one thread holds: beyond 64 f32 registers occupancy falls to one CTA of 512 threads for
/// each SM and spilling is near.
const HELD_ELEMENTS_OF_DIM: u64 = 64;
/// Accesses of a looped dim that one thread makes in a step: bytes in flight want several, registers few.
const ACCESSES_PER_STEP: [u64; 4] = [1, 2, 4, 8];
/// Bytes of loads that a thread issues together in unrolled loops. LayerNorm over 65536 columns with merged reductions, a row over
/// the four CTAs of a cluster: 3234 GB/s step by step, 3668 with 64 bytes and 3651 with 128; over 49152 columns 3527, 3671 and
/// 3767. With 256 bytes fewer CTAs have registers (docs/measurements/choices-h200.md).
const UNROLLED_BYTES: [u64; 2] = [64, 128];
/// The most bytes of a step that a thread loads a step ahead.
const PREFETCHED_BYTES: u64 = 2 * ACCESS_BYTES as u64;
/// Points of the second dim that one thread takes.
const SECOND_REGISTERS: [u64; 4] = [1, 2, 4, 8];
/// Rows of which one thread holds a part.
const ROWS_PER_THREAD: [u64; 2] = [1, 2];
/// CTAs for each SM that a dim is split into where there would be too few.
const SPLIT_CTAS_PER_SM: [u64; 4] = [1, 2, 3, 4];

/// How a tile lies along one dim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    registers: u64,
    ctas: u64,
    warps: u64,
    lanes: u64,
    vector: u64,
}

impl Extent {
    const ONE: Self = Self {
        registers: 1,
        ctas: 1,
        warps: 1,
        lanes: 1,
        vector: 1,
    };

    fn points(self) -> u64 {
        self.registers * self.ctas * self.warps * self.lanes * self.vector
    }
}

/// Every candidate, in a fixed order.
pub fn candidates(facts: &Facts, target: &Target) -> Vec<Mapping> {
    let mut all = Vec::new();
    if facts.dims.is_empty() {
        finish(facts, target, &[], &mut all);
        return all;
    }
    let Some(Vectors {
        within,
        along: first,
        widest,
    }) = vectors(facts)
    else {
        return all;
    };
    // Shorter vectors leave registers to hold all of a reduced dim in each thread, whose reduction then needs no other thread.
    let is_beside = |dim: &usize| {
        let is_other = *dim != first && within[*dim] == Extent::ONE;
        let dim = &facts.dims[*dim];
        let is_held = dim.is_known && dim.extent <= HELD_ELEMENTS_OF_DIM && dim.extent > 1;
        is_other && is_held && dim.usage == Use::Reduced
    };
    let held = (0..facts.dims.len()).filter(is_beside).collect::<Vec<_>>();
    let shortest = if held.is_empty() { widest } else { 1 };
    for vector in powers(shortest, widest) {
        along_vectors(facts, target, &within, (first, vector), None, &mut all);
        for held in &held {
            along_vectors(facts, target, &within, (first, vector), Some(*held), &mut all);
        }
    }
    all.extend(aligned::candidates(facts, target, first));
    clusters::candidates(facts, target, &within, (first, widest), &mut all);
    counted::hold(facts, target, &mut all);
    all
}

/// Adds the candidates with vectors of `vector` points along the dim `first`, beside the dims that lie `within` vectors. With
/// `held`, each thread holds all of that dim: blocks of 32 rows that each thread holds for two columns, next to each other in
/// memory, are quantized at 4262 GB/s, and at 3887 if four lanes share a block.
fn along_vectors(
    facts: &Facts,
    target: &Target,
    within: &[Extent],
    (first, vector): (usize, u64),
    held: Option<usize>,
    all: &mut Vec<Mapping>,
) {
    // The last dim comes first, as its points are nearest in memory: of equal candidates the first is chosen.
    let others = (0..facts.dims.len())
        .rev()
        .filter(|dim| *dim != first && Some(*dim) != held && within[*dim] == Extent::ONE)
        .filter(|dim| facts.dims[*dim].extent > 1 && !facts.dims[*dim].is_counting);
    let seconds = others.map(Some).chain([None]).collect::<Vec<_>>();
    let warp = WARP_SIZE as u64;
    let accesses = |dim: usize| facts.dims[dim].extent.div_ceil(vector);
    let most_lanes = accesses(first).next_power_of_two().min(warp);
    for lanes in powers(1, most_lanes) {
        for warps in powers(1, THREADS_PER_CTA as u64 / warp) {
            for warps_first in powers(1, warps) {
                // If the lanes of a warp lie along two dims, all warps lie along the second.
                if lanes < warp && warps_first > 1 {
                    continue;
                }
                let along = Extent {
                    warps: warps_first,
                    lanes,
                    vector,
                    ..Extent::ONE
                };
                let others = Extent {
                    warps: warps / warps_first,
                    lanes: warp / lanes,
                    ..Extent::ONE
                };
                let besides = beside(facts, first, others, &seconds, lanes == most_lanes);
                let is_free = |beside: &Beside| beside.run_on.is_none_or(|(dim, _)| Some(dim) != held);
                for beside in besides.into_iter().filter(is_free) {
                    for registers in registers_along(&facts.dims[first], along) {
                        for beside_registers in second_registers(facts, first, &beside, others.warps) {
                            let mut tile = within.to_vec();
                            tile[first] = Extent { registers, ..along };
                            if let Some(held) = held {
                                tile[held].registers = facts.dims[held].extent.next_power_of_two();
                            }
                            if let Some((dim, lanes)) = beside.run_on {
                                tile[dim].lanes = lanes;
                            }
                            if let Some(dim) = beside.walked {
                                tile[dim].warps = others.warps;
                                tile[dim].lanes = beside.lanes;
                                tile[dim].registers = beside_registers;
                            }
                            finish(facts, target, &tile, all);
                        }
                    }
                }
            }
        }
    }
}

/// The dims that take the lanes and warps which the first dim leaves over.
#[derive(Clone, Copy)]
struct Beside {
    /// The dim that takes the warps, and of which a thread may hold several points.
    walked: Option<usize>,
    /// Lanes along `walked`.
    lanes: u64,
    /// A dim that takes the other lanes, and their number.
    run_on: Option<(usize, u64)>,
    /// Whether there are lanes or warps to be taken.
    is_needed: bool,
}

/// Returns the ways to assign the lanes and warps that the first dim leaves over. One dim takes them, except for lanes that may go
/// to the dim along which runs of the first one continue in memory: a GroupNorm over channels that are neighbours has lanes along
/// the channels of a group and along groups, and its warps along positions. Without a second dim these threads idle, which is of
/// use only where rows are shorter than a warp and a CTA is one warp.
fn beside(
    facts: &Facts,
    first: usize,
    others: Extent,
    seconds: &[Option<usize>],
    has_most_lanes: bool,
) -> Vec<Beside> {
    let fits = |dim: usize, points: u64| {
        let dim = &facts.dims[dim];
        points <= dim.extent.next_power_of_two() || (others.warps == 1 && !dim.is_known)
    };
    let next = next_dim_of_run(facts, first).filter(|_| has_most_lanes);
    let mut all = Vec::new();
    for second in seconds {
        let Some(second) = *second else {
            if others.points() == 1 || (others.warps == 1 && has_most_lanes) {
                all.push(Beside {
                    walked: None,
                    lanes: 1,
                    run_on: None,
                    is_needed: true,
                });
            }
            continue;
        };
        if fits(second, others.points()) {
            all.push(Beside {
                walked: Some(second),
                lanes: others.lanes,
                run_on: None,
                is_needed: others.points() > 1,
            });
        }
        let Some(next) = next.filter(|next| *next != second) else {
            continue;
        };
        for lanes in powers(2, others.lanes).filter(|lanes| fits(next, *lanes)) {
            if fits(second, others.points() / lanes) {
                all.push(Beside {
                    walked: Some(second),
                    lanes: others.lanes / lanes,
                    run_on: Some((next, lanes)),
                    is_needed: others.points() > lanes,
                });
            }
        }
    }
    all
}

/// Returns the dim along which the runs of elements along `dim` continue in memory; `None` if they end with it.
fn next_dim_of_run(facts: &Facts, dim: usize) -> Option<usize> {
    let run = facts.lead()?.run(&facts.dims);
    let place = run.iter().position(|of_run| *of_run == dim)?;
    run.get(place + 1).copied()
}

fn powers(least: u64, most: u64) -> impl Iterator<Item = u64> + Clone {
    std::iter::successors(Some(least), |power| power.checked_mul(2)).take_while(move |power| *power <= most)
}

/// Returns the register factors to try along the first dim: one that holds all of it, or a few accesses at a time.
fn registers_along(dim: &Dim, tile: Extent) -> Vec<u64> {
    let whole = dim.extent.div_ceil(tile.points()).next_power_of_two();
    let can_hold = whole * tile.vector <= HELD_ELEMENTS_OF_DIM && dim.is_known;
    let mut registers = ACCESSES_PER_STEP
        .into_iter()
        .filter(|accesses| *accesses < whole && accesses * tile.vector <= HELD_ELEMENTS_OF_DIM)
        .collect::<Vec<_>>();
    if dim.usage != Use::Kept && can_hold {
        registers.push(whole);
    }
    if registers.is_empty() {
        registers.push(1);
    }
    registers
}

/// Returns the register factors to try along the second dim, along which `warps` warps lie. Two rows for each thread gain 3% at 128
/// columns and nothing from 256 on; four were within 1% of two.
fn second_registers(facts: &Facts, first: usize, beside: &Beside, warps: u64) -> Vec<u64> {
    let Some(second) = beside.walked else {
        return vec![1];
    };
    let dim = &facts.dims[second];
    if dim.usage == Use::Kept && facts.dims[first].usage != Use::Kept {
        return if beside.is_needed {
            ROWS_PER_THREAD.to_vec()
        } else {
            Vec::new()
        };
    }
    let most = match dim.is_known {
        true => dim.extent.div_ceil(warps * beside.lanes).next_power_of_two(),
        false => dim.extent,
    };
    let mut registers = SECOND_REGISTERS
        .into_iter()
        .filter(|registers| *registers <= most && (beside.is_needed || *registers > 1))
        .collect::<Vec<_>>();
    if dim.usage != Use::Kept && dim.is_known && most <= HELD_ELEMENTS_OF_DIM && !registers.contains(&most) {
        registers.push(most);
    }
    registers
}

/// Adds the mappings of a tile: the rest of each dim goes to the grid or to loops, and reused reads to where they can stay.
fn finish(facts: &Facts, target: &Target, tile: &[Extent], all: &mut Vec<Mapping>) {
    if tile
        .iter()
        .map(|extent| extent.registers * extent.vector)
        .product::<u64>()
        > super::plan::UNROLLED_ELEMENTS as u64
    {
        return;
    }
    let covers = |dim: usize| facts.dims[dim].is_known && tile[dim].points() >= facts.dims[dim].extent;
    let is_looped = |dim: usize| facts.dims[dim].usage != Use::Kept && !covers(dim);
    let looped = (0..tile.len()).filter(|dim| is_looped(*dim)).collect::<Vec<_>>();
    let ctas = (0..tile.len())
        .filter(|dim| facts.dims[*dim].usage == Use::Kept)
        .map(|dim| facts.dims[dim].extent.div_ceil(tile[dim].points()))
        .product::<u64>();
    let sms = u64::from(target.part.sms);
    // A dim that is only summed up may be split over CTAs. If results are broadcast along it again, a split takes two kernels more,
    // and is for kernels with too few CTAs for the SMs.
    let splittable = looped
        .iter()
        .copied()
        .filter(|dim| !facts.dims[*dim].is_whole && !facts.dims[*dim].is_counting)
        .filter(|dim| !facts.dims[*dim].is_revisited || ctas < sms)
        .max_by_key(|dim| (!facts.dims[*dim].is_revisited, facts.dims[*dim].extent));
    let mut splits = vec![1];
    let is_walk = splittable.is_some_and(|dim| facts.dims[dim].usage == Use::Both);
    if let Some(dim) = splittable {
        let steps = facts.dims[dim].extent.div_ceil(tile[dim].points());
        // A split whose parts are known to be single points is refused.
        let most_splits = match facts.dims[dim].is_known && tile[dim] == Extent::ONE {
            true => steps.div_ceil(2),
            false => steps,
        };
        if ctas < 4 * sms || is_walk {
            if is_walk {
                splits.clear();
            }
            let wanted = SPLIT_CTAS_PER_SM.map(|per_sm| {
                let split = (per_sm * sms).div_ceil(ctas.max(1));
                split.min(most_splits).max(1)
            });
            splits.extend(wanted);
            splits.dedup();
        }
    }
    let is_revisited = looped.iter().any(|dim| facts.dims[*dim].is_revisited);
    let places: &[&[CachePlace]] = if is_revisited {
        &[&[CachePlace::L1], &[CachePlace::L2]]
    } else {
        &[&[]]
    };
    let merges = merges(facts, |dim| looped.contains(&dim));
    let can_merge_loops = merges.iter().any(|levels| levels.contains(&Level::Loop));
    for split in splits {
        for (places, levels) in places
            .iter()
            .flat_map(|places| merges.iter().map(move |levels| (places, levels)))
        {
            let is_merged = levels.contains(&Level::Loop);
            // The parts of a row are reread by other CTAs, whose L1 does not have them, and can only be combined if their
            // reductions are merged.
            let is_shared = split > 1 && splittable.is_some_and(|dim| facts.dims[dim].is_revisited);
            if is_shared && (places.contains(&CachePlace::L1) || is_merged != can_merge_loops) {
                continue;
            }
            let spread = (0..tile.len()).map(|dim| {
                let mut factors = Vec::new();
                if facts.dims[dim].usage == Use::Kept {
                    if !covers(dim) || !facts.dims[dim].is_known {
                        factors.push(Factor::rest(Level::Grid));
                    }
                } else if looped.contains(&dim) {
                    factors.push(Factor::rest(Level::Loop));
                    if Some(dim) == splittable {
                        factors.push(Factor::new(Level::Split, split as i64));
                    }
                }
                let extent = tile[dim];
                factors.extend([
                    Factor::new(Level::Register, extent.registers as i64),
                    Factor::new(Level::Cluster, extent.ctas as i64),
                    Factor::new(Level::Warp, extent.warps as i64),
                    Factor::new(Level::Lane, extent.lanes as i64),
                    Factor::new(Level::Vector, extent.vector as i64),
                ]);
                factors.retain(|factor| factor.size != Some(1));
                factors
            });
            let mut mapping = Mapping::new(spread.collect());
            mapping.keep = places.to_vec();
            let of_parts = (split > 1 && is_merged).then_some(Level::Split);
            mapping.merge_reductions = of_parts.into_iter().chain(levels.iter().copied()).collect();
            let widest = facts.lead().map_or(0, |lead| lead.vector * lead.bytes);
            let is_held = widest >= ACCESS_BYTES as u64 && looped.is_empty();
            let is_alone = mapping.ctas_per_cluster() == 1;
            let ringed =
                (!is_shared && (is_alone || is_walk)).then(|| rings::ringed(facts, &mapping, target));
            let ringed = ringed.flatten();
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
                let steps = looped
                    .iter()
                    .map(|dim| facts.dims[*dim].extent.div_ceil(tile[*dim].points()));
                all.extend(unrolled(facts, &mapping, steps.product::<u64>().div_ceil(split)));
            }
            if (is_revisited || is_held_walk) && !is_shared && !is_merged {
                all.extend(prefetching(facts, &mapping, target));
            }
            if !is_shared {
                all.extend(dense_rows::as_runs(facts, &mapping, target));
            }
            push_held(facts, mapping, is_held, all);
        }
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

/// Returns the variants of a mapping whose loop of `steps` steps is unrolled, with each number of bytes of which half the row's steps fit
/// into one group. They are for loops that combine partial means in each step: of two groups of steps all are unrolled in the end, and
/// the means' weights, which follow from the number of points, are constants. LayerNorm over 49152 columns reaches 3886 GB/s with 6 steps
/// together, and 3095 with 4 of 12; over 65536 columns 3622 with one access of a thread in a step, and 3561 with two. Others gain
/// nothing: RMSNorm over 65536 columns 3993 GB/s step by step and 3960 with 128 bytes, softmax 3877 and 3821.
fn unrolled(facts: &Facts, mapping: &Mapping, steps: u64) -> Vec<Mapping> {
    if facts.reduces_what_is_indirect() {
        return Vec::new();
    }
    let registers = mapping.registers().unsigned_abs();
    let step = facts.lead().map_or(0, |lead| registers * lead.bytes);
    let bytes = UNROLLED_BYTES
        .into_iter()
        .filter(|bytes| (1..=ACCESS_BYTES as u64).contains(&step) && steps <= 2 * (bytes / step));
    let variants = bytes.map(|bytes| Mapping {
        unroll_bytes: bytes as i64,
        ..mapping.clone()
    });
    variants.collect()
}

/// Returns the variant of a mapping whose loop loads each step's tile a step ahead; `None` where a thread has as many bytes in flight
/// without it. Its registers leave room for fewer CTAs, whose rows are more likely to stay in L1. RMSNorm over 65536 columns reaches
/// 4192 GB/s with one CTA of 1024 threads that loads ahead, and 3854 with two that do not; LayerNorm over 40960 columns 4065 and 3696,
/// softmax over 32003 columns 4144 and 3659. Rows that L1 does not hold come from L2 again, for which so few CTAs wait: RMSNorm over
/// 100000 columns 3110 with 512 threads. In clusters it does not pay, unless stores stand between the loads of two steps:
/// RMSNorm of a sum that is written, over 131072 columns, reaches 4000 and 3511, LayerNorm over 100352 columns 3216 and 3563.
///
/// A walk that holds a row at a time, and that no ring serves, waits for memory in each step unless it loads the next row ahead:
/// LayerNorm's gradient over 6001 columns reaches 2338 GB/s with 512 threads so, and 1055 as the best of the others. With several rows in a
/// step it has too few registers: RMSNorm's gradient over 3001 columns reaches 1622 GB/s with four rows of 1024 threads, and 2638 with one
/// (H100).
fn prefetching(facts: &Facts, mapping: &Mapping, target: &Target) -> Option<Mapping> {
    let registers = mapping.registers().unsigned_abs();
    let step = facts.lead().map_or(0, |lead| registers * lead.bytes);
    let dims = spreads(facts, mapping);
    if facts.reduces_what_is_indirect() {
        return None;
    }
    let is_reread =
        |access: &&Access| access.is_reused && mapping.place(access.buffer) != CachePlace::Register;
    let reread = facts.accesses.iter().filter(is_reread).collect::<Vec<_>>();
    let rows = reread.iter().map(|access| {
        let used = dims.iter().zip(&access.uses).filter(|(_, uses)| **uses);
        access.bytes * used.map(|(dim, _)| dim.of_cta()).product::<u64>()
    });
    let gains = match reread.is_empty() {
        true => mapping.takes_single_steps(),
        false => {
            let is_in_l1 = rows.sum::<u64>() <= u64::from(target.l1_and_shared) / 2;
            is_in_l1 && (mapping.ctas_per_cluster() == 1 || facts.writes_between_reads())
        }
    };
    (gains && step <= PREFETCHED_BYTES).then(|| Mapping {
        stages: 2,
        ..mapping.clone()
    })
}

/// Adds a mapping. For one that holds rows, adds a variant that issues all reads ahead of the reductions and, if there are reads
/// that only results need, one that issues those behind the reductions: issued early, they occupy registers meanwhile.
fn push_held(facts: &Facts, mapping: Mapping, is_held: bool, all: &mut Vec<Mapping>) {
    let early = Mapping {
        early_reads: is_held,
        ..mapping.clone()
    };
    all.push(early);
    if is_held && facts.accesses.iter().any(|access| facts.is_late(access)) {
        all.push(mapping);
    }
}
