//! Schedules of reductions with several results (`nth`), which a dim of the kernel counts.

use norma_dialects::norm::Level;
use norma_targets::Target;

use super::super::{
    cost,
    facts::Facts,
    mapping::{Factor, Mapping},
};

/// If a reduction has several results, retains only the mappings that hold all points that it ranges over, provided that an SM has
/// registers for any of them: each result takes a pass over these points, and a pass in a loop reads and computes all of them again.
pub(super) fn hold(facts: &Facts, target: &Target, all: &mut Vec<Mapping>) {
    let is_looped = |factors: &[Factor]| factors.iter().any(|factor| factor.level == Level::Loop);
    let is_held = |mapping: &Mapping| {
        let mut dims = facts.dims.iter().zip(&mapping.spread);
        dims.all(|(dim, factors)| dim.is_counting || !is_looped(factors))
    };
    let has_several_results = facts.dims.iter().any(|dim| dim.is_counting);
    if !has_several_results {
        return;
    }
    let fits = |mapping: &Mapping| cost::cost(facts, mapping, target).is_some();
    if all.iter().any(|mapping| is_held(mapping) && fits(mapping)) {
        all.retain(is_held);
    }
}
