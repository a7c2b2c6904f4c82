//! A mapped kernel on a target: how many of its CTAs an SM holds, and what that leaves in flight.

use std::cell::OnceCell;

use norma_targets::{REGISTER_UNIT, SHARED_OF_CTA, SM_90A, Target};

use super::{
    super::cluster_room,
    accesses::AccessUse,
    handed_over, instructions,
    mapped::Mapped,
    measured::{BYTES_IN_FLIGHT, SQUEEZED, WARP},
    registers,
};

/// A mapped kernel of which an SM holds at least one CTA.
pub(super) struct Candidate<'a> {
    pub(super) mapped: Mapped<'a>,
    pub(super) target: &'a Target,
    /// Registers of a thread.
    pub(super) registers: u64,
    /// CTAs that an SM holds at a time.
    pub(super) resident: u64,
    /// The caches of [`Self::accesses`] and [`Self::all_issue_us`].
    accesses: OnceCell<Vec<AccessUse<'a>>>,
    all_issue_us: OnceCell<f64>,
}

impl<'a> Candidate<'a> {
    /// Returns a candidate; `None` if an SM cannot hold one CTA. `assembled` is the number of registers of a thread, if the
    /// assembler has told it.
    pub(super) fn of(mapped: Mapped<'a>, target: &'a Target, assembled: Option<u64>) -> Option<Self> {
        let registers = assembled.unwrap_or_else(|| registers::estimate(&mapped));
        let registers = registers.next_multiple_of(REGISTER_UNIT);
        let by_registers = |registers| handed_over::resident(&mapped, target, registers);
        let held = match (
            by_registers(registers),
            u64::try_from(mapped.mapping.min_ctas_per_sm),
        ) {
            (held, Ok(bound)) if bound == held + 1 && assembled.is_none() && is_squeezable(&mapped, held) => {
                by_registers(squeezed(&mapped, registers)).min(bound)
            }
            // A bound on registers may ask for fewer CTAs than the estimate allows.
            (held, Ok(bound)) if bound > 0 => held.min(bound),
            (held, _) => held,
        };
        let resident = held.min(by_shared_memory(&mapped, target));
        let is_held = resident > 0 && registers <= u64::from(target.registers_per_thread);
        is_held.then(|| Self {
            mapped,
            target,
            registers,
            resident,
            accesses: OnceCell::new(),
            all_issue_us: OnceCell::new(),
        })
    }

    /// Returns the candidate with registers bounded so that an SM holds `resident` CTAs, no more than it holds now.
    pub(super) fn bounded(self, resident: u64) -> Self {
        Self { resident, ..self }
    }

    /// The accesses, and the sectors that they take.
    pub(super) fn accesses(&self) -> &[AccessUse<'a>] {
        self.accesses.get_or_init(|| AccessUse::of(&self.mapped))
    }

    /// The accesses that move a good part of all bytes.
    pub(super) fn streaming(&self) -> impl Iterator<Item = &AccessUse<'a>> {
        self.accesses().iter().filter(|access| access.streams)
    }

    /// Microseconds in which the SMs that have CTAs issue the instructions of all threads, with warps enough for all issue slots.
    pub(super) fn all_issue_us(&self) -> f64 {
        *self.all_issue_us.get_or_init(|| instructions::all_issue_us(self))
    }

    /// Warps of an SM that compute at a time.
    pub(super) fn warps(&self) -> f64 {
        self.resident_now() * self.mapped.groups() * self.mapped.threads() as f64 / WARP as f64
    }

    /// SMs of the target's part.
    pub(super) fn sms(&self) -> f64 {
        f64::from(self.target.part.sms)
    }

    /// The time of a copy of the same bytes, in microseconds.
    pub(super) fn ideal_us(&self) -> f64 {
        1e6 * self.mapped.bytes / (self.target.part.bandwidth * self.target.part.copy_efficiency)
    }

    /// CTAs on an SM at a time: fewer than fit if the launch has too few.
    pub(super) fn resident_now(&self) -> f64 {
        (self.resident as f64).min((self.mapped.ctas() / self.sms()).ceil().max(1.0))
    }

    /// How often all SMs are filled with CTAs, one after the other.
    pub(super) fn waves(&self) -> f64 {
        self.mapped.ctas() / self.room(self.resident)
    }

    /// CTAs of the target at a time with `per_sm` on each SM that has room for its cluster.
    pub(super) fn room(&self, per_sm: u64) -> f64 {
        let of_cluster = self.mapped.mapping.ctas_per_cluster().unsigned_abs().max(1);
        (cluster_room::resident(self.target, of_cluster, per_sm) * of_cluster) as f64
    }

    /// The share of the SMs that have a CTA.
    pub(super) fn busy(&self) -> f64 {
        (self.mapped.ctas() / self.sms()).min(1.0)
    }

    /// Bytes in flight on an SM, at least 1: the requests of all threads in a step, and in the next one if they load ahead, or all
    /// stages of the rings.
    pub(super) fn in_flight(&self) -> f64 {
        let steps = if self.mapped.mapping.prefetches() {
            2.0
        } else {
            1.0
        };
        let of_thread = steps * self.mapped.bytes_together();
        let of_cta = match self.mapped.ring_bytes() {
            None => self.mapped.distinct_threads() * of_thread * self.mapped.live_lanes(),
            Some(bytes) => bytes as f64 * self.mapped.filled(),
        };
        (self.resident_now() * of_cta).max(1.0)
    }

    /// Bytes in flight that an SM of the target needs: [`BYTES_IN_FLIGHT`], scaled by the bandwidth of an SM relative to an H200's.
    pub(super) fn needed(&self) -> f64 {
        BYTES_IN_FLIGHT * relative_bandwidth(self.target)
    }
}

/// Whether one more CTA on an SM that holds `resident` of them is worth fewer registers than the model expects: where a walk that holds
/// its rows waits for the loads of each step, and nothing else keeps memory busy meanwhile, or where the walk does not run otherwise.
fn is_squeezable(mapped: &Mapped<'_>, resident: u64) -> bool {
    let most = if mapped.mapping.prefetches() { 0 } else { 1 };
    mapped.reduces_in_steps() && !mapped.is_ringed() && resident <= most
}

/// The registers with which ptxas may manage where it is expected to take `registers`.
fn squeezed(mapped: &Mapped<'_>, registers: u64) -> u64 {
    let least = match mapped.mapping.prefetches() {
        true => registers::least(mapped),
        false => (registers as f64 * SQUEEZED) as u64,
    };
    least / REGISTER_UNIT * REGISTER_UNIT
}

/// Returns the number of CTAs whose tiles fit in an SM's shared memory.
pub(super) fn by_shared_memory(mapped: &Mapped<'_>, target: &Target) -> u64 {
    match mapped.shared_bytes() {
        0 => u64::MAX,
        bytes => u64::from(target.shared_per_sm) / (bytes + u64::from(SHARED_OF_CTA)),
    }
}

/// The bandwidth of an SM relative to an H200's, to which the bytes that an SM must have in flight are proportional: the latency of memory
/// is about the same (Little's law).
pub(in crate::schedule) fn relative_bandwidth(target: &Target) -> f64 {
    bandwidth_per_sm(target) / bandwidth_per_sm(&SM_90A)
}

pub(super) fn bandwidth_per_sm(target: &Target) -> f64 {
    target.part.bandwidth * target.part.copy_efficiency / f64::from(target.part.sms)
}
