//! Registers that producers hand to consumers: how many CTAs an SM then holds, and for which mappings it gains CTAs.

use norma_targets::{FEWEST_SET_REGISTERS, Feature, THREADS_PER_CTA, Target, WARP_SIZE, WARPGROUP_WARPS};

use super::{
    super::mapping::Mapping,
    candidate::{Candidate, by_shared_memory},
    mapped::Mapped,
    registers,
};
use crate::gl::hand_over::{at_start, of_consumer};

/// The registers that a thread of producer warps keeps: ptxas needs no more for issuing copies.
const KEPT: i64 = FEWEST_SET_REGISTERS;

/// The most warpgroups that share a row of a walk that carries sums over the rows, to which registers are handed over where an SM holds no
/// CTA otherwise.
const SHARING_WITH_SUMS: i64 = 2;
/// As [`SHARING_WITH_SUMS`], of walks without sums: rows of 250001 columns, 64 elements in each thread of 16 warps, spill with the 96
/// registers of equal shares, and RMSNorm reaches 1918 GB/s by a CTA for each row (H200).
const SHARING: i64 = 4;

/// Returns how many CTAs an SM holds, as far as threads and registers go, if a thread that computes needs `registers`.
pub(super) fn resident(mapped: &Mapped<'_>, target: &Target, registers: u64) -> u64 {
    let threads = mapped.all_threads();
    if mapped.mapping.producer_registers == 0 {
        return target.resident_ctas(threads, registers);
    }
    let most = target.resident_ctas(threads, 0);
    let fits = |ctas: &u64| given(mapped.mapping, *ctas).unsigned_abs() >= registers;
    (1..=most).rev().find(fits).unwrap_or(0)
}

/// The registers of a thread that computes, if an SM holds `ctas` CTAs.
pub(super) fn given(mapping: &Mapping, ctas: u64) -> i64 {
    let start = at_start(mapping.all_warps(), ctas as i64);
    of_consumer(
        start,
        mapping.consumer_warps(),
        mapping.producer_warps,
        mapping.producer_registers,
    )
}

/// Whether producers of a mapping can hand registers over: a producer warp becomes a warpgroup beside whole warpgroups of consumers.
pub(super) fn is_possible(mapping: &Mapping, target: &Target) -> bool {
    let warps = mapping.consumer_warps() / mapping.consumer_groups;
    target.has(Feature::SetMaxRegisters) && mapping.producer_warps == 1 && warps % WARPGROUP_WARPS == 0
}

/// Returns the variant of a walk through rings in which a warpgroup of producers hands its registers over, if an SM then holds CTAs that it
/// has shared memory and work for, but not the registers if all threads have equally many, as in the candidate `equal`. Otherwise three more
/// warps would only take registers.
///
/// Where up to [`SHARING_WITH_SUMS`] warpgroups, or [`SHARING`] if nothing is summed over the walk, share a row, an SM may hold none with
/// equal shares, or the mapping may have `spilled` with them: LayerNorm's gradient over 12288, 20480 and 40960 columns reaches 3953, 3835 and
/// 3771 GB/s so, and 3707, 3445 and 3402 in clusters of more CTAs. Several rows at a time lose: RMSNorm's gradient over 3072 and 7168 columns,
/// four rows and two, reaches 3991 and 3886 so, and 4156 and 4149 at best (H200).
pub(super) fn variant(
    mapped: &Mapped<'_>,
    target: &Target,
    equal: Option<&Candidate<'_>>,
    spilled: bool,
) -> Option<Mapping> {
    let mapping = mapped.mapping;
    let warps = mapping.consumer_warps();
    let sharing = match mapped.carries_sums() {
        true => SHARING_WITH_SUMS,
        false => SHARING,
    };
    let shares_row = warps <= sharing * WARPGROUP_WARPS && mapped.warps_of_row() == warps.unsigned_abs();
    let (registers, resident) = match equal {
        Some(equal) if shares_row && spilled => (equal.registers, 0),
        Some(equal) => (equal.registers, equal.resident),
        None if shares_row => (registers::estimate(mapped), 0),
        None => return None,
    };
    let per_sm = (mapped.ctas() / f64::from(target.part.sms)).ceil() as u64;
    let wanted = mapping
        .most_ctas_per_sm()
        .min(by_shared_memory(mapped, target))
        .min(per_sm);
    if !mapped.walks_through_rings() || wanted <= resident {
        return None;
    }
    let variant = Mapping {
        producer_warps: WARPGROUP_WARPS,
        producer_registers: KEPT,
        min_ctas_per_sm: i64::try_from(wanted).ok()?,
        ..mapping.clone()
    };
    let threads = variant.all_warps() * WARP_SIZE;
    let is_there_room = threads <= THREADS_PER_CTA
        && threads.unsigned_abs() * wanted <= u64::from(target.threads_per_sm)
        && given(&variant, wanted).unsigned_abs() >= registers
        && given(&variant, wanted) > at_start(variant.all_warps(), wanted as i64);
    is_there_room.then_some(variant)
}
