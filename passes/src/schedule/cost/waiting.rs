//! Terms of threads that wait for one another, in per cent of a copy's time.

use norma_dialects::norm::{HandOut, Level};

use super::{
    super::facts::Use,
    accesses::is_exchanged,
    candidate::{Candidate, bandwidth_per_sm},
    instructions::issue_us,
    mapped::Mapped,
    measured::*,
    rounds,
};

/// Lifetimes: how far the CTAs on an SM fall short of keeping memory busy.
///
/// A CTA requests its bytes, waits for them, reduces, which makes its warps wait for one another, computes, and writes. For the
/// time that this takes beyond moving the bytes, [`lifetime_us`], the other CTAs on the SM have to keep memory busy. By Little's
/// law, with `resident` CTAs, each of which has `cta_us` of the SM's bandwidth to move, nothing is lost while `resident * cta_us`
/// is longer. The computation of a CTA, and a part of its own transfer, overlap only with other CTAs. Where a ring brings tiles,
/// copies continue meanwhile.
pub(super) fn lifetimes(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    if mapped.facts.reductions.is_empty() {
        return 0.0;
    }
    let resident = candidate.resident_now();
    if mapped.loads_rows_ahead() {
        return rows_ahead(candidate);
    }
    if mapped.walks_odd_rows_through_rings() {
        return steps_of_odd_rows(candidate);
    }
    if mapped.overlaps_steps() {
        return overlapped_steps(candidate);
    }
    if mapped.walks_held_rows() && resident == 1.0 {
        return lone_steps(candidate);
    }
    let under_way_us = resident * candidate.busy() * cta_us(candidate);
    let serial = match mapped.is_looped() {
        true => SERIAL_SHARE_OF_LOOP,
        false => SERIAL_SHARE,
    };
    let alone = serial + candidate.busy() * issue_us(candidate) / candidate.ideal_us();
    let idle = |lifetime_us: f64| longer(&[lifetime_us / under_way_us + alone / resident], LIFETIME_POWER);
    if !only_sums(candidate) {
        return idle(lifetime_us(candidate));
    }
    let lone = match mapped.crosses_warps() {
        true => LONE_SUMMING_CTA / (resident * resident),
        false => LONE_CTA_OF_WARPS / resident,
    };
    idle(LIFETIME_US + ROUND_US) + lone
}

/// Lifetimes of a walk whose rows arrive while it computes. A step takes its CTA [`RING_STEP_US`], in which warps wait for one another, and
/// the time in which the SM issues its instructions. The CTAs on an SM hide each other's waiting, but the SM has to issue the instructions
/// of all of them and to move all of their bytes, and the CTAs of a second wave wait as long again. Groups of consumers in a CTA hide each
/// other's waiting as CTAs do, and share its steps. An exchange between the CTAs of a cluster takes longer the more CTAs share their SMs.
fn overlapped_steps(candidate: &Candidate<'_>) -> f64 {
    let resident = candidate.resident_now();
    let issue_us = issue_of_walk_us(candidate);
    let groups = candidate.mapped.groups();
    let step_us = match candidate.mapped.mapping.hand_out {
        HandOut::Static => RING_STEP_US,
        HandOut::Dynamic => DRAWN_STEP_US,
    };
    let of_cta_us = candidate.mapped.steps() * step_us / groups + exchanges_of_walk_us(candidate);
    let waited_us = waves(candidate) * of_cta_us + starts_us(candidate) + issue_us / (resident * groups);
    let ideal_us = candidate.ideal_us();
    let power = match candidate.mapped.mapping.aligned_dim {
        Some(_) => ODD_SUMS_POWER,
        None => RING_POWER,
    };
    longer(&[issue_us / ideal_us, waited_us / ideal_us], power)
}

/// Lifetimes of a walk that loads its rows ahead and carries no sums: [`ROW_AHEAD_US`] in each step, which the other CTAs on the SM share.
fn rows_ahead(candidate: &Candidate<'_>) -> f64 {
    100.0 * waves(candidate) * candidate.mapped.steps() * ROW_AHEAD_US / candidate.ideal_us()
}

/// Lifetimes of a walk through rings that carries no sums, over rows that begin anywhere: in a step the instructions of all CTAs on an SM are
/// issued, behind what CTAs wait for one another, and copies lose [`ODD_RING_COPIES`] or [`DRAWN_RING_COPIES`] meanwhile.
fn steps_of_odd_rows(candidate: &Candidate<'_>) -> f64 {
    let resident = candidate.resident_now();
    let mapping = candidate.mapped.mapping;
    let exchanges = rounds::between_ctas(&candidate.mapped);
    let (waited_us, copies, power) = match mapping.hand_out {
        HandOut::Static => (
            candidate.mapped.steps() * ODD_RING_STEP_US / resident
                + exchanges * ODD_RING_EXCHANGE_US * resident.sqrt(),
            ODD_RING_COPIES,
            ODD_RING_POWER,
        ),
        HandOut::Dynamic => {
            let exchange_us = DRAWN_RING_EXCHANGE_US * (mapping.ctas_per_cluster() as f64).sqrt().sqrt();
            (
                exchanges * exchange_us / resident,
                DRAWN_RING_COPIES,
                DRAWN_RING_POWER,
            )
        }
    };
    let waves = waves(candidate);
    // SMs that have fewer CTAs than others issue less.
    let filled = (candidate.mapped.ctas() / (waves * resident * candidate.sms())).min(1.0);
    let issue_us = ODD_RING_ISSUE * candidate.all_issue_us() * candidate.busy() / filled;
    let share = (issue_us + waves * waited_us + starts_us(candidate)) / candidate.ideal_us();
    let bytes = 1.0 + copies / 100.0;
    bytes * longer(&[share / bytes], power) + copies
}

/// Lifetimes of a walk that holds its rows, loads none ahead, and has its SM alone. Behind the transfer of its rows, a step takes
/// [`HELD_STEP_US`] and the time of its instructions, in which nothing is requested.
fn lone_steps(candidate: &Candidate<'_>) -> f64 {
    let of_cta_us = candidate.mapped.steps() * HELD_STEP_US + exchanges_of_walk_us(candidate);
    let waited_us = waves(candidate) * of_cta_us + issue_of_walk_us(candidate);
    100.0 * waited_us / candidate.ideal_us()
}

/// The waves in which CTAs walk, one behind the other.
fn waves(candidate: &Candidate<'_>) -> f64 {
    candidate.waves().max(1.0).ceil()
}

/// Microseconds that all waves of a walk through rings but the first take to start.
fn starts_us(candidate: &Candidate<'_>) -> f64 {
    WALK_START_US * (waves(candidate) - 1.0)
}

/// Microseconds in which the instructions of a walk are issued.
fn issue_of_walk_us(candidate: &Candidate<'_>) -> f64 {
    let (share, warps) = match candidate.mapped.mapping.aligned_dim {
        Some(_) => (ODD_SUMS_ISSUE, ODD_SUMS_ISSUING_WARPS),
        None => (RING_ISSUE, RING_ISSUING_WARPS),
    };
    share * candidate.all_issue_us() / (candidate.warps() / warps).min(1.0)
}

/// Microseconds that the exchanges between the CTAs of a cluster add to the steps of a walk.
fn exchanges_of_walk_us(candidate: &Candidate<'_>) -> f64 {
    let resident = candidate.resident_now();
    let mapping = candidate.mapped.mapping;
    let exchange_us = match (mapping.hand_out, mapping.ctas_per_cluster()) {
        (HandOut::Dynamic, _) => DRAWN_EXCHANGE_US,
        (HandOut::Static, ..=RING_PAIR) if mapping.aligned_dim.is_some() => {
            ODD_SUMS_PAIR_EXCHANGE_US * resident
        }
        (HandOut::Static, ..=RING_PAIR) => RING_PAIR_EXCHANGE_US * resident,
        (HandOut::Static, _) => RING_EXCHANGE_US * resident.powf(RING_EXCHANGE_POWER),
    };
    rounds::between_ctas(&candidate.mapped) * exchange_us
}

/// Returns by how much a copy takes longer, in per cent, if it overlaps with work that takes `shares` of its time: the p-norm of
/// all of them with p = `power`, which is close to the longest where the power is high.
pub(super) fn longer(shares: &[f64], power: i32) -> f64 {
    let powers = shares.iter().map(|share| share.powi(power));
    100.0 * ((1.0 + powers.sum::<f64>()).powf(1.0 / f64::from(power)) - 1.0)
}

/// Whether a kernel loops over what it reduces and broadcasts none of the results along it again, as a sum over rows does: its
/// warps wait for one another only at its end. The sweeps have such kernels only where reductions are merged.
fn only_sums(candidate: &Candidate<'_>) -> bool {
    let mapped = &candidate.mapped;
    mapped.sums_up() && !mapped.mapping.merges_at(Level::Loop)
}

/// The time that a CTA takes beyond moving its bytes, in microseconds.
fn lifetime_us(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let rounds = rounds::between_warps(mapped) + f64::from(u8::from(is_exchanged(candidate)));
    let round_us = match mapped.is_looped() {
        true => ROUND_OF_LOOP_US,
        false => ROUND_US,
    };
    let between_ctas = match mapped.mapping.ctas_per_cluster() {
        1 => 0.0,
        ..=RING_PAIR if mapped.reduces_in_steps() => exchanges_of_walk_us(candidate),
        _ => CLUSTER_US + EXCHANGE_US * rounds::between_ctas(mapped),
    };
    let late = if has_late_reads(candidate) {
        LATE_READS_US
    } else {
        0.0
    };
    LIFETIME_US + rounds * round_us + between_ctas + late
}

/// Microseconds in which an SM's share of the bandwidth moves the bytes of a CTA.
fn cta_us(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    1e6 * mapped.bytes / mapped.ctas() / bandwidth_per_sm(candidate.target)
}

/// Few warps: rows that fewer than four warps walk with merged reductions.
pub(super) fn few_warps(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    match mapped.is_looped() && mapped.mapping.merges_at(Level::Loop) {
        true => FEW_WARPS * (1.0 - mapped.warps_of_row() as f64 / 4.0).max(0.0),
        false => 0.0,
    }
}

/// Clusters: the rate at which their CTAs can be launched, and the losses of clusters of more CTAs than are portable, of walks, late reads,
/// many copied vectors and reads of single elements in clusters. What else walks lose whose rows arrive while they compute, or by pairs of
/// CTAs, counts among what their steps take.
pub(super) fn clusters(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let ctas = mapped.mapping.ctas_per_cluster().unsigned_abs();
    if ctas == 1 {
        return 0.0;
    }
    let beyond = match candidate.target.is_portable(ctas) {
        true => 0.0,
        false => BEYOND_PORTABLE_CLUSTER,
    };
    let is_pair = mapped.mapping.ctas_per_cluster() <= RING_PAIR;
    if mapped.overlaps_steps() || mapped.reduces_in_steps() && is_pair {
        return match mapped.mapping.hand_out {
            HandOut::Static => RING_OF_CLUSTER + beyond,
            HandOut::Dynamic => {
                let of_cluster = if is_pair { DRAWN_OF_PAIR } else { DRAWN_OF_CLUSTER };
                of_cluster
                    + beyond
                    + DRAWN_BY_MANY_WARPS * (mapped.warps_of_row() as f64 / DRAWN_WARPS).log2().max(0.0)
            }
        };
    }
    let launches = longer(&[CLUSTER_LAUNCH_US / cta_us(candidate)], CLUSTER_LAUNCH_POWER);
    let walk = if mapped.is_looped() { WALK_OF_CLUSTER } else { 0.0 };
    let late = match mapped.is_ringed() {
        true => LATE_READS_BESIDE_COPIES * late_reads(mapped) as f64,
        false if has_late_reads(candidate) => LATE_READS_OF_CLUSTER,
        false => 0.0,
    };
    let vectors = mapped.vectors() as f64 * mapped.filled();
    let copied = match mapped.is_ringed() {
        true => {
            let written = (2.0 * (1.0 - mapped.read / mapped.bytes)).min(1.0);
            COPIED_ROWS * written + COPIED_BY_FEW_THREADS * (vectors / COPIED_VECTORS).log2().max(0.0)
        }
        false => 0.0,
    };
    let of_width = match mapped.mapping.extent(Level::Vector) {
        1 => ELEMENTS_OF_CLUSTER,
        _ => beyond,
    };
    CLUSTER + launches + walk + late + copied + of_width
}

/// Whether reads that only results need are issued behind the reductions of a held row. Reads element by element, and reads beside
/// rows that copies bring, are never issued early: the terms of those include the loss.
pub(super) fn has_late_reads(candidate: &Candidate<'_>) -> bool {
    let mapped = &candidate.mapped;
    late_reads(mapped) > 0 && !mapped.is_looped() && !mapped.is_ringed() && !mapped.mapping.early_reads
}

/// Returns the number of reads that only results need, and that move more than one element at a time.
fn late_reads(mapped: &Mapped<'_>) -> usize {
    let accesses = mapped.facts.accesses.iter();
    let late = accesses.filter(|access| mapped.facts.is_late(access) && mapped.width(access) > 1);
    late.count()
}

/// Shared barriers: rows of one CTA that wait for each other.
pub(super) fn shared_barriers(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let kept = mapped.facts.dims.iter().zip(&mapped.dims);
    let kept = kept.filter(|(dim, _)| dim.usage == Use::Kept);
    let beside = kept.map(|(_, spread)| spread.tile).product::<u64>();
    match mapped.crosses_warps() && beside > 1 {
        true => SHARED_BARRIER,
        false => 0.0,
    }
}
