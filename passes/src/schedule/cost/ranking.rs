//! The order of candidates: by what they are expected to take, and by what the assembler made of those that it has seen.

use std::collections::HashMap;

use norma_dialects::norm::Level;
use norma_targets::Target;

use super::{
    super::{
        facts::Facts,
        mapping::{Factor, Mapping},
    },
    Cost, cost, cost_with,
    spread::spreads,
};

/// Whether to bound a kernel's registers by what the model expects. With up to three accesses per thread ptxas takes
/// registers for a few instructions' gain and halves the CTAs on an SM; with more, the row leaves it no choice, and a bound
/// that is a little too low spills.
pub fn bounds_registers(facts: &Facts, mapping: &Mapping) -> bool {
    let crosses_warps = facts.reductions.iter().any(|reduction| {
        let warps = |factors: &Vec<Factor>| factors.iter().any(|factor| factor.level == Level::Warp);
        mapping
            .spread
            .iter()
            .zip(&reduction.over)
            .any(|(factors, over)| *over && warps(factors))
    });
    let spreads = spreads(facts, mapping);
    let accesses = spreads.iter().map(|spread| spread.registers / spread.vector);
    let held = accesses.product::<u64>();
    mapping.early_reads && crosses_warps && held <= 3
}

/// How many bounds on registers are candidates: as many CTAs as the model expects, and fewer.
const BOUNDS_TRIED: u64 = 4;

/// What the assembler made of mappings: the registers of a thread, or `None` where some spilled.
pub type Assembled = HashMap<Mapping, Option<u64>>;

/// The candidates with their costs, cheapest first; equal ones keep their order. Registers are bounded as the model expects
/// them, and are those of the assembler where it has been asked; what spilled is no candidate.
pub fn ranked(
    facts: &Facts,
    candidates: Vec<Mapping>,
    target: &Target,
    assembled: &Assembled,
) -> Vec<(Mapping, Cost)> {
    let mut ranked = Vec::new();
    for mapping in candidates {
        let Some(expected) = cost(facts, &mapping, target) else {
            continue;
        };
        if !bounds_registers(facts, &mapping) {
            ranked.push((mapping, expected));
            continue;
        }
        // A bound that is too tight spills: the same schedule with fewer CTAs is a candidate of its own.
        for fewer in (0..BOUNDS_TRIED).filter(|fewer| expected.resident > *fewer) {
            let bounded = Mapping {
                min_ctas_per_sm: (expected.resident - fewer) as i64,
                ..mapping.clone()
            };
            ranked.extend(cost(facts, &bounded, target).map(|cost| (bounded, cost)));
        }
    }
    if !assembled.is_empty() {
        ranked = ranked
            .into_iter()
            .filter_map(|(mapping, cost)| {
                let cost = match assembled.get(&mapping) {
                    None => cost,
                    Some(registers) => cost_with(facts, &mapping, target, Some((*registers)?))?,
                };
                Some((mapping, cost))
            })
            .collect();
    }
    ranked.sort_by(|(_, a), (_, b)| a.total().total_cmp(&b.total()));
    ranked
}
