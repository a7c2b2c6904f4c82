//! Variants of a mapping whose loops issue loads ahead of their use, and whose held rows are read early.

use norma_dialects::norm::CachePlace;
use norma_targets::{ACCESS_BYTES, Target};

use super::super::{
    facts::{Access, Facts},
    mapping::Mapping,
    spread::spreads,
};

/// Bytes of loads that a thread issues together in unrolled loops. LayerNorm over 65536 columns with merged reductions, a row over
/// the four CTAs of a cluster: 3234 GB/s step by step, 3668 with 64 bytes and 3651 with 128; over 49152 columns 3527, 3671 and
/// 3767. With 256 bytes fewer CTAs have registers (docs/measurements/choices-h200.md).
const UNROLLED_BYTES: [u64; 2] = [64, 128];
/// The most bytes of a step that a thread loads a step ahead.
const PREFETCHED_BYTES: u64 = 2 * ACCESS_BYTES as u64;

/// Returns the variants of a mapping whose loop of `steps` steps is unrolled, with each of [`UNROLLED_BYTES`] for which at most two groups
/// of steps cover the row. They are for loops that combine partial means in each step: two groups are unrolled completely in the end, so
/// that the means' weights, which follow from the number of points, are constants. LayerNorm over 49152 columns reaches 3886 GB/s with 6
/// steps together, and 3095 with 4 of 12; over 65536 columns 3622 with one access of a thread in a step, and 3561 with two. Others gain
/// nothing: RMSNorm over 65536 columns 3993 GB/s step by step and 3960 with 128 bytes, softmax 3877 and 3821.
pub(super) fn unrolled(facts: &Facts, mapping: &Mapping, steps: u64) -> Vec<Mapping> {
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
pub(super) fn prefetching(facts: &Facts, mapping: &Mapping, target: &Target) -> Option<Mapping> {
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
pub(super) fn push_held(facts: &Facts, mapping: Mapping, is_held: bool, all: &mut Vec<Mapping>) {
    let early = Mapping {
        early_reads: is_held,
        ..mapping.clone()
    };
    all.push(early);
    if is_held && facts.accesses.iter().any(|access| facts.is_late(access)) {
        all.push(mapping);
    }
}
