//! Rows that lie one behind the other in memory, of which a CTA accesses several as one run (`keep = [shared]` with
//! `bring = load`): which schedules may say so.

use norma_dialects::norm::{CachePlace, CopyMechanism, Level};
use norma_targets::{ACCESS_BYTES, Target};

use super::{
    facts::{self, Facts},
    mapping::{Factor, Mapping, points_of_cta},
    reason::Reason,
    spread::{Spread, spreads},
};
use crate::kernel::space::{Access, Space};

/// The most rows of a thread, and the most elements of them, in the variants that access runs. The more rows a thread has, the more
/// reductions of rows overlap, and the more rows share what is read for all of them: RMSNorm over 65 columns reaches 2281, 3037 and
/// 3208 GB/s with two, four and eight rows (H200, 600 MB).
const ROWS_OF_THREAD: i64 = 8;
const ELEMENTS_OF_THREAD: i64 = 64;

/// Returns the variants of a mapping whose CTAs access tiles of several whole rows as runs, where threads would access them element by
/// element. Each has one, two, four or eight rows in a thread where the mapping has one.
pub(super) fn as_runs(facts: &Facts, mapping: &Mapping, target: &Target) -> Vec<Mapping> {
    let is_plain = mapping.bring == CopyMechanism::Load && mapping.stages == 1;
    if !is_plain
        || mapping.aligned_dim.is_some()
        || mapping.ctas_per_cluster() > 1
        || mapping.looped_dims() > 0
    {
        return Vec::new();
    }
    let rows_of_thread = (0..=ROWS_OF_THREAD.ilog2()).map(|power| 1 << power);
    let variants = rows_of_thread.filter_map(|rows| with_rows_of_thread(facts, mapping, rows));
    variants
        .filter_map(|variant| as_run(facts, &variant, target))
        .collect()
}

/// The variant of a mapping with `rows` rows in each thread; `None` if it has more than one itself, or if a thread would hold too many
/// elements.
fn with_rows_of_thread(facts: &Facts, mapping: &Mapping, rows: i64) -> Option<Mapping> {
    let access = facts.accesses.iter().find(|access| access.contributes)?;
    let along = access.contiguous()?;
    let row = i64::try_from(facts.dims[along].extent).ok();
    let dim = access
        .strides
        .iter()
        .position(|stride| row.is_some() && *stride == row)?;
    let factors = &mapping.spread[dim];
    let elements = rows * mapping.extent(Level::Register) * mapping.extent(Level::Vector);
    if factors.iter().any(|factor| factor.level == Level::Register) || elements > ELEMENTS_OF_THREAD {
        return None;
    }
    let mut variant = mapping.clone();
    if rows > 1 {
        let place = factors.iter().take_while(|factor| !factor.is_in_tile()).count();
        variant.spread[dim].insert(place, Factor::new(Level::Register, rows));
    }
    Some(variant)
}

/// The variant of a mapping whose CTAs access tiles as runs; `None` if there are none, or if they do not begin at multiples of 16 bytes.
fn as_run(facts: &Facts, mapping: &Mapping, target: &Target) -> Option<Mapping> {
    let dims = spreads(facts, mapping);
    let mut keep = vec![CachePlace::Register; facts.buffers];
    let mut others = vec![false; facts.buffers];
    for access in facts.accesses.iter().filter(|access| !access.is_indirect) {
        match run(access, &dims, mapping) {
            Some(run) if is_narrow(access) && is_access(run * access.bytes) => {
                keep[access.buffer] = CachePlace::Shared;
            }
            _ => others[access.buffer] = true,
        }
    }
    for buffer in (0..facts.buffers).filter(|buffer| others[*buffer]) {
        keep[buffer] = CachePlace::Register;
    }
    let runs = Mapping {
        keep,
        early_reads: false,
        ..mapping.clone()
    };
    let fits = bytes(facts, &runs) <= u64::from(target.shared_per_cta);
    (runs.keep.contains(&CachePlace::Shared) && fits).then_some(runs)
}

/// Whether threads move less than 16 bytes at a time. RMSNorm over rows of 769 bf16 reaches 4019 GB/s with runs, 3603 without; over 770,
/// which threads access by twos, 4103 and 4134 (H200, 600 MB), and over 6 and 36 2983 and 2968, 2611 and 2836 without (H100, 400 MB).
fn is_narrow(access: &facts::Access) -> bool {
    access.vector * access.bytes < ACCESS_BYTES.unsigned_abs()
}

/// Whether so many bytes are whole accesses of 16 bytes.
fn is_access(bytes: u64) -> bool {
    bytes.is_multiple_of(ACCESS_BYTES.unsigned_abs())
}

/// The elements of a run of several rows; `None` if the tile is none, or lies at an unknown place.
fn run(access: &facts::Access, dims: &[Spread], mapping: &Mapping) -> Option<u64> {
    let along = access.contiguous()?;
    let row = dims[along].extent;
    let is_aligned = access.vector_if_aligned * access.bytes >= ACCESS_BYTES.unsigned_abs()
        && access
            .offset
            .is_some_and(|offset| is_access(offset.unsigned_abs() * access.bytes));
    if !is_aligned || !holds_all(&mapping.spread[along]) || dims[along].tile < row {
        return None;
    }
    let others = (0..dims.len()).filter(|dim| *dim != along && access.uses[*dim] && dims[*dim].tile > 1);
    match others.collect::<Vec<_>>()[..] {
        [dim] if dim < along && access.strides[dim] == i64::try_from(row).ok() => Some(dims[dim].tile * row),
        _ => None,
    }
}

/// The bytes of shared memory that a CTA takes for the tiles that it accesses as runs. Results take the place of what has been read.
pub(super) fn bytes(facts: &Facts, mapping: &Mapping) -> u64 {
    let dims = spreads(facts, mapping);
    let of = |is_write: bool| {
        let runs = facts
            .accesses
            .iter()
            .filter(|access| access.is_write == is_write && !access.is_indirect)
            .filter(|access| mapping.takes_runs(access.buffer, is_write));
        let elements = |access: &facts::Access| {
            let used = dims.iter().zip(&access.uses).filter(|(_, uses)| **uses);
            used.map(|(dim, _)| dim.tile).product::<u64>()
        };
        runs.map(|access| elements(access) * access.bytes).sum::<u64>()
    };
    of(false).max(of(true))
}

/// Refuses tiles that are no run of memory, if the mapping has them go through shared memory as one.
///
/// # Errors
///
/// Unsupported, with what is supported.
pub(super) fn check(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    if mapping.bring != CopyMechanism::Load || !mapping.keep.contains(&CachePlace::Shared) {
        return Ok(());
    }
    if mapping.ctas_per_cluster() > 1 {
        return Err(Reason::unsupported(
            "keep = [shared] with bring = load in a cluster; supported: CTAs on their own",
        ));
    }
    let accesses = space.accesses().map_err(Reason::wrong)?;
    let is_shared = |access: &&Access<'_, '_>| !access.is_indirect() && mapping.copies_tiles_of(access);
    for access in accesses.iter().filter(is_shared) {
        if !is_run(space, mapping, access) {
            return Err(Reason::unsupported(format!(
                "keep = [shared] with bring = load of buffer {}, of which a tile is no run; supported: whole rows, one behind the other",
                access.buffer
            )));
        }
    }
    Ok(())
}

/// Whether the tiles of an access are runs: of a row whose length is static, or of several such rows.
fn is_run(space: &Space<'_, '_>, mapping: &Mapping, access: &Access<'_, '_>) -> bool {
    let Some(strides) = access.strides() else {
        return false;
    };
    let Some(along) = strides.dims.iter().position(|stride| *stride == Some(1)) else {
        return false;
    };
    let extent = space.extents[along];
    if !extent.is_constant()
        || !holds_all(&mapping.spread[along])
        || points_of_cta(&mapping.spread[along]) < extent.constant_value()
    {
        return false;
    }
    let mut others = access
        .dims()
        .into_iter()
        .filter(|dim| *dim != along && points_of_cta(&mapping.spread[*dim]) > 1);
    match (others.next(), others.next()) {
        (None, _) => true,
        (Some(dim), None) => {
            let is_in_tile = |factor: &Factor| factor.is_in_tile() || factor.size == Some(1);
            let mut factors = mapping.spread[dim]
                .iter()
                .skip_while(|factor| !is_in_tile(factor));
            // The axes of a tile are in the order of the dims: those that count rows are outside of those along them.
            dim < along && strides.dims[dim] == Some(extent.constant_value()) && factors.all(is_in_tile)
        }
        (Some(_), Some(_)) => false,
    }
}

/// Whether a dim's index follows from the place in the tile alone, without that of a CTA or of a step.
fn holds_all(factors: &[Factor]) -> bool {
    factors.iter().all(|factor| factor.is_in_cta())
}

#[cfg(test)]
mod tests {
    use norma_dialects::norm::{CachePlace, Level};
    use norma_targets::SM_90A;

    use super::{as_runs, bytes};
    use crate::{
        kernel::first_kernel::in_first_kernel,
        schedule::{
            facts::Facts,
            mapping::{Factor, Mapping},
        },
    };

    /// The facts of a kernel that adds up each row and subtracts the sum from the row.
    fn rows(columns: i64, stride: i64, ty: &str) -> Facts {
        let tensor = match stride == columns {
            true => format!("memref<?x{columns}x{ty}>"),
            false => format!("memref<?x{columns}x{ty}, strided<[{stride}, 1]>>"),
        };
        let text = format!(
            "norm.kernel @k(%x: {tensor}, %y: {tensor}) space(%m = dim(%x, 0), %n = {columns}) align(16, 16) {{
               %0 = norm.read %x[%m, %n] : {tensor}
               %1 = norm.reduce add %0 over(%n) : {ty}
               %2 = arith.subf %0, %1 : {ty}
               norm.write %2, %y[%m, %n] : {tensor}
             }}"
        );
        in_first_kernel(&text, |space| Facts::of(space).ok()).unwrap()
    }

    /// Rows of 32 lanes with `registers` elements in each, and `warps` such rows in a CTA.
    fn mapping(registers: i64, warps: i64) -> Mapping {
        Mapping::new(vec![
            vec![Factor::rest(Level::Grid), Factor::new(Level::Warp, warps)],
            vec![
                Factor::new(Level::Register, registers),
                Factor::new(Level::Lane, 32),
            ],
        ])
    }

    #[test]
    fn rows_of_a_cta_are_runs_where_they_begin_at_multiples_of_16_bytes() {
        let facts = rows(27, 27, "bf16");
        let variants = as_runs(&facts, &mapping(1, 4), &SM_90A);
        // Four rows are 216 bytes; 8, 16 and 32 are multiples of 16.
        let spread: Vec<_> = variants.iter().map(|variant| variant.spread[0].clone()).collect();
        let with = |rows| {
            let register = Factor::new(Level::Register, rows);
            vec![Factor::rest(Level::Grid), register, Factor::new(Level::Warp, 4)]
        };
        assert_eq!(spread, [with(2), with(4), with(8)]);
        for variant in &variants {
            assert_eq!(variant.keep, [CachePlace::Shared, CachePlace::Shared]);
        }
        // Results take the place of what has been read.
        assert_eq!(bytes(&facts, &variants[0]), 8 * 32 * 2);
    }

    #[test]
    fn the_elements_of_a_thread_are_bounded() {
        let rows_of_thread =
            |registers| as_runs(&rows(769, 769, "bf16"), &mapping(registers, 8), &SM_90A).len();
        assert_eq!(rows_of_thread(32), 2);
        assert_eq!(rows_of_thread(64), 1);
        assert_eq!(rows_of_thread(128), 0);
    }

    #[test]
    fn rows_apart_and_rows_that_vectors_of_16_bytes_access_are_no_runs() {
        assert!(as_runs(&rows(27, 40, "bf16"), &mapping(1, 8), &SM_90A).is_empty());
        assert!(as_runs(&rows(24, 24, "bf16"), &mapping(1, 8), &SM_90A).is_empty());
        assert!(!as_runs(&rows(28, 28, "bf16"), &mapping(1, 8), &SM_90A).is_empty());
        assert!(!as_runs(&rows(27, 27, "f32"), &mapping(1, 4), &SM_90A).is_empty());
    }

    /// The place of the CTA is then part of the elements' coordinates, even if there is one CTA.
    #[test]
    fn rows_that_ctas_may_share_are_no_runs() {
        let mut shared = mapping(1, 8);
        shared.spread[1].insert(0, Factor::rest(Level::Grid));
        assert!(as_runs(&rows(27, 27, "bf16"), &shared, &SM_90A).is_empty());
    }

    #[test]
    fn parts_of_rows_are_no_runs() {
        let mut parts = mapping(1, 8);
        parts.spread[1].insert(0, Factor::rest(Level::Loop));
        assert!(as_runs(&rows(769, 769, "bf16"), &parts, &SM_90A).is_empty());
        let mut clusters = mapping(16, 8);
        clusters.spread[1].insert(0, Factor::new(Level::Cluster, 2));
        assert!(as_runs(&rows(769, 769, "bf16"), &clusters, &SM_90A).is_empty());
    }
}
