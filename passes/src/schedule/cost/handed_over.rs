//! Registers that producers hand to consumers: how many CTAs an SM then holds, and for which mappings it gains CTAs.

use norma_targets::{FEWEST_SET_REGISTERS, Feature, THREADS_PER_CTA, Target, WARP_SIZE, WARPGROUP_WARPS};

use super::{super::mapping::Mapping, candidate::by_shared_memory, mapped::Mapped};
use crate::gl::hand_over::{at_start, of_consumer};

/// The registers that a thread of producer warps keeps: ptxas needs no more for issuing copies.
const KEPT: i64 = FEWEST_SET_REGISTERS;

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
fn given(mapping: &Mapping, ctas: u64) -> i64 {
    let start = at_start(mapping.all_warps(), ctas as i64);
    of_consumer(
        start,
        mapping.consumer_warps(),
        mapping.producer_warps,
        mapping.producer_registers,
    )
}

/// Returns the variant of a walk through rings in which a warpgroup of producers hands its registers over, if an SM then holds CTAs that it
/// has shared memory and work for, but not the registers if all threads have equally many: of these it holds `resident`. Otherwise three
/// more warps would only take registers. A thread that computes needs `registers`.
pub(super) fn variant(
    mapped: &Mapped<'_>,
    target: &Target,
    registers: u64,
    resident: u64,
) -> Option<Mapping> {
    let mapping = mapped.mapping;
    let warps = mapping.consumer_warps() / mapping.consumer_groups;
    let can_hand_over = target.has(Feature::SetMaxRegisters)
        && mapped.walks_through_rings()
        && mapping.producer_warps == 1
        && warps % WARPGROUP_WARPS == 0;
    if !can_hand_over {
        return None;
    }
    let per_sm = (mapped.ctas() / f64::from(target.part.sms)).ceil() as u64;
    let wanted = by_shared_memory(mapped, target).min(per_sm);
    if wanted <= resident {
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
