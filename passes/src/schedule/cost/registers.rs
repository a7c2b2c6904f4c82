//! The registers of a thread, estimated from the values that it holds.

use norma_dialects::norm::Level;
use norma_targets::REGISTER_UNIT;

use super::{super::facts::Access, candidate::Candidate, handed_over, mapped::Mapped, measured::*};

/// The registers that the assembler is expected to take.
pub(super) fn estimate(mapped: &Mapped<'_>) -> u64 {
    base(mapped) + rows(mapped) + early(mapped) + carried(mapped)
}

/// The registers without which a walk spills: for the elements that its steps hold, and [`LEAST_REGISTERS_OF_WALK`].
pub(super) fn least(mapped: &Mapped<'_>) -> u64 {
    LEAST_REGISTERS_OF_WALK + rows(mapped) + carried(mapped)
}

/// Few registers: values that are loaded or computed again because a thread has fewer registers than it is expected to take. Where sums are
/// carried over a walk, what producers hand over does not count: with it handed-over registers would be chosen where they gain nothing.
pub(super) fn few_registers(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let mapping = mapped.mapping;
    let threads = mapped.all_threads() * candidate.resident;
    let available = match mapping.producer_registers > 0 && !mapped.carries_sums() {
        true => handed_over::given(mapping, candidate.resident) as f64,
        false => u64::from(candidate.target.registers_per_sm) as f64 / threads as f64,
    };
    // The assembler takes no more than there are, and does not tell how many more it would take for the step that is loaded ahead.
    let takes_all = (candidate.registers + REGISTER_UNIT) as f64 > available;
    let needed = match takes_all && mapped.reduces_in_steps() && mapping.prefetches() {
        true => candidate.registers.max(estimate(mapped)),
        false => candidate.registers,
    };
    FEW_REGISTERS * (needed as f64 / available - 1.0).max(0.0)
}

/// The registers for the elements of a step, of one that is loaded ahead, and of held ones.
fn rows(mapped: &Mapped<'_>) -> u64 {
    // Values that are used before and after the reduction of one step stay in f32. Tiles in a ring are loaded again in each phase.
    // So is what a walk without sums holds beside its next row extended again: LayerNorm over 5125 columns by four warps takes 153 registers.
    // Steps that are unrolled are computed one after the other, and ptxas delays loads for which it has no registers: LayerNorm
    // takes 40 and 38 registers with 64 and 128 bytes together (ptxas 13.0).
    let is_unrolled = mapped.mapping.unroll_bytes > 0;
    let keeps_type = mapped.is_ringed() || is_unrolled || mapped.loads_rows_ahead();
    let is_wide = mapped.reduces_what_a_step_holds() && !keeps_type;
    let of = |access: &Access| match is_wide {
        true => mapped.held(access) * access.bytes.max(4) / 4,
        false => of_access(mapped, access),
    };
    let accesses = mapped.facts.accesses.iter();
    let rows = accesses
        .filter(|access| mapped.is_kept(access))
        .map(of)
        .sum::<u64>();
    let streamed = mapped.streamed().map(of).sum::<u64>();
    // A tile that is loaded a step ahead keeps its storage type.
    let ahead = match mapped.mapping.prefetches() {
        true => mapped.streamed().map(|access| of_access(mapped, access)).sum(),
        false => 0,
    };
    rows.max(streamed) + ahead + of_held_steps(mapped)
}

/// The registers for the tiles of held steps, which keep their storage type.
fn of_held_steps(mapped: &Mapped<'_>) -> u64 {
    let accesses = mapped.facts.accesses.iter();
    accesses
        .map(|access| of_access(mapped, access) * mapped.held_steps(access))
        .sum()
}

/// The registers for the elements of an access that a thread holds. Two elements share a register only if one access moves both.
fn of_access(mapped: &Mapped<'_>, access: &Access) -> u64 {
    let is_narrow = mapped.width(access) * access.bytes < 4;
    let bytes = if is_narrow { 4 } else { access.bytes };
    mapped.held(access) * bytes / 4
}

/// The registers for addresses, the reduction, and what comes behind it.
fn base(mapped: &Mapped<'_>) -> u64 {
    let base = match (mapped.is_looped(), mapped.reduces_in_steps()) {
        (true, _) if mapped.is_ringed() => BASE_REGISTERS_OF_RING,
        (_, true) if mapped.loads_rows_ahead() => BASE_REGISTERS_AHEAD,
        (_, true) => BASE_REGISTERS_OF_WALK,
        (true, false) => BASE_REGISTERS_OF_LOOP,
        (false, _) => BASE_REGISTERS,
    };
    let aligned = mapped.mapping.aligned_dim;
    base + aligned.map_or(0, |dim| REGISTERS_OF_ALIGNED_ROWS * mapped.rows_of_thread(dim))
}

/// The registers for what is read early and needed only behind the reductions; at least those of one access of 16-bit elements,
/// which the last phase computes in.
fn early(mapped: &Mapped<'_>) -> u64 {
    let late = if mapped.mapping.early_reads || mapped.is_looped() {
        let late = mapped
            .facts
            .accesses
            .iter()
            .filter(|access| mapped.facts.is_late(access));
        late.map(|access| of_access(mapped, access)).sum()
    } else {
        0
    };
    late.max(mapped.mapping.extent(Level::Vector) as u64 / 2)
}

/// The registers of loop-carried values.
fn carried(mapped: &Mapped<'_>) -> u64 {
    let reductions = mapped.facts.reductions.iter();
    let carried = reductions.filter(|reduction| mapped.is_carried(reduction));
    carried
        .map(|reduction| {
            let kept = (0..mapped.dims.len()).filter(|dim| reduction.keeps[*dim]);
            reduction.bytes.div_ceil(4) * kept.map(|dim| mapped.dims[dim].registers).product::<u64>()
        })
        .sum()
}
