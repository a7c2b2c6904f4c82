//! What a schedule is expected to take, in microseconds: the time that a copy of the kernel's bytes takes, and the ways to
//! fall short of it.
//!
//! Each term is a known loss, fitted to measurements on an H200; docs/schedule.md has the figures and what is left out. Only
//! differences between candidates for the same kernel mean anything.
//!
//! A file holds the terms of one concern, each a function of the [`Candidate`] that gives a share of the copy's time in per
//! cent, where nothing else is said.

mod accesses;
mod candidate;
mod instructions;
mod latency;
mod launches;
mod mapped;
mod measured;
mod ranking;
mod registers;
mod rereads;
mod sectors;
mod spread;
#[cfg(test)]
mod tests;
mod waiting;

use norma_targets::Target;

use super::{facts::Facts, mapping::Mapping};
use candidate::Candidate;
use mapped::Mapped;
pub use measured::KERNEL_US;
pub use ranking::{Assembled, bounds_registers, ranked};

/// The expected cost of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The time of a copy of the same bytes, in microseconds.
    pub ideal: f64,
    /// Each loss by name, in microseconds.
    pub losses: Vec<(&'static str, f64)>,
    /// Registers of a thread.
    pub registers: u64,
    /// CTAs that an SM holds at a time.
    pub resident: u64,
    /// Bytes of shared memory that a CTA takes for the rings through which its tiles come.
    pub ring_bytes: u64,
    /// Bytes of the sectors that warps ask for, of accesses that move a good part of all bytes: (read, written). What later
    /// passes over a row read again counts again.
    pub requested: (f64, f64),
}

impl Cost {
    /// The expected time, in microseconds.
    pub fn total(&self) -> f64 {
        self.ideal + self.losses.iter().map(|(_, loss)| loss).sum::<f64>()
    }

    /// The share of a copy's speed that is reached.
    pub fn roof_share(&self) -> f64 {
        self.ideal / self.total()
    }
}

/// Judges a candidate; `None` if an SM cannot hold one CTA of it.
pub fn cost(facts: &Facts, mapping: &Mapping, target: &Target) -> Option<Cost> {
    cost_with(facts, mapping, target, None)
}

/// As [`cost`], with the registers of a thread that the assembler took, if they are known.
fn cost_with(facts: &Facts, mapping: &Mapping, target: &Target, assembled: Option<u64>) -> Option<Cost> {
    let candidate = Candidate::of(Mapped::of(facts, mapping), target, assembled)?;
    let ideal = candidate.ideal_us();
    let percent = |loss: f64| ideal * loss / 100.0;
    let mut losses = Vec::with_capacity(SHARES.len() + 2);
    losses.extend(SHARES.map(|(name, term)| (name, percent(term(&candidate)))));
    losses.push(("instructions", instructions::instructions_us(&candidate)));
    let (kernel, scratch) = launches::second_kernel(&candidate);
    losses.push(("a second kernel", kernel + percent(scratch)));
    Some(Cost {
        ideal,
        losses,
        registers: candidate.registers,
        resident: candidate.resident,
        ring_bytes: candidate.mapped.ring_bytes().unwrap_or(0),
        requested: accesses::requested(&candidate),
    })
}

/// A term that is a share of the copy's time, in per cent, by its name.
type Share = (&'static str, fn(&Candidate<'_>) -> f64);

/// The terms that are shares of the copy's time.
const SHARES: [Share; 18] = [
    ("loads in flight", latency::loads_in_flight),
    ("loads in a row", latency::loads_in_a_row),
    ("lifetimes", waiting::lifetimes),
    ("few warps", waiting::few_warps),
    ("clusters", waiting::clusters),
    ("shared barriers", waiting::shared_barriers),
    ("waves", launches::waves),
    ("CTA launches", launches::cta_launches),
    ("dead lanes", accesses::dead_lanes),
    ("narrow accesses", accesses::narrow_accesses),
    ("aligned rows", accesses::aligned_rows),
    ("partial sectors", accesses::partial_sectors),
    ("wasted bytes", accesses::wasted_bytes),
    ("short runs", accesses::short_runs),
    ("pieces of lines", accesses::pieces_of_lines),
    ("exchanges", accesses::exchanges),
    ("reading again", rereads::reading_again),
    ("idle SMs", launches::idle_sms),
];
