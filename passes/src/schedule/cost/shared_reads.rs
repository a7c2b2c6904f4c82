//! What CTAs read alike, such as a weight that all rows share: from L1 where another CTA has left it there, else from L2 for each
//! of them.

use super::{super::facts::Access, candidate::Candidate, mapped::Mapped, measured::*};

/// Bytes that L2 serves of an access in all: those of its buffer, and what CTAs that read alike do not find in L1.
pub(super) fn l2_bytes(candidate: &Candidate<'_>, access: &Access) -> f64 {
    let mapped = &candidate.mapped;
    let once = access.total_bytes(&mapped.facts.dims);
    if access.is_write || !is_shared(mapped, access) {
        return once;
    }
    let of_all = of_cta(mapped, access) * mapped.ctas();
    once + (of_all - once).max(0.0) * evicted(candidate)
}

/// Whether several CTAs read the same.
fn is_shared(mapped: &Mapped<'_>, access: &Access) -> bool {
    let dims = mapped.dims.iter().zip(&access.uses);
    dims.into_iter().any(|(dim, uses)| !uses && dim.ctas > 1)
}

/// Bytes of an access that one CTA takes.
fn of_cta(mapped: &Mapped<'_>, access: &Access) -> f64 {
    let dims = mapped.dims.iter().zip(&access.uses);
    let points = dims
        .filter(|(_, uses)| **uses)
        .map(|(dim, _)| dim.of_cta() as f64);
    points.product::<f64>() * access.bytes as f64
}

/// The share of what CTAs read alike that is gone from L1 when the next one needs it: as L1 is too small for what CTAs on an SM read
/// in between.
fn evicted(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let resident = candidate.resident_now();
    let reads = mapped.facts.accesses.iter().filter(|access| !access.is_write);
    let bytes = |access: &Access| {
        // CTAs of a cluster read different parts.
        let copies = match is_shared(mapped, access) {
            true => resident.min(mapped.mapping.ctas_per_cluster() as f64),
            false => resident,
        };
        copies * of_cta(mapped, access)
    };
    let read = reads.map(bytes).sum::<f64>();
    let share = read / f64::from(candidate.target.l1_and_shared);
    let [some, all] = L1_EVICTS;
    ((share - some) / (all - some)).clamp(0.0, 1.0)
}
