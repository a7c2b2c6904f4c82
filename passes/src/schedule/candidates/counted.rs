//! Schedules of reductions that have several results, which a dim counts.

use norma_dialects::norm::Level;

use super::super::{
    facts::Facts,
    mapping::{Factor, Mapping},
};

/// Of a kernel whose reductions have several results leaves the mappings that hold what these are taken from, if there are any: each
/// result takes a pass over it, and a pass in a loop reads and computes all of it again.
pub(super) fn hold(facts: &Facts, all: &mut Vec<Mapping>) {
    let is_looped = |factors: &[Factor]| factors.iter().any(|factor| factor.level == Level::Loop);
    let is_held = |mapping: &Mapping| {
        let mut dims = facts.dims.iter().zip(&mapping.spread);
        dims.all(|(dim, factors)| dim.is_counting || !is_looped(factors))
    };
    let has_several_results = facts.dims.iter().any(|dim| dim.is_counting);
    if has_several_results && all.iter().any(is_held) {
        all.retain(is_held);
    }
}
