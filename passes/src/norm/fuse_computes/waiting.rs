//! Which reductions of a program wait for each other.
//!
//! A kernel is spread over the points that no reduction of it waits for. What a reduction comes to, if only written, may be left in
//! parts and be combined later; all others hold up what depends on them.

use super::graph::{DimSet, Graph, Kind, Node, Program, dims_of};

/// The reductions of a program: what each is over, and whether it is the last, so that its results are only written.
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
        Kind::Reduce(_, _, over) => Some((*node, over, is_last(*node, over))),
        _ => None,
    });
    reductions.collect()
}

/// Points of tiles that a CTA holds with ease, those of a square of 128: neighbours in a tile need no loop to meet along one axis and along
/// another.
const HELD_POINTS: i64 = 1 << 14;

/// How many pairs of reductions would have to wait for each other's points: the dims of neither are among those of the other,
/// neither is the last, and no tile holds the dims of both.
pub(super) fn crossings<'c: 'a, 'a>(graph: &Graph<'c, 'a>, program: &Program<'c, 'a>) -> usize {
    let reductions = reductions_of(graph, program);
    let mut count = 0;
    for (index, (first, a, first_is_last)) in reductions.iter().enumerate() {
        for (second, b, second_is_last) in &reductions[index + 1..] {
            // A node comes behind what it uses, so that the first of a pair never depends on the second.
            let is_free = *first_is_last && !graph.entry(*second).reductions.contains(first);
            let is_nested = a.is_subset(b) || b.is_subset(a);
            count += usize::from(!is_nested && !second_is_last && !is_free && !is_held(graph, &(*a | *b)));
        }
    }
    count
}

/// Whether all points of some dims may be held at once.
fn is_held(graph: &Graph<'_, '_>, dims: &DimSet) -> bool {
    let extents = dims.iter().map(|dim| graph.extents[*dim]);
    let points = extents.map(|extent| extent.is_constant().then(|| extent.constant_value()));
    let points = points
        .into_iter()
        .try_fold(1_i64, |points, extent| points.checked_mul(extent?));
    points.is_some_and(|points| points <= HELD_POINTS)
}

/// How many reductions leave one value, of as many elements as a run may give, that others wait for: a kernel with such a one has a
/// single CTA.
pub(super) fn needed_everywhere<'c: 'a, 'a>(graph: &Graph<'c, 'a>, program: &Program<'c, 'a>) -> usize {
    let reductions = reductions_of(graph, program).into_iter();
    let is_open = |over: &DimSet| over.iter().any(|dim| !graph.extents[*dim].is_constant());
    reductions
        .filter(|(node, over, is_last)| graph.entry(*node).dims.is_empty() && is_open(over) && !is_last)
        .count()
}
