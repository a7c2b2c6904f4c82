//! Schedules with alignment peeling: tiles begin at aligned addresses in rows that begin anywhere.

use norma_dialects::norm::Level;
use norma_targets::{THREADS_PER_CTA, Target, WARP_SIZE};

use crate::gcd::gcd;

use super::{
    super::{
        cluster_room,
        facts::{Access, Facts, Use},
        mapping::{Factor, Mapping},
        rings,
    },
    Extent, add_mappings, longest_along,
    persistent::{drawing, produced},
    powers, registers_along,
    variants::push_held,
};

/// Rows of one thread where tiles are aligned: rows of the same alignment share the reads that do not vary by row.
const ALIGNED_ROWS: [u64; 3] = [1, 2, 4];

/// CTAs on each SM in walks over rows.
const WALKS_PER_SM: [u64; 4] = [1, 2, 3, 4];
/// The number of reads, shared by all rows and aligned differently from them, from which on a walk by single CTAs pays. RMSNorm over 10001
/// and 16385 columns, which has one, reaches 3976 and 3979 GB/s by a CTA for each row, and 3691 and 3629 by walks; of a sum over 10001
/// columns 3798 and 3676; over 100001 columns 2862 by a CTA for each row, and 3391 in clusters of four that walk (H200).
const FEWEST_SHIFTED: usize = 2;
/// The most such reads for which clusters draw rows. The rows that a cluster draws begin differently, so that each step shifts the reads
/// again. RMSNorm over 33333, 100001 and 200001 columns reaches 3816, 3795 and 3411 GB/s so, and 3583, 3545 and 2753 by fixed shares;
/// softmax 3738 and 3514 over 70001 and 100001, and 2992 and 2855 by a CTA for each row; LayerNorm, which has two such reads, 1746 over
/// 100001 columns, and 2864 by fixed shares (H200).
const MOST_SHIFTED_OF_DRAWN: usize = 1;
/// CTAs on each SM of clusters that draw rows.
const DRAWN_PER_SM: [u64; 3] = [1, 2, 3];
/// The fewest rows of a CTA in such a walk.
const FEWEST_STEPS: u64 = 4;
/// The most waves of clusters that walk one behind the other. Clusters of 16 have seven places: LayerNorm over 262143 columns reaches 2637
/// GB/s with 32 of them, in five waves, and 2143 at best without clusters (H200).
const MOST_WAVES: u64 = 8;
/// Such waves may leave at most one in so many places of clusters empty.
const EMPTY_OF_WAVES: u64 = 10;
/// Several waves pay once one wave alone would leave more than one in so many places empty, for walks without sums over rows and with them.
/// LayerNorm over 65537 and 100001 columns reaches 2960 and 3164 GB/s with 56 clusters, and 2650 and 2833 with 24 on 30 places; LayerNorm's
/// gradient over 33333 columns 2268 and 2316. With sums over 65537 columns, 56 clusters reach 3097 GB/s, and 8 on 15 places 2013 (H200).
const EMPTY_OF_WALKS: u64 = 10;
const EMPTY_OF_SUMS: u64 = 3;

/// Returns the candidates whose tiles along `first` begin where vectors are aligned. All threads lie along `first`, and the rows of
/// one thread are `vector` rows apart, so that they have the same alignment.
pub(super) fn candidates(facts: &Facts, target: &Target, first: usize) -> Vec<Mapping> {
    let Some(lead) = facts.lead().filter(|lead| lead.contiguous() == Some(first)) else {
        return Vec::new();
    };
    let vector = lead.vector_if_aligned;
    let is_indirect = |access: &Access| access.is_indirect && access.uses[first];
    if vector <= lead.vector || facts.accesses.iter().any(is_indirect) {
        return Vec::new();
    }
    // A tile also holds elements before its row.
    let mut reaching = facts.clone();
    reaching.dims[first].extent += vector - 1;
    let begins_elsewhere = |dim: usize| lead.strides[dim].is_none_or(|stride| stride % vector as i64 != 0);
    let rows = (0..facts.dims.len())
        .filter(|dim| *dim != first && begins_elsewhere(*dim))
        .collect::<Vec<_>>();
    let is_shared = |access: &Access| access.uses[first] && rows.iter().any(|row| !access.uses[*row]);
    let counted = match rows[..] {
        [row] if facts.dims[row].usage == Use::Kept => Some(row),
        _ => None,
    };
    let row = counted.filter(|_| facts.accesses.iter().any(is_shared));
    let summed = match rows[..] {
        [row] if facts.dims[row].usage != Use::Kept => Some(row),
        _ => None,
    };
    let shifted = facts
        .accesses
        .iter()
        .filter(|access| is_shared(access) && facts.covers(access, first));
    let shifted = shifted.count();
    let period = |row: usize| match lead.strides[row] {
        Some(stride) => vector / gcd(stride, vector as i64).unsigned_abs(),
        None => vector,
    };
    let rows_of_thread: &[u64] = if row.is_some() { &ALIGNED_ROWS } else { &[1] };
    let mut all = Vec::new();
    for (warps, ctas) in cooperating(target) {
        let along = Extent {
            ctas,
            warps,
            lanes: WARP_SIZE as u64,
            vector,
            ..Extent::ONE
        };
        let dim = &reaching.dims[first];
        let longest = longest_along(dim, along);
        for registers in registers_along(dim, along).into_iter().chain(longest) {
            let mut tile = vec![Extent::ONE; facts.dims.len()];
            tile[first] = Extent { registers, ..along };
            let mut whole = Vec::new();
            add_mappings(&reaching, target, &tile, &mut whole);
            if let Some(row) = summed {
                all.extend(summing(facts, target, &whole, [row, first], period(row)));
            }
            // Partial sums over rows of different alignment would be of different columns. Unrolled steps lose: cross-entropy over 50257
            // columns reaches 4076 GB/s step by step, and 3909 with 128 bytes.
            whole.retain(|mapping| {
                mapping.extent(Level::Split) == 1 && mapping.unroll_bytes == 0 && !mapping.prefetches()
            });
            let fewest = if ctas == 1 { FEWEST_SHIFTED } else { 1 };
            let walked = row.filter(|_| shifted >= fewest);
            let walks = |row: usize| walks(facts, target, &whole, [row, first], period(row));
            all.extend(walked.into_iter().flat_map(walks));
            if let Some(row) = counted.filter(|_| ctas > 1 && shifted <= MOST_SHIFTED_OF_DRAWN) {
                all.extend(drawn(facts, target, &whole, [row, first]));
            }
            // Clusters, and threads that hold so many elements, hold rows only in walks.
            if ctas > 1 || Some(registers) == longest {
                continue;
            }
            for rows in rows_of_thread {
                for mapping in whole.iter().filter(|mapping| !mapping.early_reads) {
                    let mut mapping = mapping.clone();
                    mapping.aligned_dim = Some(first);
                    if let (Some(row), true) = (row, *rows > 1) {
                        mapping.spread[row].extend([
                            Factor::new(Level::Register, *rows as i64),
                            Factor::new(Level::Grid, vector as i64),
                        ]);
                    }
                    let is_held = mapping.looped_dims() == 0;
                    push_held(facts, mapping, is_held, &mut all);
                }
            }
        }
    }
    all
}

/// Warps of a CTA and CTAs of a cluster that share a row.
fn cooperating(target: &Target) -> impl Iterator<Item = (u64, u64)> {
    let warps = powers(1, THREADS_PER_CTA as u64 / WARP_SIZE as u64);
    let ctas = move |warps| powers(1, target.cluster_size_non_portable.into()).map(move |ctas| (warps, ctas));
    warps.flat_map(ctas)
}

/// Whether each CTA or cluster holds one point of the dim `row` as a whole, and reads what only results need when it is needed.
fn holds_one(mapping: &Mapping, row: usize) -> bool {
    let takes_one = mapping.spread[row] == [Factor::rest(Level::Grid)];
    mapping.looped_dims() == 0 && !mapping.early_reads && takes_one
}

/// Returns the walks over rows of which a CTA or a cluster holds one, and brings the next ones meanwhile: a CTA loads the next row ahead, and
/// rings bring several where rows can be copied. The rows of a CTA are multiples of `period` apart and begin alike, so that what all rows
/// share is aligned to them, and extended, once. LayerNorm over 5125, 10001 and 16385 columns reaches 3566, 3617 and 3533 GB/s by walks that
/// load ahead, and 2876, 2993 and 2541 at best by a CTA for each row; over 33333, 50257 and 100001 columns 3224, 3272 and 2861 by clusters
/// with rings, and 2503, 2470 and 1757 by a CTA for each row (H200).
fn walks(
    facts: &Facts,
    target: &Target,
    mappings: &[Mapping],
    [row, first]: [usize; 2],
    period: u64,
) -> Vec<Mapping> {
    let mut all = Vec::new();
    for mapping in mappings.iter().filter(|mapping| holds_one(mapping, row)) {
        let ctas = mapping.ctas_per_cluster().unsigned_abs();
        let rows = facts.dims[row].extent;
        for (per_sm, parts) in parts_of_walks(rows, target, ctas, period, EMPTY_OF_WALKS) {
            let mut walk = mapping.clone();
            walk.spread[row] = vec![
                Factor::rest(Level::Loop),
                Factor::new(Level::Grid, (parts / period) as i64),
                Factor::new(Level::Grid, period as i64),
            ];
            walk.aligned_dim = Some(first);
            walk.min_ctas_per_sm = per_sm as i64;
            all.extend(rings::ringed(facts, &walk, target));
            if ctas == 1 {
                walk.stages = 2;
                all.push(walk);
            }
        }
    }
    all
}

/// Returns the walks of CTAs or clusters that sum over their rows, each of which rings bring. A part's rows are multiples of `period` apart
/// and begin alike, so that sums of columns stay with the threads. RMSNorm's gradient over 4095, 10001 and 16385 columns reaches 3646, 3550 and 3527
/// GB/s so, and 3132, 3219 and 2792 where elements are read one by one; LayerNorm's over 8191, 10001 and 20003 columns 3159, 3385 and 3207,
/// and 2189, 2756 and 2521 (H200).
fn summing(
    facts: &Facts,
    target: &Target,
    mappings: &[Mapping],
    [row, first]: [usize; 2],
    period: u64,
) -> Vec<Mapping> {
    let is_walk = |mapping: &&Mapping| {
        let levels = mapping.spread[row].iter().map(|factor| factor.level);
        let takes_rows = levels.eq([Level::Loop, Level::Split]);
        takes_rows && mapping.looped_dims() == 1 && mapping.unroll_bytes == 0 && !mapping.prefetches()
    };
    // The walks differ only in how they are split.
    let Some(whole) = mappings.iter().find(is_walk) else {
        return Vec::new();
    };
    let ctas = whole.ctas_per_cluster().unsigned_abs();
    let rows = facts.dims[row].extent;
    let of_parts = |(per_sm, parts): (u64, u64)| {
        let mut walk = whole.clone();
        walk.spread[row] = vec![Factor::rest(Level::Loop), Factor::new(Level::Split, parts as i64)];
        walk.aligned_dim = Some(first);
        walk.min_ctas_per_sm = per_sm as i64;
        rings::ringed(facts, &walk, target)
    };
    parts_of_walks(rows, target, ctas, period, EMPTY_OF_SUMS)
        .filter_map(of_parts)
        .collect()
}

/// Returns the CTAs on each SM that walks over `rows` rows may have, each with the numbers of parts into which rows are split then
/// ([`numbers_of_parts`]), as far as there are rows enough.
fn parts_of_walks(
    rows: u64,
    target: &Target,
    ctas: u64,
    period: u64,
    empty: u64,
) -> impl Iterator<Item = (u64, u64)> {
    WALKS_PER_SM.into_iter().flat_map(move |per_sm| {
        let resident = cluster_room::resident(target, ctas, per_sm);
        numbers_of_parts(resident, period, ctas, empty)
            .filter(move |parts| FEWEST_STEPS * parts <= rows)
            .map(move |parts| (per_sm, parts))
    })
}

/// Returns the numbers of parts into which rows are split whose walks begin alike, each a multiple of `period`: as many as `resident`
/// clusters of `ctas` CTAs have place for, and, where these leave more than an `empty`-th of the places empty, as many as fill the places
/// several times, one wave behind the other.
///
/// LayerNorm over 131073 and 200001 columns reaches 2831 and 3168 GB/s with 56 clusters of eight, and 1686 and 1922 with the 8 that are resident
/// at a time and begin alike (H200).
fn numbers_of_parts(resident: u64, period: u64, ctas: u64, empty: u64) -> impl Iterator<Item = u64> {
    let parts = move |waves: u64| resident * waves / period * period;
    let leaves_at_most = |part: u64, waves: u64| part * (resident * waves - parts(waves)) <= resident * waves;
    let filling = (2..=MOST_WAVES).find(|waves| leaves_at_most(EMPTY_OF_WAVES, *waves));
    let several = filling.filter(|_| ctas > 1 && !leaves_at_most(empty, 1));
    [Some(1), several]
        .into_iter()
        .flatten()
        .map(parts)
        .filter(|parts| *parts > 0)
}

/// Returns the walks of clusters of which each holds one row, and draws its next ones, which rings bring meanwhile.
fn drawn(facts: &Facts, target: &Target, mappings: &[Mapping], [row, first]: [usize; 2]) -> Vec<Mapping> {
    let mut all = Vec::new();
    for mapping in mappings.iter().filter(|mapping| holds_one(mapping, row)) {
        for per_sm in DRAWN_PER_SM {
            if let Some(mut walk) = drawing(facts, target, mapping, row, per_sm) {
                walk.aligned_dim = Some(first);
                all.extend(produced(facts, target, &walk));
            }
        }
    }
    all
}
