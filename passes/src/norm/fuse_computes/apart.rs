//! The pairs of groups that fusion considered and left apart, and why: what `explain` reports.

use melior::ir::{OperationRef, Value, operation::OperationLike};

use super::{graph::Graph, groups::Groups, stop::Stop};

/// Two groups that were not fused.
pub(super) struct Apart<'c, 'a> {
    /// The last op of the one.
    pub(super) first: OperationRef<'c, 'a>,
    /// The last op of the other, which comes later.
    pub(super) second: OperationRef<'c, 'a>,
    /// Why they might have been fused.
    pub(super) relation: Relation,
    /// Why they were not.
    pub(super) stop: Stop,
}

/// What two groups have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The second reads what the first makes.
    Reads,
    /// Both read elements of a tensor, and neither waits for the other.
    Shares,
}

/// The pairs of groups that are still apart. Pairs of which one waits for the other through a third group have no reason of their own.
pub(super) fn of<'c: 'a, 'a>(groups: &Groups<'c, 'a>, graph: &mut Graph<'c, 'a>) -> Vec<Apart<'c, 'a>> {
    let mut pairs = Vec::new();
    for second in 0..groups.groups.len() {
        let read_from = groups.read_from(second).into_iter();
        pairs.extend(read_from.map(|first| (first, second, Relation::Reads)));
        // Siblings may share no more than a size.
        let read = elements_read(groups, graph, second);
        let shares = |first: usize| {
            let of_first = elements_read(groups, graph, first);
            of_first.iter().any(|tensor| read.contains(tensor))
        };
        let siblings = groups.siblings(second).into_iter();
        let siblings = siblings.filter(|first| shares(*first) && !groups.waits(*first, second, false));
        pairs.extend(siblings.map(|first| (first, second, Relation::Shares)));
    }
    let last = |group: usize| groups.groups[group].as_ref()?.own.last().copied();
    let apart = pairs.into_iter().filter_map(|(first, second, relation)| {
        Some(Apart {
            first: last(first)?,
            second: last(second)?,
            relation,
            stop: groups.stop(graph, first, second)?,
        })
    });
    apart.collect()
}

/// The tensors of which a group reads elements.
fn elements_read<'c: 'a, 'a>(
    groups: &Groups<'c, 'a>,
    graph: &Graph<'c, 'a>,
    group: usize,
) -> Vec<Value<'c, 'a>> {
    let Some(group) = &groups.groups[group] else {
        return Vec::new();
    };
    match &group.program {
        Some(program) => graph.read_by(program),
        None => group.own.iter().flat_map(|op| op.operands()).collect(),
    }
}
