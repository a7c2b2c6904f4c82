//! Counts the reductions of a program that have to wait for each other, and those that everything waits for.
//!
//! CTAs are spread over the dims along which no point waits for another. A reduction whose result is only written may leave partial
//! results that are combined later; whatever depends on the result of any other reduction has to wait for all of its points.

use super::graph::{DimSet, Graph, Kind, Node, Program, dims_of};

/// The reductions of a program: each with the dims that it is over, and whether it is last. The results of a last reduction are only
/// written: no other reduction depends on it, and nothing that does varies over its dims.
fn reductions_of<'g, 'c: 'a, 'a>(
    graph: &'g Graph<'c, 'a>,
    program: &Program<'c, 'a>,
) -> Vec<(Node, &'g DimSet, bool)> {
    let nodes = graph.nodes_of(program);
    let is_last = |reduction: Node, over: &DimSet| {
        let depends = |node: Node| graph.entry(node).reductions.contains(&reduction);
        let is_awaited = nodes.iter().any(|node| {
            let entry = graph.entry(*node);
            let comes_back = matches!(entry.kind, Kind::Reduce(..)) || !entry.dims.is_disjoint(over);
            *node != reduction && depends(*node) && comes_back
        });
        let is_spread = program.writes.iter().any(|write| {
            depends(write.value.node) && write.at.iter().any(|at| !dims_of(*at).is_disjoint(over))
        });
        !is_awaited && !is_spread
    };
    let reductions = nodes.iter().filter_map(|node| match &graph.entry(*node).kind {
        Kind::Reduce(_, _, over, _) => Some((*node, over, is_last(*node, over))),
        _ => None,
    });
    reductions.collect()
}

/// The number of points of a tile that a CTA holds with ease, a square of 128 by 128. Reductions along either axis of a tile need no
/// loop.
const HELD_POINTS: i64 = 1 << 14;

/// The number of pairs of reductions that would have to wait for each other's points: neither one's dims are a subset of the other's,
/// neither is last, and no tile holds the dims of both. Dims that count the results of a reduction are left out, because CTAs are not
/// spread over them. The loop that finds one of these results after the other is within the loops over what they are found for, so
/// that a reduction of each of them over the latter, even a last one, crosses too.
pub(super) fn crossings<'c: 'a, 'a>(graph: &Graph<'c, 'a>, program: &Program<'c, 'a>) -> usize {
    let counting = graph.counting(program);
    let reductions = reductions_of(graph, program).into_iter();
    let reductions = reductions.map(|(node, over, is_last)| (node, over - &counting, is_last));
    let reductions = reductions.collect::<Vec<_>>();
    let mut count = 0;
    for (index, (first, a, first_is_last)) in reductions.iter().enumerate() {
        for (second, b, second_is_last) in &reductions[index + 1..] {
            // A node comes after its operands, so that the first of a pair never depends on the second.
            let is_free = *first_is_last && !graph.entry(*second).reductions.contains(first);
            let is_nested = a.is_subset(b) || b.is_subset(a);
            let waits = !is_nested && !second_is_last && !is_free && !is_held(graph, &(a | b));
            let counts_within = is_over_counted(graph, *first, *second, b);
            count += usize::from(waits || counts_within);
        }
    }
    count
}

/// Whether `second` reduces each of the results that a dim counts of `first` over dims that these vary over.
fn is_over_counted(graph: &Graph<'_, '_>, first: Node, second: Node, over: &DimSet) -> bool {
    let Kind::Reduce(_, _, _, Some(nth)) = &graph.entry(first).kind else {
        return false;
    };
    let of = graph.entry(second);
    of.reductions.contains(&first) && of.dims.contains(nth) && !over.is_disjoint(&graph.entry(first).dims)
}

/// Whether one tile holds all points of some dims.
fn is_held(graph: &Graph<'_, '_>, dims: &DimSet) -> bool {
    let extents = dims.iter().map(|dim| graph.extents[*dim]);
    let points = extents.map(|extent| extent.is_constant().then(|| extent.constant_value()));
    let points = points
        .into_iter()
        .try_fold(1_i64, |points, extent| points.checked_mul(extent?));
    points.is_some_and(|points| points <= HELD_POINTS)
}

/// The number of reductions over dims of dynamic extent to a single value for which others wait: a kernel with one has a single CTA.
/// A count of points is none of them if a CTA has all of these points anyway, because of another reduction over them.
pub(super) fn needed_everywhere<'c: 'a, 'a>(graph: &Graph<'c, 'a>, program: &Program<'c, 'a>) -> usize {
    let reductions = reductions_of(graph, program);
    let is_open = |over: &DimSet| over.iter().any(|dim| !graph.extents[*dim].is_constant());
    let is_count = |node: Node, over: &DimSet| {
        let operands = graph.entry(node).kind.operands();
        let varies = operands
            .iter()
            .any(|operand| !graph.entry(operand.node).dims.is_empty());
        let is_of_own = |(_, other, _): &(Node, &DimSet, bool)| over.is_subset(other);
        let mut others = reductions
            .iter()
            .filter(|(other, ..)| !graph.entry(*other).dims.is_empty());
        !varies && others.any(is_of_own)
    };
    let needed = reductions.iter().filter(|(node, over, is_last)| {
        graph.entry(*node).dims.is_empty() && is_open(over) && !is_last && !is_count(*node, over)
    });
    needed.count()
}
