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

/// How many bounds on registers are candidates: those for as many CTAs on an SM as the model expects, and for fewer.
const BOUNDS_TRIED: u64 = 4;

/// The registers of a thread that the assembler took for mappings; `None` for one that spilled. Rereads from L1 and from L2 are the
/// same instructions with other hints, so that mappings that differ only in that take the same registers. Those that differ only in how
/// many threads share a tile take about as many, and those whose threads hold more elements at least as many.
#[derive(Clone, Debug, Default)]
pub struct Assembled {
    /// The mappings that were assembled, in the order in which they were, and their registers.
    found: Vec<(Mapping, Option<u64>)>,
    /// By mapping without hints: the position of the last that was assembled.
    positions: HashMap<Mapping, usize>,
    /// By what a single thread does, but for how many elements it holds: what the mappings took whose registers were not bounded.
    of_thread: HashMap<Mapping, Vec<Taken>>,
}

/// What the assembler took for a mapping whose registers were not bounded.
#[derive(Clone, Debug)]
struct Taken {
    /// By dim, the elements that a thread holds in registers.
    held: Vec<i64>,
    /// The threads of a CTA.
    threads: u64,
    /// The registers of a thread; `None` if it spilled.
    registers: Option<u64>,
}

/// What is known of a mapping from others whose threads do the same, with as many elements or fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alike {
    /// It takes at least so many registers of a thread, which is more than expected.
    Takes(u64),
    /// It spills.
    Spills,
}

impl Assembled {
    /// Returns what the assembler took for a mapping, if it has been asked.
    fn get(&self, mapping: &Mapping) -> Option<Option<u64>> {
        // Usually nothing has been assembled yet.
        if self.found.is_empty() {
            return None;
        }
        let position = *self.positions.get(&without_hints(mapping))?;
        Some(self.found.get(position)?.1)
    }

    /// Returns what mappings whose threads do the same, with as many elements or fewer, say of a candidate. With more threads it may have to
    /// do with fewer registers than these took.
    fn of_alike(&self, candidate: &Candidate<'_>) -> Option<Alike> {
        if self.of_thread.is_empty() {
            return None;
        }
        let mapping = candidate.mapped.mapping;
        let (thread, held) = of_one_thread(without_hints(mapping))?;
        let threads = mapping.threads().unsigned_abs();
        let alike = self.of_thread.get(&thread)?.iter().filter(|taken| {
            let pairs = taken.held.iter().zip(&held);
            pairs.into_iter().all(|(of_taken, own)| of_taken <= own)
        });
        // As many threads leave each of them as many registers, and so do all numbers up to this one.
        let spills =
            |taken: &Taken| taken.registers.is_none() && taken.threads <= threads.max(MOST_THREADS_OF_ALL);
        if alike.clone().any(spills) {
            return Some(Alike::Spills);
        }
        let registers = alike.filter_map(|taken| taken.registers).max()?;
        let is_held = candidate.target.resident_ctas(threads, registers) > 0;
        (registers > candidate.registers && is_held).then_some(Alike::Takes(registers))
    }

    /// The mappings that were assembled, in this order.
    pub fn iter(&self) -> impl Iterator<Item = &(Mapping, Option<u64>)> {
        self.found.iter()
    }
}

impl Extend<(Mapping, Option<u64>)> for Assembled {
    fn extend<T: IntoIterator<Item = (Mapping, Option<u64>)>>(&mut self, found: T) {
        for (mapping, registers) in found {
            let key = without_hints(&mapping);
            if let Some((thread, held)) = of_one_thread(key.clone()) {
                let threads = mapping.threads().unsigned_abs();
                self.of_thread.entry(thread).or_default().push(Taken {
                    held,
                    threads,
                    registers,
                });
            }
            self.positions.insert(key, self.found.len());
            self.found.push((mapping, registers));
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

/// The most threads of a CTA each of which may have as many registers as an instruction can name: 65536 registers of an SM are 256 for
/// each, and 255 have a name.
const MOST_THREADS_OF_ALL: u64 = 256;

/// The mapping with the loops and vectors of a thread alone, and by dim the elements that it holds in registers, if nothing but what the
/// thread does decides on its registers.
fn of_one_thread(mut mapping: Mapping) -> Option<(Mapping, Vec<i64>)> {
    if mapping.min_ctas_per_sm > 0 || mapping.producer_warps > 0 {
        return None;
    }
    let held = mapping.spread.iter().map(|factors| {
        let registers = factors.iter().filter(|factor| factor.level == Level::Register);
        // A factor without a size takes what is left of the dim.
        let sizes = registers.map(|factor| factor.size.unwrap_or(i64::MAX));
        sizes.fold(1, i64::saturating_mul)
    });
    let held = held.collect();
    for factors in &mut mapping.spread {
        factors.retain(|factor| matches!(factor.level, Level::Loop | Level::Vector));
    }
    Some((mapping, held))
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
    // Candidates of which others say that they spill. They are judged only if there are no others.
    let mut spilling = Vec::new();
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
        let is_known = known.is_some();
        let (known, spilled) = (known.flatten(), known == Some(None));
        if let Some(handed_over) = kernel.handed_over(&mapping, known, spilled)
            && let Some(expected) = kernel.candidate(&handed_over, known)
        {
            let found = judge(&expected);
            add(handed_over, None, found);
        }
        let expected = kernel.candidate(&mapping, None);
        let resident = expected.as_ref().map_or(0, |expected| expected.resident);
        // More CTAs, with fewer registers than expected, matter to walks of which an SM holds one CTA or none.
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
            let of_alike = match assembled.of_alike(&expected) {
                Some(Alike::Takes(registers)) => Some(registers),
                Some(Alike::Spills) if !is_known => {
                    spilling.push((mapping.clone(), judge(&expected)));
                    continue;
                }
                Some(Alike::Spills) | None => None,
            };
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
    if all.is_empty() {
        all.extend(spilling.into_iter().map(|(mapping, found)| Judged {
            mapping,
            assembled: None,
            found,
        }));
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
