//! Rows in shared memory: variants of schedules that copy there, in bulk, what is needed again behind a reduction.

use norma_dialects::norm::{CachePlace, CopyMechanism, Level};
use norma_targets::{ACCESS_BYTES, Feature, Target};

use super::{
    facts::{Access, Facts},
    mapping::Mapping,
};

/// The variant of a mapping whose CTAs copy the rows that they hold, and need again behind a reduction, to their shared memory, and
/// read them there in each phase; `None` where none are, or where they cannot be copied in bulk. What else is read comes from
/// caches when it is needed: held beside the row it would take the registers that the row leaves.
pub fn held(facts: &Facts, mapping: &Mapping, target: &Target) -> Option<Mapping> {
    if !target.has(Feature::BulkCopy) || mapping.aligned_dim.is_some() || mapping.looped_dims() > 0 {
        return None;
    }
    let held = brought(facts, mapping, |_| true)?;
    (bytes(facts, &held) <= u64::from(target.shared_per_cta)).then_some(held)
}

/// The variant of a mapping that copies to shared memory, in bulk, what it reads of `of_interest` and needs again behind a reduction, in
/// rows of whole accesses; `None` where it is nothing.
pub(super) fn brought(
    facts: &Facts,
    mapping: &Mapping,
    of_interest: impl Fn(&Access) -> bool,
) -> Option<Mapping> {
    let is_brought = |access: &&Access| {
        let in_rows = access.contiguous().is_some_and(|dim| {
            let dim = &facts.dims[dim];
            access.vector * access.bytes == ACCESS_BYTES as u64 && access.vector <= dim.extent && dim.is_known
        });
        !access.is_write && access.is_reused && in_rows && of_interest(access)
    };
    let mut keep = vec![CachePlace::None; facts.buffers];
    for access in facts.accesses.iter().filter(is_brought) {
        keep[access.buffer] = CachePlace::Shared;
    }
    keep.contains(&CachePlace::Shared).then(|| Mapping {
        keep,
        bring: CopyMechanism::Bulk,
        early_reads: false,
        ..mapping.clone()
    })
}

/// Bytes of shared memory that a CTA takes for what a mapping copies there at a time.
pub fn bytes(facts: &Facts, mapping: &Mapping) -> u64 {
    let mut of_buffers = vec![0; facts.buffers];
    for access in facts.accesses.iter().filter(|access| !access.is_write) {
        if mapping.place(access.buffer) != CachePlace::Shared {
            continue;
        }
        let points = (0..facts.dims.len())
            .filter(|dim| access.uses[*dim])
            .flat_map(|dim| &mapping.spread[dim])
            .filter(|factor| factor.is_in_tile() && factor.level != Level::Cluster)
            .filter_map(|factor| factor.size)
            .product::<i64>();
        of_buffers[access.buffer] = points.unsigned_abs() * access.bytes;
    }
    of_buffers.into_iter().sum()
}
