//! The order of candidates: by their expected time, and by the registers that the assembler took where it has been asked.

use std::collections::HashMap;

use norma_dialects::norm::{CachePlace, Level};
use norma_targets::Target;

use super::{
    super::{
        facts::Facts,
        mapping::{Factor, Mapping},
    },
    Cost,
    candidate::Candidate,
    kernel::{Kernel, bound, cost},
};

/// Whether to bound a kernel's registers by what the model expects. With up to three accesses per thread, ptxas spends registers
/// for a gain of a few instructions and halves the CTAs on an SM; with more, the row leaves it no choice, and a bound that is a
/// little too low spills.
fn bounds_registers(candidate: &Candidate<'_>) -> bool {
    let mapping = candidate.mapped.mapping;
    if mapping.prefetches() {
        return true;
    }
    if !mapping.early_reads {
        return false;
    }
    let crosses_warps = candidate.mapped.facts.reductions.iter().any(|reduction| {
        let warps = |factors: &Vec<Factor>| factors.iter().any(|factor| factor.level == Level::Warp);
        mapping
            .spread
            .iter()
            .zip(&reduction.over)
            .any(|(factors, over)| *over && warps(factors))
    });
    crosses_warps && candidate.mapped.vectors() <= 3
}

/// How many bounds on registers are candidates: as many CTAs as the model expects, and fewer.
const BOUNDS_TRIED: u64 = 4;

/// The registers of a thread that the assembler took for mappings; `None` for one that spilled. Rereads from L1 and from L2 are the
/// same instructions with other hints, so that mappings that differ only in that take the same registers. Those that differ only in how
/// many threads share a tile take about as many.
#[derive(Clone, Debug, Default)]
pub struct Assembled {
    /// By mapping without hints: the one that was assembled, and its registers.
    found: HashMap<Mapping, (Mapping, Option<u64>)>,
    /// By what a single thread does: the most registers that a mapping took whose registers were not bounded.
    of_thread: HashMap<Mapping, u64>,
}

impl Assembled {
    /// Returns what the assembler took for a mapping, if it has been asked.
    fn get(&self, mapping: &Mapping) -> Option<Option<u64>> {
        // Usually nothing has been assembled yet.
        if self.found.is_empty() {
            return None;
        }
        let (_, registers) = self.found.get(&without_hints(mapping))?;
        Some(*registers)
    }

    /// Returns the most registers that the assembler took for a mapping whose threads do the same as the candidate's, if that is more
    /// than expected. With more threads it may have to do with fewer than these took.
    fn of_alike(&self, candidate: &Candidate<'_>) -> Option<u64> {
        if self.of_thread.is_empty() {
            return None;
        }
        let mapping = candidate.mapped.mapping;
        let registers = *self.of_thread.get(&of_one_thread(without_hints(mapping))?)?;
        let threads = mapping.threads().unsigned_abs();
        let is_held = candidate.target.resident_ctas(threads, registers) > 0;
        (registers > candidate.registers && is_held).then_some(registers)
    }

    /// The mappings that were assembled.
    pub fn iter(&self) -> impl Iterator<Item = &(Mapping, Option<u64>)> {
        self.found.values()
    }
}

impl Extend<(Mapping, Option<u64>)> for Assembled {
    fn extend<T: IntoIterator<Item = (Mapping, Option<u64>)>>(&mut self, found: T) {
        for (mapping, registers) in found {
            let key = without_hints(&mapping);
            if let (Some(key), Some(registers)) = (of_one_thread(key.clone()), registers) {
                let most = self.of_thread.entry(key).or_default();
                *most = registers.max(*most);
            }
            self.found.insert(key, (mapping, registers));
        }
    }
}

impl FromIterator<(Mapping, Option<u64>)> for Assembled {
    fn from_iter<T: IntoIterator<Item = (Mapping, Option<u64>)>>(found: T) -> Self {
        let mut assembled = Self::default();
        assembled.extend(found);
        assembled
    }
}

/// The mapping with L2 in the place of L1.
fn without_hints(mapping: &Mapping) -> Mapping {
    let mut mapping = mapping.clone();
    for place in &mut mapping.keep {
        if *place == CachePlace::L1 {
            *place = CachePlace::L2;
        }
    }
    mapping
}

/// The mapping with the levels of a thread alone, if nothing but what the thread does decides on its registers.
fn of_one_thread(mut mapping: Mapping) -> Option<Mapping> {
    if mapping.min_ctas_per_sm > 0 || mapping.producer_warps > 0 {
        return None;
    }
    for factors in &mut mapping.spread {
        factors.retain(|factor| matches!(factor.level, Level::Loop | Level::Register | Level::Vector));
    }
    Some(mapping)
}

/// A candidate and the judgement on it.
struct Judged<T> {
    mapping: Mapping,
    /// The registers of a thread, where the assembler has been asked, or asked for a mapping whose threads do the same.
    assembled: Option<u64>,
    found: T,
}

/// Returns what `judge` says of each candidate that an SM can hold, in their order. Registers are bounded as the model expects
/// them, and are those of the assembler where it has been asked; mappings that spilled are left out.
fn judged<T>(
    kernel: &Kernel<'_>,
    candidates: Vec<Mapping>,
    assembled: &Assembled,
    judge: impl Fn(&Candidate<'_>) -> T,
) -> Vec<Judged<T>> {
    let mut all = Vec::with_capacity(candidates.len());
    let mut add = |mapping: Mapping, of_alike: Option<u64>, expected: T| {
        let (registers, found) = match assembled.get(&mapping) {
            None => (of_alike, Some(expected)),
            // It spilled.
            Some(None) => (None, None),
            Some(registers) => (
                registers,
                kernel.candidate(&mapping, registers).as_ref().map(&judge),
            ),
        };
        all.extend(found.map(|found| Judged {
            mapping,
            assembled: registers,
            found,
        }));
    };
    for mapping in candidates {
        let known = assembled.get(&mapping);
        let (known, spilled) = (known.flatten(), known == Some(None));
        if let Some(handed_over) = kernel.handed_over(&mapping, known, spilled)
            && let Some(expected) = kernel.candidate(&handed_over, known)
        {
            let found = judge(&expected);
            add(handed_over, None, found);
        }
        let expected = kernel.candidate(&mapping, None);
        let resident = expected.as_ref().map_or(0, |expected| expected.resident);
        // More CTAs by fewer registers than expected matter to walks that have hardly any.
        if resident <= 1 && mapping.min_ctas_per_sm == 0 && mapping.looped_dims() > 0 {
            let squeezed = bounded(&mapping, resident + 1);
            let found = kernel.candidate(&squeezed, None);
            if let Some(found) = found
                .filter(|found| found.resident > resident)
                .as_ref()
                .map(&judge)
            {
                add(squeezed, None, found);
            }
        }
        let Some(expected) = expected else {
            continue;
        };
        // The grid of such a walk is as many CTAs as it asks for on each SM.
        if expected.mapped.loads_rows_ahead() && mapping.min_ctas_per_sm > 0 {
            if resident >= mapping.min_ctas_per_sm.unsigned_abs() {
                let found = judge(&expected);
                add(mapping, None, found);
            }
            continue;
        }
        if !bounds_registers(&expected) {
            let of_alike = assembled.of_alike(&expected);
            let candidate = of_alike.and_then(|_| kernel.candidate(&mapping, of_alike));
            let found = judge(candidate.as_ref().unwrap_or(&expected));
            add(mapping, of_alike, found);
            continue;
        }
        // A bound that is too tight spills: the same schedule with fewer CTAs is a candidate of its own.
        let mut candidate = expected;
        for fewer in (0..BOUNDS_TRIED).filter(|fewer| resident > *fewer) {
            candidate = candidate.bounded(resident - fewer);
            add(bounded(&mapping, resident - fewer), None, judge(&candidate));
        }
    }
    all
}

/// The mapping with registers bounded so that an SM holds `resident` CTAs.
fn bounded(mapping: &Mapping, resident: u64) -> Mapping {
    Mapping {
        min_ctas_per_sm: i64::try_from(resident).unwrap_or(i64::MAX),
        ..mapping.clone()
    }
}

/// Returns the candidates with their costs, cheapest first; equal ones keep their order. Registers are bounded as the model expects
/// them, and are those of the assembler where it has been asked; mappings that spilled are left out.
pub fn ranked(
    facts: &Facts,
    candidates: Vec<Mapping>,
    target: &Target,
    assembled: &Assembled,
) -> Vec<(Mapping, Cost)> {
    let judged = judged(&Kernel::of(facts, target), candidates, assembled, cost).into_iter();
    let mut ranked = judged
        .map(|judged| (judged.mapping, judged.found))
        .collect::<Vec<_>>();
    ranked.sort_by(|(_, a), (_, b)| a.total().total_cmp(&b.total()));
    ranked
}

/// Returns the first of [`ranked`] that may be chosen, without computing all costs: candidates are judged in the order of their
/// lower bounds until a bound is above the least cost (best-first search).
pub fn cheapest(
    facts: &Facts,
    candidates: Vec<Mapping>,
    target: &Target,
    assembled: &Assembled,
    mut may_be_chosen: impl FnMut(&Mapping) -> bool,
) -> Option<(Mapping, Cost)> {
    let kernel = Kernel::of(facts, target);
    let judged = judged(&kernel, candidates, assembled, bound);
    let mut order = (0..judged.len()).collect::<Vec<_>>();
    order.sort_by(|a, b| judged[*a].found.total_cmp(&judged[*b].found));
    let mut best: Option<(f64, usize, Cost)> = None;
    for position in order {
        let Judged {
            mapping,
            assembled,
            found,
        } = &judged[position];
        if best.as_ref().is_some_and(|(least, ..)| found > least) {
            break;
        }
        let Some(candidate) = kernel.candidate(mapping, *assembled) else {
            continue;
        };
        let cost = cost(&candidate);
        let total = cost.total();
        let is_better = best
            .as_ref()
            .is_none_or(|(least, first, _)| total.total_cmp(least).then(position.cmp(first)).is_lt());
        if is_better && may_be_chosen(mapping) {
            best = Some((total, position, cost));
        }
    }
    best.map(|(_, position, cost)| (judged[position].mapping.clone(), cost))
}
