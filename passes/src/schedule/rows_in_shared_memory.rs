//! Rows in shared memory: variants of schedules that bulk-copy there the rows that are needed again behind a reduction.

use norma_dialects::norm::{CachePlace, CopyMechanism};
use norma_targets::{ACCESS_BYTES, CP_ASYNC_BYTES, Feature, Target};

use super::{
    facts::{Access, Facts},
    mapping::{Mapping, points_of_cta},
};

/// Returns the variant of a mapping whose CTAs bulk-copy the rows that they hold, and need again behind a reduction, to shared
/// memory, and read them from there in each phase; `None` if there are no such rows, or if they cannot be copied in bulk. All other
/// reads come from the caches when they are needed: held beside the row they would occupy the registers that it leaves free.
pub fn bulk_copied(facts: &Facts, mapping: &Mapping, target: &Target) -> Option<Mapping> {
    if !target.has(Feature::BulkCopy) || mapping.aligned_dim.is_some() || mapping.looped_dims() > 0 {
        return None;
    }
    let variant = copied(facts, mapping, CopyMechanism::Bulk, |_| true)?;
    (bytes(facts, &variant) <= u64::from(target.shared_per_cta)).then_some(variant)
}

/// Returns the variant of a mapping that copies to shared memory, by `engine`, those reads that satisfy `of_interest`, are needed again
/// behind a reduction, and lie in rows that the engine copies without single elements; `None` if there are none.
pub(super) fn copied(
    facts: &Facts,
    mapping: &Mapping,
    engine: CopyMechanism,
    of_interest: impl Fn(&Access) -> bool,
) -> Option<Mapping> {
    let [.., shortest_async_copy] = CP_ASYNC_BYTES;
    let shortest = match engine {
        CopyMechanism::CpAsync => shortest_async_copy,
        _ => ACCESS_BYTES,
    }
    .unsigned_abs();
    let is_copied = |access: &&Access| {
        let vector = match mapping.aligned_dim {
            Some(dim) if engine == CopyMechanism::Bulk => facts.aligned_vector(access, dim),
            _ => access.vector,
        };
        let in_rows = access.contiguous().is_some_and(|dim| {
            let dim = &facts.dims[dim];
            vector * access.bytes >= shortest && vector <= dim.extent && dim.is_known
        });
        !access.is_write && !access.is_indirect && access.is_reused && in_rows && of_interest(access)
    };
    let mut keep = vec![CachePlace::None; facts.buffers];
    for access in facts.accesses.iter().filter(is_copied) {
        keep[access.buffer] = CachePlace::Shared;
    }
    keep.contains(&CachePlace::Shared).then(|| Mapping {
        keep,
        bring: engine,
        unroll_bytes: 0,
        held_steps: 0,
        early_reads: false,
        ..mapping.clone()
    })
}

/// Returns the bytes of shared memory that a CTA takes for one tile of each buffer that a mapping copies there: where several accesses
/// read a buffer, the largest of their tiles.
pub fn bytes(facts: &Facts, mapping: &Mapping) -> u64 {
    let mut of_buffers = vec![0; facts.buffers];
    let reads = facts
        .accesses
        .iter()
        .filter(|access| !access.is_write && !access.is_indirect);
    for access in reads {
        if mapping.place(access.buffer) != CachePlace::Shared {
            continue;
        }
        let points = (0..facts.dims.len())
            .filter(|dim| access.uses[*dim])
            .map(|dim| points_of_cta(&mapping.spread[dim]))
            .product::<i64>();
        let bytes = points.unsigned_abs() * access.bytes;
        of_buffers[access.buffer] = bytes.max(of_buffers[access.buffer]);
    }
    of_buffers.into_iter().sum()
}

#[cfg(test)]
mod tests {
    use norma_dialects::norm::{CachePlace, Level};

    use super::bytes;
    use crate::{
        kernel::first_kernel::in_first_kernel,
        schedule::{
            facts::Facts,
            mapping::{Factor, Mapping},
        },
    };

    #[test]
    fn the_tile_of_a_buffer_is_the_largest_that_an_access_reads() {
        let text = "norm.kernel @k(%x: memref<?x64xbf16>, %y: memref<?x64xbf16>)
               space(%m = dim(%x, 0), %n = 64) align(16, 16) {
             %0 = norm.read %x[%m, %n] : memref<?x64xbf16>
             %1 = norm.reduce max %0 over(%n) : bf16
             %2 = norm.read %x[%m, 0] : memref<?x64xbf16>
             %3 = arith.addf %1, %2 : bf16
             %4 = arith.subf %0, %3 : bf16
             norm.write %4, %y[%m, %n] : memref<?x64xbf16>
           }";
        let facts = in_first_kernel(text, |space| Facts::of(space).ok()).unwrap();
        let mut mapping = Mapping::new(vec![
            vec![Factor::rest(Level::Grid)],
            vec![Factor::new(Level::Lane, 32), Factor::new(Level::Vector, 2)],
        ]);
        mapping.keep = vec![CachePlace::Shared, CachePlace::None];
        assert_eq!(bytes(&facts, &mapping), 128);
    }
}
