//! Walks whose tiles come through rings in shared memory: variants of walks that a loop makes step by step.
//!
//! Where each step of a walk reduces what it holds, loads of the next step wait for this one, and with them the memory. In a
//! ring a warp of its own issues copies several steps ahead; consumers read each tile from shared memory as often as its
//! phases need it, so that registers hold what accumulates over the walk and little else.

use norma_dialects::norm::Level;
use norma_targets::{Feature, SHARED_OF_CTA, THREADS_PER_CTA, Target, WARP_SIZE};

use super::{
    facts::{Dim, Facts, Use},
    mapping::Mapping,
    shared_rows::{brought, bytes},
};

/// Bytes in flight that an SM's rings should hold: RMSNorm's gradient at 16384 x 4096 reached 3997 GB/s with 96 KB, 3955 with
/// 128 KB and 3800 with 64 KB (H200).
const BYTES_IN_FLIGHT: u64 = 96 * 1024;

/// Elements of the tile that a thread has at most: with 64, what accumulates over the walk in f32 spilled (ptxas 13.0).
/// LayerNorm's gradient takes 168 registers with 40.
const ELEMENTS_PER_THREAD: i64 = 48;
/// The same where less than four warps have a row and tell each other: gradients over 1024 columns reach 3109 and 2604 GB/s with rows of one
/// warp, 3967 and 3923 with rows of two.
const ELEMENTS_PER_THREAD_OF_FEW_WARPS: i64 = 16;
const FEW_WARPS: i64 = 4;
/// Warps of the CTAs on an SM that share the work at least: LayerNorm's gradient at 5120 columns reached 3801 GB/s with two CTAs of four
/// warps.
const CONSUMER_WARPS: i64 = 8;

/// The variant of a walk that brings what is needed again behind a reduction through rings; `None` where nothing is, or where it
/// cannot be copied in bulk.
pub fn ringed(facts: &Facts, mapping: &Mapping, target: &Target) -> Option<Mapping> {
    let is_walk = |dim: usize| {
        facts.dims[dim].usage == Use::Both
            && mapping.spread[dim]
                .iter()
                .any(|factor| factor.level == Level::Loop)
    };
    let walk = (0..facts.dims.len()).find(|dim| is_walk(*dim) && mapping.looped_dims() == 1)?;
    let sms = u64::from(target.part.sms);
    let ctas = mapping.extent(Level::Split) * mapping.ctas_per_cluster();
    let ctas = ctas.unsigned_abs().div_ceil(sms).max(1);
    let holds_rows = mapping.spread[walk]
        .iter()
        .any(|factor| factor.level == Level::Register);
    let warps_of_row = (0..facts.dims.len())
        .filter(|dim| *dim != walk)
        .flat_map(|dim| &mapping.spread[dim])
        .filter(|factor| factor.level == Level::Warp)
        .filter_map(|factor| factor.size)
        .product::<i64>();
    let most_elements = match warps_of_row < FEW_WARPS {
        true => ELEMENTS_PER_THREAD_OF_FEW_WARPS,
        false => ELEMENTS_PER_THREAD,
    };
    if !target.has(Feature::BulkCopy)
        || mapping.aligned_dim.is_some()
        || holds_rows
        || elements_of_thread(facts, mapping) > most_elements
        || mapping.extent(Level::Warp).saturating_mul(ctas as i64) < CONSUMER_WARPS
    {
        return None;
    }
    let threads = mapping.threads() + WARP_SIZE;
    if threads > THREADS_PER_CTA {
        return None;
    }
    let mut ringed = brought(facts, mapping, |access| access.uses[walk])?;
    let stage = bytes(facts, &ringed);
    let on_sm = (stage * ctas).max(1);
    let stages = ((BYTES_IN_FLIGHT + on_sm / 2) / on_sm).max(2);
    let taken = (stages * stage + u64::from(SHARED_OF_CTA)) * ctas;
    if taken > u64::from(target.shared_per_sm) || stages * stage > u64::from(target.shared_per_cta) {
        return None;
    }
    ringed.stages = i64::try_from(stages).ok()?;
    ringed.producer_warps = 1;
    Some(ringed)
}

/// Elements of the tile that a thread has, without accesses that lie beyond a dim's end in all threads.
fn elements_of_thread(facts: &Facts, mapping: &Mapping) -> i64 {
    let of_dim = |(position, dim): (usize, &Dim)| {
        let product = |levels: &[Level]| {
            let factors = mapping.spread[position].iter();
            let sizes = factors.filter(|factor| levels.contains(&factor.level));
            sizes.filter_map(|factor| factor.size).product::<i64>()
        };
        let held = product(&[Level::Register]);
        let access = product(&[Level::Cluster, Level::Warp, Level::Lane, Level::Vector]);
        let accesses = match dim.is_known {
            true => {
                held.min(i64::try_from(dim.extent.div_ceil(access.unsigned_abs().max(1))).unwrap_or(held))
            }
            false => held,
        };
        accesses * product(&[Level::Vector])
    };
    facts.dims.iter().enumerate().map(of_dim).product()
}
