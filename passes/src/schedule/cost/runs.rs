//! Tiles of whole rows that go through shared memory as one run of memory each (`keep = [shared]` with `bring = load`).
//!
//! The threads move a run to or from memory by vectors, and its elements one by one between shared memory and the registers that hold
//! them. There the rows of a warp lie as far apart as in memory, so that lanes of different rows may meet in a bank.

use norma_layout::{BlockedParams, LinearLayout, Padding, SharedLayout, shared::WAVEFRONT_BYTES};

use super::{super::facts::Access, candidate::Candidate, mapped::Mapped, measured::*};

/// Ops of all threads that move elements between registers and shared memory.
pub(super) fn ops(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    taken(mapped)
        .map(|access| access.total_elements(&mapped.facts.dims) * OPS_PER_ELEMENT_OF_RUN)
        .sum()
}

/// Microseconds in which the SMs that have CTAs move all runs into their shared memories and out of them.
pub(super) fn shared_us(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let cycles = |access: &Access| {
        let by_vectors = access.bytes as f64 / WAVEFRONT_BYTES as f64;
        let of_lanes = wavefronts(mapped, access) / (WARP as f64 * mapped.live_lanes().max(0.01));
        access.total_elements(&mapped.facts.dims) * (by_vectors + of_lanes)
    };
    let cycles = taken(mapped).map(cycles).sum::<f64>();
    1e6 * cycles * CYCLES_PER_WAVEFRONT / (CYCLES_PER_SECOND * candidate.sms() * candidate.busy())
}

/// The accesses that move runs.
fn taken<'a>(mapped: &Mapped<'a>) -> impl Iterator<Item = &'a Access> {
    let accesses = mapped.facts.accesses.iter();
    accesses.filter(|access| mapped.takes_runs(access))
}

/// Wavefronts in which the lanes of a warp access an element each: more than one where they meet in a bank.
fn wavefronts(mapped: &Mapped<'_>, access: &Access) -> f64 {
    let report = || {
        let along = access.contiguous()?;
        let columns = i64::try_from(mapped.dims[along].lanes).ok()?;
        let row = i64::try_from(mapped.dims[along].extent).ok()?;
        let shape = [i64::from(WARP as u32) / columns, columns];
        let lanes = BlockedParams {
            size_per_thread: vec![1, 1],
            threads_per_warp: shape.to_vec(),
            warps_per_cta: vec![1, 1],
            ctas_per_cluster: vec![1, 1],
            order: vec![1, 0],
        };
        let rows = Padding {
            interval: columns,
            amount: row - columns,
        };
        let shared = SharedLayout::padded(&shape, &[1, 0], rows).ok()?;
        let lanes = LinearLayout::blocked(&lanes, &shape).ok()?;
        shared
            .bank_conflicts(&lanes, 8 * u32::try_from(access.bytes).ok()?, 1)
            .ok()
    };
    report().map_or(1.0, |report| report.wavefronts as f64)
}

#[cfg(test)]
mod tests {
    use norma_dialects::norm::Level;

    use super::*;
    use crate::{
        kernel::first_kernel::in_first_kernel,
        schedule::{
            facts::Facts,
            mapping::{Factor, Mapping},
        },
    };

    /// The wavefronts of rows of `columns` bf16, of which a warp has `rows`.
    fn of_rows(columns: i64, rows: i64) -> f64 {
        let text = format!(
            "norm.kernel @k(%x: memref<?x{columns}xbf16>, %y: memref<?xbf16>)
                 space(%m = dim(%x, 0), %n = {columns}) align(16, 16) {{
               %0 = norm.read %x[%m, %n] : memref<?x{columns}xbf16>
               %1 = norm.reduce add %0 over(%n) : bf16
               norm.write %1, %y[%m] : memref<?xbf16>
             }}"
        );
        let facts = in_first_kernel(&text, |space| Facts::of(space).ok()).unwrap();
        let lanes = 32 / rows;
        let registers = (columns as u64).next_power_of_two() as i64 / lanes;
        let mapping = Mapping::new(vec![
            vec![Factor::rest(Level::Grid), Factor::new(Level::Lane, rows)],
            vec![
                Factor::new(Level::Register, registers),
                Factor::new(Level::Lane, lanes),
            ],
        ]);
        wavefronts(&Mapped::of(&facts, &mapping, 1.0, 1.0), &facts.accesses[0])
    }

    /// Rows of 129 bf16 are 64.5 words apart, half a bank; those of 197 are two and a half banks apart.
    #[test]
    fn lanes_of_different_rows_meet_in_a_bank_where_rows_are_nearly_a_multiple_of_128_bytes() {
        assert_eq!(of_rows(129, 1), 1.0);
        assert_eq!(of_rows(129, 2), 2.0);
        assert_eq!(of_rows(129, 4), 4.0);
        assert_eq!(of_rows(197, 8), 1.0);
    }
}
