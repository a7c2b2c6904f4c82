//! Terms of latency that is not hidden, in per cent of a copy's time.

use norma_dialects::norm::HandOut;

use super::{
    super::facts::{Access, Use},
    candidate::{Candidate, relative_bandwidth},
    mapped::Mapped,
    measured::*,
    waiting::longer,
};

/// Loads in flight: a loss that is inversely proportional to the bytes in flight on an SM, and the latency of reads that these
/// bytes do not cover (Little's law). Steps that reduce what they hold wait for their loads each time, unless a ring brings the
/// next tiles meanwhile. Where no read is a good part of all bytes, nothing waits for loads.
pub(super) fn loads_in_flight(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    // What a walk waits for that loads its rows ahead counts as lifetime.
    if mapped.streamed().next().is_none() || mapped.loads_rows_ahead() {
        return 0.0;
    }
    let (needed, in_flight) = (candidate.needed(), candidate.in_flight());
    let ctas_per_sm = mapped.ctas() / candidate.sms();
    // An SM that requests all of its bytes at once waits for one latency, however few they are.
    let rounds = (mapped.read / (candidate.sms() * ctas_per_sm.min(1.0) * in_flight)).max(1.0);
    let covering = LATENCY_BYTES * read_at_once(candidate);
    // SMs without a CTA request nothing: the others have that many times their share of the bytes to wait for.
    let requested = in_flight * candidate.busy();
    let lacking = covering * needed / (BYTES_IN_FLIGHT * requested);
    let latency = (1.0 - 1.0 / rounds) * longer(&[lacking], OVERLAP_POWER);
    let waits = match mapped.reduces_what_a_step_holds() && !mapped.is_ringed() {
        true => WALK,
        false if mapped.facts.reductions.is_empty() => LOADS_IN_FLIGHT,
        false => {
            let read_beyond_half = (2.0 * mapped.read / mapped.bytes - 1.0).max(0.0);
            LOADS_IN_FLIGHT_OF_REDUCTION + read_beyond_half * (LOADS_IN_FLIGHT - LOADS_IN_FLIGHT_OF_REDUCTION)
        }
    };
    waits * needed / in_flight + latency
}

/// The share of reads among what an SM moves while a CTA reads. A CTA that reduces a row in a loop writes nothing before the loop ends:
/// only the other CTAs on its SM do meanwhile.
fn read_at_once(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let share = mapped.read / mapped.bytes;
    let mut reductions = mapped.facts.reductions.iter();
    match reductions.any(|reduction| mapped.is_carried(reduction)) {
        true => share + (1.0 - share) / candidate.resident_now(),
        false => share,
    }
}

/// Stores between loads: a loop that writes between the loads of a reduction. ptxas does not know that it writes to other memory, so
/// that the loads of a step wait for the stores of the step before, unless they are issued ahead of them.
pub(super) fn stores_between_loads(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let is_ahead = mapped.is_ringed() || mapped.mapping.prefetches() || mapped.mapping.unroll_bytes > 0;
    let mut reductions = mapped.facts.reductions.iter();
    let is_carried = reductions.any(|reduction| mapped.is_carried(reduction));
    match is_carried && !is_ahead && mapped.facts.writes_between_reads() {
        true => STORES_BETWEEN_LOADS,
        false => 0.0,
    }
}

/// Loads in a row: each further 16 bytes that a thread loads, and what carrying tiles to the next step takes. Copies to a ring are not
/// loads of a thread.
pub(super) fn loads_in_a_row(candidate: &Candidate<'_>) -> f64 {
    if candidate.mapped.is_ringed() || candidate.mapped.loads_rows_ahead() {
        return 0.0;
    }
    let serial = match candidate.mapped.is_looped() {
        true if sums_up_columns(&candidate.mapped) => SERIAL_LOADS_OF_SUMS,
        true => SERIAL_LOADS_IN_LOOP,
        false if candidate.mapped.facts.reductions.is_empty() => SERIAL_LOADS,
        false if reads_by_elements(&candidate.mapped) => SERIAL_LOADS_OF_ELEMENTS,
        false => SERIAL_LOADS_OF_REDUCTION,
    };
    let ahead = match candidate.mapped.mapping.prefetches() {
        // The loads of the second pass, and those of weights, are not ahead: only other warps cover their latency.
        true => LOADS_AHEAD + FEW_WARPS_AHEAD * (WARPS_AHEAD / candidate.warps() - 1.0).max(0.0),
        false => 0.0,
    };
    serial * candidate.mapped.further_loads() + ahead
}

/// Whether CTAs sum up what lies apart in memory, so that they end with their part of all rows, where sums along rows end with each row.
fn sums_up_columns(mapped: &Mapped<'_>) -> bool {
    let along = mapped.facts.lead().and_then(Access::contiguous);
    mapped.sums_up() && along.is_some_and(|dim| mapped.facts.dims[dim].usage == Use::Kept)
}

/// Whether threads read what they wait for element by element.
fn reads_by_elements(mapped: &Mapped<'_>) -> bool {
    let mut streamed = mapped.streamed();
    streamed.all(|access| mapped.width(access) == 1)
}

/// Small tiles of rings: memory switches between reads and writes more often, the fewer bytes a CTA, or a cluster, reads in a step.
pub(super) fn small_tiles_of_rings(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    match mapped.ring_bytes().filter(|_| mapped.walks_through_rings()) {
        Some(bytes) => {
            let of_cta = bytes as f64 / mapped.mapping.stages as f64;
            let of_tile = of_cta * mapped.mapping.ctas_per_cluster() as f64;
            RING_TILE * (RING_TILE_BYTES / of_tile).log2().max(0.0)
        }
        None => 0.0,
    }
}

/// Crowded rings: more bytes under way than a walk through rings needs make memory switch between reads and writes less favourably.
pub(super) fn crowded_rings(candidate: &Candidate<'_>) -> f64 {
    match candidate.mapped.walks_through_rings() {
        true => {
            let most = RING_BYTES * relative_bandwidth(candidate.target);
            let crowded = match candidate.mapped.walks_odd_rows_through_rings() {
                true if candidate.mapped.mapping.hand_out == HandOut::Dynamic => DRAWN_RING_CROWDED,
                _ => RING_CROWDED,
            };
            crowded * (candidate.in_flight() / most - 1.0).max(0.0)
        }
        false => 0.0,
    }
}

/// Bursts: CTAs that request at once all of a row that begins at a multiple of [`BURST_BYTES`], or as clusters through rings. A loop over the
/// row requests it bit by bit.
pub(super) fn bursts(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    if !rows_begin_at_bursts(mapped) {
        return 0.0;
    }
    let is_shared = mapped.mapping.ctas_per_cluster() > 1;
    let lost = match (mapped.walks_through_rings(), mapped.is_looped()) {
        (true, _) if is_shared && !mapped.carries_sums() => BURSTS_OF_CLUSTER,
        (false, false) if !is_shared && !mapped.facts.reductions.is_empty() => BURSTS_OF_HELD_ROWS,
        _ => 0.0,
    };
    lost * relative_bandwidth(candidate.target)
}

/// Whether all rows begin at multiples of [`BURST_BYTES`] from the first one, and end there.
fn rows_begin_at_bursts(mapped: &Mapped<'_>) -> bool {
    let facts = mapped.facts;
    let lead = facts
        .lead()
        .and_then(|access| Some((access, access.contiguous()?)));
    let Some((access, along)) = lead else {
        return false;
    };
    let is_whole = |elements: u64| (elements * access.bytes).is_multiple_of(BURST_BYTES);
    let mut others = (0..facts.dims.len()).filter(|dim| access.uses[*dim] && *dim != along);
    let begin = others.all(|dim| access.strides[dim].is_some_and(|stride| is_whole(stride.unsigned_abs())));
    begin && mapped.mapping.aligned_dim.is_none() && is_whole(facts.dims[along].extent)
}
