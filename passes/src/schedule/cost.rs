//! The expected time of a schedule, in microseconds: the time that a copy of the kernel's bytes takes (the memory roofline), and
//! the losses against it.
//!
//! Each term is a known loss, fitted to measurements on an H200; docs/schedule/cost-model.md has the figures and what is left out. Only
//! differences between candidates for the same kernel mean anything.
//!
//! Each file holds the terms of one concern. A term is a function of the [`Candidate`] and returns a loss in per cent of the copy's
//! time, unless it says otherwise.

mod accesses;
mod candidate;
mod handed_over;
mod instructions;
mod kernel;
mod latency;
mod launches;
mod mapped;
mod measured;
mod partial_results;
mod ranking;
mod registers;
mod rereads;
mod rounds;
mod runs;
mod sectors;
mod short_launches;
#[cfg(test)]
mod tests;
mod waiting;

use norma_targets::Target;

use super::{facts::Facts, mapping::Mapping};
use candidate::Candidate;
pub(super) use candidate::relative_bandwidth;
use kernel::Kernel;
pub use launches::{parts_of_stage, staged_us};
pub use measured::{RUN, SHORT_LAUNCH_US};
pub use ranking::{Assembled, cheapest, ranked};

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
    /// Bytes of shared memory that a CTA takes for tiles that go through it.
    pub shared_bytes: u64,
    /// Bytes of the sectors that warps request, in accesses that move a good part of all bytes: (read, written). Each pass over a
    /// row counts.
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
    let kernel = Kernel::of(facts, target);
    Some(kernel::cost(&kernel.candidate(mapping, None)?))
}

/// A loss that is a share of the copy's time.
struct Term {
    name: &'static str,
    /// The loss in per cent, at least 0.
    of: fn(&Candidate<'_>) -> f64,
    /// Whether it needs the sectors of accesses, which take longer to compute than all other terms together.
    needs_sectors: bool,
    /// Whether it is a loss of throughput, which does not count in a launch that is over before memory is busy ([`short_launches`]).
    is_of_throughput: bool,
}

impl Term {
    const fn of_throughput(self) -> Self {
        Self {
            is_of_throughput: true,
            ..self
        }
    }
}

const fn term(name: &'static str, of: fn(&Candidate<'_>) -> f64) -> Term {
    Term {
        name,
        of,
        needs_sectors: false,
        is_of_throughput: false,
    }
}

const fn term_of_sectors(name: &'static str, of: fn(&Candidate<'_>) -> f64) -> Term {
    Term {
        needs_sectors: true,
        ..term(name, of)
    }
}

/// The terms that are shares of the copy's time.
const TERMS: [Term; 26] = [
    term("loads in flight", latency::loads_in_flight).of_throughput(),
    term("loads in a row", latency::loads_in_a_row).of_throughput(),
    term("stores between loads", latency::stores_between_loads).of_throughput(),
    term("crowded rings", latency::crowded_rings).of_throughput(),
    term("small tiles of rings", latency::small_tiles_of_rings).of_throughput(),
    term("bursts", latency::bursts).of_throughput(),
    term_of_sectors("lifetimes", waiting::lifetimes).of_throughput(),
    term("few warps", waiting::few_warps),
    term("few registers", registers::few_registers),
    term("clusters", waiting::clusters).of_throughput(),
    term("shared barriers", waiting::shared_barriers),
    term("partial results", partial_results::partial_results),
    term("waves", launches::waves).of_throughput(),
    term("uneven parts", launches::uneven_parts),
    term("CTA launches", launches::cta_launches).of_throughput(),
    term("dead lanes", accesses::dead_lanes),
    term_of_sectors("narrow accesses", accesses::narrow_accesses),
    term("aligned rows", accesses::aligned_rows),
    term_of_sectors("partial sectors", accesses::partial_sectors),
    term_of_sectors("wasted bytes", accesses::wasted_bytes),
    term_of_sectors("short runs", accesses::short_runs),
    term_of_sectors("pieces of lines", accesses::pieces_of_lines),
    term_of_sectors("exchanges", accesses::exchanges),
    term("reading again", rereads::reading_again),
    term("loops of walks", rereads::loops_of_walks).of_throughput(),
    term("idle SMs", launches::idle_sms).of_throughput(),
];
