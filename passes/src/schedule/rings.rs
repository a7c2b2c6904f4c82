//! Walks whose tiles pass through a ring of stages in shared memory. A walk is a loop in which a CTA reduces each row of its share, and
//! may accumulate sums over the rows; each candidate here is a variant of one that loads its rows to registers.
//!
//! Where each step of a walk reduces what it holds, the loads of the next step wait for this one, and memory idles. With a ring, a
//! producer warp issues copies several steps ahead; the consumer warps read each tile from shared memory as often as their phases
//! need it, so that registers hold the accumulators of the walk and little else.

use norma_dialects::norm::{CopyMechanism, Level};
use norma_targets::{Feature, SHARED_OF_CTA, THREADS_PER_CTA, Target, WARP_SIZE};

use super::{
    cost, exchanges,
    facts::{Facts, Use},
    mapping::Mapping,
    rows_in_shared_memory::{bytes, copied},
    spread::{Spread, spreads},
};

/// Bytes that the rings on an SM of an H200 should keep in flight: RMSNorm's gradient at 16384 x 4096 reached 3997 GB/s with 96 KB, 3955
/// with 128 KB and 3800 with 64 KB. An SM of an H100 has 0.7 times the bandwidth: 2977 with 64 KB, 2859 with 96 KB.
const BYTES_IN_FLIGHT: f64 = 96.0 * 1024.0;

/// The most elements of a tile in one thread. LayerNorm's gradient takes 168 registers with 40.
const RING_ELEMENTS_OF_THREAD: u64 = 48;
/// The same in clusters of as many CTAs as are portable, where rows have no other way. RMSNorm's gradient over 131072 columns reaches 3949
/// GB/s with 64 and 240 registers, and 1973 without a ring; over 32768 columns 3640 with 64 in clusters of two, and 4095 with 32 (H200).
const RING_ELEMENTS_IN_LARGEST_CLUSTER: u64 = 64;
/// The most elements of a tile in one thread of a walk without sums over rows: LayerNorm over 229376 columns in clusters of eight holds a
/// weight and a bias for each of 112 in 240 registers, and reaches 3979 GB/s, 3586 without a ring (H200).
const RING_ELEMENTS_WITHOUT_SUMS: u64 = 112;
/// The most elements of a tile in one thread where fewer than [`FEW_WARPS`] warps share a row.
const RING_ELEMENTS_OF_THREAD_OF_FEW_WARPS: u64 = 16;
const FEW_WARPS: u64 = 4;
/// The fewest warps that share a row. Gradients over 1024 columns reach 3109 and 2604 GB/s with one warp for each row, 3967 and
/// 3923 with two. Rows of 128 and 256 columns are too short for two warps, and walks without rings are faster there: 3523 and 3447
/// GB/s for RMSNorm's gradient, against 3377 and 3171 through rings; for LayerNorm's over 128 columns 3286, against 3088 through
/// rings.
const WARPS_OF_ROW: u64 = 2;
/// The fewest consumer warps on an SM, over all its CTAs: LayerNorm's gradient at 5120 columns reached 3801 GB/s with two CTAs of
/// four warps.
const CONSUMER_WARPS: i64 = 8;

/// Groups of consumers that take steps in turns (ping-pong).
const GROUPS: i64 = 2;

/// Returns the variant of a walk that brings the reads needed again behind a reduction through rings: in bulk where rows are multiples of
/// 16 bytes and the target copies in bulk, and by cp.async where they are multiples of 4 bytes. LayerNorm's gradient over 4092 columns
/// reaches 2816 GB/s by cp.async and 2463 without a ring, over 4090 columns 2603 and 2387 (H100, a copy 2990); copies of single elements
/// lose, over 4095 columns 1992 and 2425. `None` if there are no such reads, or if the mapping does not suit a ring.
pub fn ringed(facts: &Facts, mapping: &Mapping, target: &Target) -> Option<Mapping> {
    let is_walk = |dim: usize| {
        facts.dims[dim].usage != Use::Reduced
            && mapping.spread[dim]
                .iter()
                .any(|factor| factor.level == Level::Loop)
    };
    let walk = (0..facts.dims.len()).find(|dim| is_walk(*dim) && mapping.looped_dims() == 1)?;
    let sms = u64::from(target.part.sms);
    let clusters = mapping.spread[walk]
        .iter()
        .filter_map(|factor| match factor.level {
            Level::Split | Level::Grid => factor.size,
            _ => None,
        });
    let ctas = clusters.product::<i64>() * mapping.ctas_per_cluster();
    let ctas = ctas
        .unsigned_abs()
        .div_ceil(sms)
        .clamp(1, mapping.most_ctas_per_sm());
    let holds_rows = mapping.spread[walk]
        .iter()
        .any(|factor| factor.level == Level::Register);
    if holds_rows
        || mapping.extent(Level::Warp).saturating_mul(ctas as i64) < CONSUMER_WARPS
        || mapping.threads() + WARP_SIZE > THREADS_PER_CTA
    {
        return None;
    }
    let dims = spreads(facts, mapping);
    let accumulates = facts.dims[walk].usage == Use::Both;
    let is_in_largest = mapping.ctas_per_cluster() == i64::from(target.cluster_size);
    let most_elements = match (accumulates, is_in_largest) {
        (false, _) => RING_ELEMENTS_WITHOUT_SUMS,
        (true, true) => RING_ELEMENTS_IN_LARGEST_CLUSTER,
        (true, false) => RING_ELEMENTS_OF_THREAD,
    };
    if !suits_rows(&dims, walk, most_elements) {
        return None;
    }
    let by = |engine| copied(facts, mapping, engine, |access| access.uses[walk]);
    let bulk = by(CopyMechanism::Bulk).filter(|_| target.has(Feature::BulkCopy));
    let mut ringed = bulk.or_else(|| by(CopyMechanism::CpAsync).filter(|_| target.has(Feature::CpAsync)))?;
    let stage = bytes(facts, &ringed);
    // Copies bring what lies within the row alone. Gradients gain nothing by a stage in place of what is left out: RMSNorm's over 3072
    // columns reaches 4198 GB/s with two stages of 16 KB, 12 KB of which are copied, in each of an SM's three CTAs, and 3904 with three.
    // Clusters of more than two CTAs that have their SMs alone do: LayerNorm's over 40960 and 81920 columns reaches 3771 and 3733 with two
    // stages of 64 KB, 40 KB of which are copied, and 3901 and 3912 with three (H200).
    let filled = dims.iter().map(Spread::filled).product::<f64>();
    let is_alone = ctas == 1 && mapping.ctas_per_cluster() > 2;
    let wanted = |brought: f64| {
        let on_sm = ((stage * ctas) as f64 * brought).max(1.0);
        BYTES_IN_FLIGHT * cost::relative_bandwidth(target) / on_sm
    };
    let stages = match accumulates {
        true if is_alone => wanted(filled).ceil(),
        true => wanted(1.0).round(),
        false => wanted(filled).round(),
    };
    let stages = (stages as u64).max(2);
    let of_cta = stages * stage + bytes_at_end(facts, &dims, walk);
    let taken = (of_cta + u64::from(SHARED_OF_CTA)) * ctas;
    if taken > u64::from(target.shared_per_sm) || of_cta > u64::from(target.shared_per_cta) {
        return None;
    }
    ringed.stages = i64::try_from(stages).ok()?;
    // Each thread waits for the copies by cp.async that it has issued itself.
    ringed.producer_warps = i64::from(ringed.bring == CopyMechanism::Bulk);
    Some(ringed)
}

/// Returns the variant of a walk through a ring in which two groups of consumers take its steps in turns, where an SM has shared memory for
/// one such CTA alone, so that no second CTA computes while the warps of the first one wait for each other. `None` for other walks, whose
/// CTAs do the same for each other.
pub fn in_turns(facts: &Facts, ringed: &Mapping, target: &Target) -> Option<Mapping> {
    let stage = bytes(facts, ringed);
    let taken = |stages: i64| stages.unsigned_abs() * stage + u64::from(SHARED_OF_CTA);
    let fits_twice = 2 * taken(ringed.stages) <= u64::from(target.shared_per_sm);
    if fits_twice || ringed.producer_warps == 0 || ringed.ctas_per_cluster() > 1 {
        return None;
    }
    let turns = Mapping {
        consumer_groups: GROUPS,
        stages: ringed.stages + ringed.stages % GROUPS,
        ..ringed.clone()
    };
    let dims = spreads(facts, &turns);
    let looped = (0..dims.len()).filter(|dim| dims[*dim].is_looped);
    let at_end = looped.map(|walk| bytes_at_end(facts, &dims, walk)).sum::<u64>();
    let of_cta = taken(turns.stages) + exchanges::between_groups(facts, &turns) + at_end;
    let has_room =
        of_cta <= u64::from(target.shared_per_cta) && turns.all_warps() * WARP_SIZE <= THREADS_PER_CTA;
    has_room.then_some(turns)
}

/// Returns the bytes of shared memory in which warps that own different rows combine their accumulators once the walk has ended:
/// for each result one copy for each of these warps, and the result itself.
fn bytes_at_end(facts: &Facts, dims: &[Spread], walk: usize) -> u64 {
    let warps = dims[walk].warps;
    if warps == 1 {
        return 0;
    }
    let accumulating = facts.reductions.iter().filter(|reduction| reduction.over[walk]);
    let bytes = accumulating.map(|reduction| {
        let kept = (0..dims.len()).filter(|dim| reduction.keeps[*dim]);
        kept.map(|dim| dims[dim].tile).product::<u64>() * reduction.bytes
    });
    bytes.sum::<u64>() * (warps + 1)
}

/// Whether rows, which lie along the dims other than `walk`, have enough warps, every lane of these warps has elements, and a
/// thread has no more than `most_elements` of a tile.
fn suits_rows(dims: &[Spread], walk: usize, most_elements: u64) -> bool {
    let elements = dims.iter().map(|dim| dim.registers).product::<u64>();
    let of_row = || dims.iter().enumerate().filter(|(dim, _)| *dim != walk);
    let warps_of_row = of_row().map(|(_, dim)| dim.warps).product::<u64>();
    let have_elements = of_row().all(|(_, dim)| dim.warps * dim.lanes * dim.vector <= dim.extent);
    let most_elements = match warps_of_row < FEW_WARPS {
        true => RING_ELEMENTS_OF_THREAD_OF_FEW_WARPS,
        false => most_elements,
    };
    warps_of_row >= WARPS_OF_ROW && have_elements && elements <= most_elements
}
