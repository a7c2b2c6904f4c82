//! Rounds: how often reductions make warps, or the CTAs of a cluster, wait for one another.

use std::collections::BTreeSet;

use norma_dialects::norm::Level;

use super::{
    super::{
        facts::{Facts, Reduction},
        spread::Spread,
    },
    mapped::Mapped,
};

/// How often warps wait for each other, in all steps of loops.
pub(super) fn between_warps(mapped: &Mapped<'_>) -> f64 {
    // Warps meet together where lanes do.
    between(mapped, Level::Lane, |dim| dim.warps > 1)
}

/// How often CTAs of a cluster wait for each other, in all steps of loops.
pub(super) fn between_ctas(mapped: &Mapped<'_>) -> f64 {
    between(mapped, Level::Cluster, |dim| dim.cluster > 1)
}

/// Returns the length of the longest chain of reductions that range over a dim that is `shared` and wait for one another, times the
/// steps of the loops that their results vary over. Reductions that are merged at `level` count once.
fn between(mapped: &Mapped<'_>, level: Level, shared: impl Fn(&Spread) -> bool) -> f64 {
    let (facts, dims) = (mapped.facts, &mapped.dims);
    let crosses =
        |reduction: &Reduction| (0..dims.len()).any(|dim| reduction.over[dim] && shared(&dims[dim]));
    let crossing = facts.reductions.iter().filter(|reduction| crosses(reduction));
    let steps = crossing
        .map(|reduction| steps(dims, reduction))
        .fold(1.0, f64::max);
    let rounds = of_each(facts, mapped.mapping.merges_at(level), &crosses);
    let rounds = rounds.into_iter().map(|[_, end]| end).max().unwrap_or(0);
    rounds as f64 * steps
}

/// Steps of the loops that a reduction's result varies over.
pub(super) fn steps(dims: &[Spread], reduction: &Reduction) -> f64 {
    let around = (0..dims.len()).filter(|dim| !reduction.over[*dim] && dims[*dim].is_looped);
    around.map(|dim| dims[dim].steps()).product()
}

/// Returns for each reduction the number of rounds before it starts, and until it ends. Only reductions that satisfy `has_round`
/// take one. `is_merged` says whether a reduction joins the round of the one that it follows.
pub(super) fn of_each(
    facts: &Facts,
    is_merged: bool,
    has_round: &impl Fn(&Reduction) -> bool,
) -> Vec<[usize; 2]> {
    // A reduction waits only for earlier ones.
    let mut rounds = Vec::new();
    for reduction in &facts.reductions {
        let follows = reduction.follows.filter(|_| is_merged);
        let start = before(&reduction.waits_for, follows, &rounds);
        rounds.push([start, start + usize::from(has_round(reduction))]);
    }
    rounds
}

/// Returns the rounds before a consumer of the reductions `waits_for`. A reduction that joins the one that it `follows` starts with
/// it: its partial results have a reference of their own, and need none of the other reductions that it waits for.
pub(super) fn before(waits_for: &BTreeSet<usize>, follows: Option<usize>, rounds: &[[usize; 2]]) -> usize {
    if let Some([start, _]) = follows.and_then(|lead| rounds.get(lead)) {
        return *start;
    }
    let ends = waits_for.iter().filter_map(|waited| rounds.get(*waited));
    ends.map(|[_, end]| *end).max().unwrap_or(0)
}
