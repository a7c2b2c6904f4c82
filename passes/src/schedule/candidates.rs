//! The schedules that the selector chooses from: every way to lay a tile along one or two dims, in powers of two.
//!
//! A tile's lanes lie along the dim whose points are neighbours in memory, so that a warp's access is coalesced; lanes and warps
//! that this dim leaves over lie along a second dim. A dim that no reduction ranges over is spread over the grid. A dim whose
//! points are needed again behind a reduction is held as a whole, or walked in a loop twice. A dim that is only summed up is walked
//! once, by several CTAs if there would be too few otherwise.

mod aligned;
mod clusters;
mod counted;
mod persistent;
mod tiled;
mod variants;
mod vectors;

use norma_targets::{THREADS_PER_CTA, Target, WARP_SIZE};
use tiled::add_mappings;
use vectors::{Vectors, vectors};

use super::{
    facts::{Dim, Facts, Use},
    mapping::Mapping,
};

/// The most elements of a dim that one thread holds: beyond 64 f32 registers occupancy falls to one CTA of 512 threads for
/// each SM and spilling is near.
const HELD_ELEMENTS_OF_DIM: u64 = 64;

/// The most elements of a row, a vector's included, for which a thread of a cluster or of a walk has registers. RMSNorm over 131072 columns
/// reaches 4127 GB/s with 128 elements in each of 1024 threads, in 168 registers, and 4062 in a loop; softmax over 151936 columns, from
/// shared memory, 3930 and 3805 (docs/measurements/choices-h200.md). LayerNorm over 49152 columns reaches 2961 GB/s with 128 elements in
/// each of 512 threads, and 2908 at best with 64 (H100); over 33333 columns, 72 of 128 of which are there, 3242 in clusters of two, and
/// 2860 at best with 64 (H200).
const MOST_HELD_ELEMENTS: u64 = 128;
/// Accesses of a looped dim that one thread makes in a step: bytes in flight want several, registers few.
const ACCESSES_PER_STEP: [u64; 4] = [1, 2, 4, 8];
/// Points of the second dim that one thread takes.
const SECOND_REGISTERS: [u64; 4] = [1, 2, 4, 8];
/// Rows of which one thread holds a part.
const ROWS_PER_THREAD: [u64; 2] = [1, 2];
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
        add_mappings(facts, target, &[], &mut all);
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
        is_other && is_held && dim.usage != Use::Kept
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
                            add_mappings(facts, target, &tile, all);
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

/// Returns the register factor that holds all of the first dim in [`MOST_HELD_ELEMENTS`]; `None` if it takes fewer or more.
fn longest_along(dim: &Dim, tile: Extent) -> Option<u64> {
    let whole = dim.extent.div_ceil(tile.points()).next_power_of_two();
    (whole * tile.vector == MOST_HELD_ELEMENTS).then_some(whole)
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
