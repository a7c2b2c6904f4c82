//! What all candidates for a kernel on a target have in common, and how one of them is judged.

use norma_targets::Target;

use super::{
    super::{facts::Facts, mapping::Mapping},
    Cost, TERMS, Term, accesses,
    candidate::Candidate,
    handed_over, instructions, launches,
    mapped::Mapped,
    short_launches,
};

/// A kernel on a target.
pub(super) struct Kernel<'a> {
    pub(super) facts: &'a Facts,
    pub(super) target: &'a Target,
    /// Bytes that one pass over the space reads.
    read: f64,
    /// Bytes that it reads and writes, at least 1.
    bytes: f64,
}

impl<'a> Kernel<'a> {
    pub(super) fn of(facts: &'a Facts, target: &'a Target) -> Self {
        let (read, written) = facts.traffic();
        Self {
            facts,
            target,
            read,
            bytes: (read + written).max(1.0),
        }
    }

    /// A candidate for it; `None` if an SM cannot hold one CTA of it. `assembled` are the registers of a thread, where they are known.
    pub(super) fn candidate<'m>(&self, mapping: &'m Mapping, assembled: Option<u64>) -> Option<Candidate<'m>>
    where
        'a: 'm,
    {
        let mapped = Mapped::of(self.facts, mapping, self.read, self.bytes);
        Candidate::of(mapped, self.target, assembled)
    }

    /// The variant of a mapping whose producers hand registers over, where it gains ([`handed_over::variant`]). The mapping itself may have
    /// `spilled`.
    pub(super) fn handed_over(
        &self,
        mapping: &Mapping,
        assembled: Option<u64>,
        spilled: bool,
    ) -> Option<Mapping> {
        if !handed_over::is_possible(mapping, self.target) {
            return None;
        }
        let mapped = Mapped::of(self.facts, mapping, self.read, self.bytes);
        let equal = self.candidate(mapping, assembled);
        handed_over::variant(&mapped, self.target, equal.as_ref(), spilled)
    }
}

/// Returns the expected cost of a candidate.
pub(super) fn cost(candidate: &Candidate<'_>) -> Cost {
    let ideal = candidate.ideal_us();
    let percent = |loss: f64| ideal * loss / 100.0;
    let is_short = short_launches::is_short(candidate);
    let mut losses = terms(is_short)
        .map(|term| (term.name, percent((term.of)(candidate))))
        .collect::<Vec<_>>();
    match is_short {
        true => {
            losses.extend(short_launches::waits_us(candidate));
            losses.push(("instructions", short_launches::instructions_us(candidate)));
        }
        false => losses.push(("instructions", instructions::instructions_us(candidate))),
    }
    let (kernel, scratch) = launches::second_kernel(candidate);
    losses.push(("a second kernel", kernel + percent(scratch)));
    Cost {
        ideal,
        losses,
        registers: candidate.registers,
        resident: candidate.resident,
        shared_bytes: candidate.mapped.shared_bytes(),
        requested: accesses::requested(candidate),
    }
}

/// Returns a lower bound of a candidate's total cost: without the terms that need the sectors of accesses, and without
/// instructions. The other terms are summed up in the order of the total, so that rounding does not make the bound larger than the
/// total.
pub(super) fn bound(candidate: &Candidate<'_>) -> f64 {
    let ideal = candidate.ideal_us();
    let percent = |loss: f64| ideal * loss / 100.0;
    let is_short = short_launches::is_short(candidate);
    let quick = terms(is_short).filter(|term| !term.needs_sectors);
    let quick = quick.map(|term| percent((term.of)(candidate)));
    let waits = match is_short {
        true => short_launches::waits_us(candidate).to_vec(),
        false => Vec::new(),
    };
    let waits = waits.into_iter().map(|(_, us)| us);
    let (kernel, scratch) = launches::second_kernel(candidate);
    ideal + quick.chain(waits).chain([kernel + percent(scratch)]).sum::<f64>()
}

/// The terms that are shares of the copy's time, of a launch that is short or not.
fn terms(is_short: bool) -> impl Iterator<Item = &'static Term> {
    TERMS
        .iter()
        .filter(move |term| !(is_short && term.is_of_throughput))
}
