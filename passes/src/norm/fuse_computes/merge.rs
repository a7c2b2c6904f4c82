//! Merges two programs into one, if they fit.
//!
//! A value of the first program that the second one reads is computed where it is read. A value that depends on no reduction may be
//! read at any coordinates. The result of a reduction is computed only once, so it has to be read at the dims that it is kept for, by
//! points that the first program has too: then the CTA that holds a row for the reduction also holds it for what follows. Two
//! reductions fit if the dims of one are a subset of the other's, or if one of them is last: its results are only written. What fits with
//! a reduction that has several results is in [`counting`].

use std::collections::{BTreeSet, HashMap};

use melior::ir::{AffineExpr, Value};

use super::{
    counting,
    graph::{Dim, DimSet, Dims, Graph, Kind, Node, Program, Use, Write, dims_of, replace, replace_in_guard},
    instantiate::{Bound, instantiate, moved},
    spaces::Match,
    stop::Stop,
    waiting::{crossings, needed_everywhere},
};
use crate::kernel::guards::{self, Guard};

/// Returns one program that computes what `first` and `second` compute. `second` may read results of `first`; those for which
/// `is_kept` holds are needed elsewhere too, and are still written.
///
/// # Errors
///
/// The reason why the two do not fit.
pub(super) fn merge<'c: 'a, 'a>(
    graph: &mut Graph<'c, 'a>,
    first: &Program<'c, 'a>,
    second: &Program<'c, 'a>,
    is_kept: &dyn Fn(Value<'c, 'a>) -> bool,
) -> Result<Program<'c, 'a>, Stop> {
    let read = reads_of(graph, first, second)?;
    let behind = reductions(graph, read.iter().map(|(write, _)| write.value.node));
    let kept = first.writes.iter().filter(|write| is_kept(write.tensor));
    let kept = kept.cloned().collect::<Vec<_>>();
    let matched = match_spaces(graph, (first, second), &read, &behind, !kept.is_empty());
    check_spaces(
        graph,
        (first, second),
        &matched,
        &read,
        !behind.is_empty(),
        !kept.is_empty(),
    )?;
    let of_first = Bound {
        whole: matched.producer.clone(),
        parts: matched.parts.clone(),
    };
    let of_second = Bound {
        whole: matched.consumer.clone(),
        parts: HashMap::new(),
    };
    let merger = Merger {
        first,
        bound: &of_first,
        matched: &matched,
        behind: &behind,
    };
    let mut merged = Program::default();
    for write in &kept {
        let value = moved(graph, write.value, &matched.producer, &of_first)?;
        merged
            .writes
            .push(write.moved(value, &matched.producer, graph.context));
    }
    let values = second.writes.iter().map(|write| write.value).collect::<Vec<_>>();
    let values = instantiate(
        graph,
        &values,
        &matched.consumer,
        &of_second,
        &mut |graph, tensor, at| merger.value(graph, tensor, at),
    )?;
    for (write, value) in second.writes.iter().zip(values) {
        merged
            .writes
            .push(write.moved(value, &matched.consumer, graph.context));
    }
    merged.dims = dims(graph, &merged, first, second, &matched);
    merged.guards = guards_of(graph, &merged, (first, second), &matched)?;
    let is_worse = |count: fn(&Graph<'c, 'a>, &Program<'c, 'a>) -> usize| {
        count(graph, &merged) > count(graph, first) + count(graph, second)
    };
    counting::check(graph, &merged, [first, second])?;
    if is_worse(crossings) {
        return Err(Stop::Crossing);
    }
    if is_worse(needed_everywhere) {
        return Err(Stop::Everywhere);
    }
    Ok(merged)
}

/// An element that the first program writes, and the coordinates at which the second one reads it.
type ReadOf<'c, 'a> = (Write<'c, 'a>, Vec<AffineExpr<'c>>);

/// Matches the dims of two programs. Where the second one only reads elementwise results of the first, which nothing else needs, no
/// dims have to match but those that it reads them at.
fn match_spaces<'c: 'a, 'a>(
    graph: &Graph<'c, 'a>,
    (first, second): (&Program<'c, 'a>, &Program<'c, 'a>),
    read: &[ReadOf<'c, 'a>],
    behind: &BTreeSet<Node>,
    is_kept: bool,
) -> Match<'c> {
    let mut matched = Match::default();
    for (write, at) in read {
        matched.accesses(graph, (first, second), &write.at, at);
    }
    if is_kept || !behind.is_empty() {
        if !is_kept {
            for (write, at) in read {
                matched.parts(graph, &write.at, at);
            }
        }
        matched.shared_reads(graph, first, second);
        // A dim that counts results (`nth`) corresponds to no dim of elements, even if both have the same
        // extent.
        let counting = graph.counting(second);
        let not_counting = second.dims.iter().copied();
        let not_counting = not_counting.filter(|dim| !counting.contains(dim));
        let not_counting = not_counting.collect::<Vec<_>>();
        for node in behind {
            if let Kind::Reduce(_, _, dims, _) = &graph.entry(*node).kind {
                matched.reduced(graph, dims, &not_counting);
            }
        }
    }
    matched
}

/// Checks that two programs fit into one space. The points of a dim that counts the results of a reduction are all in the CTA that
/// holds what the reduction ranges over, so that what is computed before is there too.
fn check_spaces<'c: 'a, 'a>(
    graph: &Graph<'c, 'a>,
    (first, second): (&Program<'c, 'a>, &Program<'c, 'a>),
    matched: &Match<'c>,
    read: &[ReadOf<'c, 'a>],
    has_reductions: bool,
    is_kept: bool,
) -> Result<(), Stop> {
    let is_first_part = first.dims.iter().all(|dim| matched.of_producer.contains(dim));
    let is_second_part = second.dims.iter().all(|dim| matched.of_consumer.contains(dim));
    // Neither reads results of the other: they share reads alone.
    if read.is_empty() && !(is_first_part && is_second_part) {
        return Err(Stop::Unshared);
    }
    if is_kept && !is_first_part && !is_second_part {
        return Err(Stop::Spaces);
    }
    let at = read.iter().flat_map(|(_, at)| at).flat_map(|at| dims_of(*at));
    let at = at.collect::<DimSet>();
    let counting = graph.counting(second);
    let sees = |dim: &Dim| matched.of_consumer.contains(dim) || at.contains(dim) || counting.contains(dim);
    match has_reductions && !second.dims.iter().all(sees) {
        true => Err(Stop::Wider),
        false => Ok(()),
    }
}

/// The writes of `first` that `second` reads, and the coordinates at which it does.
fn reads_of<'c: 'a, 'a>(
    graph: &Graph<'c, 'a>,
    first: &Program<'c, 'a>,
    second: &Program<'c, 'a>,
) -> Result<Vec<ReadOf<'c, 'a>>, Stop> {
    let made = first.results();
    let nodes = graph.nodes_of(second).into_iter();
    let reads = nodes.filter_map(|node| match &graph.entry(node).kind {
        Kind::Read(tensor, at) if made.contains(tensor) => Some((*tensor, at.clone())),
        _ => None,
    });
    let found = reads.map(|(tensor, at)| Ok((first.write_of(tensor).ok_or(Stop::Coordinates)?.clone(), at)));
    found.collect()
}

/// The reductions that nodes depend on.
fn reductions(graph: &Graph<'_, '_>, nodes: impl Iterator<Item = Node>) -> BTreeSet<Node> {
    nodes
        .flat_map(|node| graph.entry(node).reductions.iter().copied())
        .collect()
}

/// Replaces reads of the first program's results by the values that it computes.
struct Merger<'s, 'c, 'a> {
    first: &'s Program<'c, 'a>,
    matched: &'s Match<'c>,
    /// Substitutes for the dims that its reductions are over.
    bound: &'s Bound<'c>,
    /// The reductions that the values which are read depend on.
    behind: &'s BTreeSet<Node>,
}

impl<'c: 'a, 'a> Merger<'_, 'c, 'a> {
    /// The value of an element of a tensor, if the first program makes the tensor.
    fn value(
        &self,
        graph: &mut Graph<'c, 'a>,
        tensor: Value<'c, 'a>,
        at: &[AffineExpr<'c>],
    ) -> Result<Option<Use>, Stop> {
        let Some(write) = self.first.write_of(tensor) else {
            return Ok(None);
        };
        let mut free = Dims::new();
        for (made, read) in write.at.iter().zip(at) {
            let in_place = replace(*made, &self.matched.producer, graph.context);
            let dims = dims_of(*made);
            if in_place == *read {
                free.extend(
                    dims.iter()
                        .filter_map(|dim| Some((*dim, *self.matched.producer.get(dim)?))),
                );
            } else if made.is_dim() {
                free.insert(made.dim_position(), *read);
            } else if !dims.is_empty() {
                return Err(Stop::Coordinates);
            }
        }
        // The merged program has a guard at one coordinate of each guarded dim, so that no element at another
        // coordinate may be read.
        let guarded = self.first.guarded();
        let is_elsewhere = |dim: &Dim| free.get(dim) != self.matched.producer.get(dim);
        let mut at = write.at.iter().flat_map(|at| dims_of(*at));
        if at.any(|dim| guarded.contains(&dim) && is_elsewhere(&dim)) {
            return Err(Stop::Coordinates);
        }
        for node in graph.entry(write.value.node).reductions.intersection(self.behind) {
            let is_moved = |dim: &Dim| free.get(dim) != self.matched.producer.get(dim);
            if graph.entry(*node).dims.iter().any(is_moved) {
                return Err(Stop::Again);
            }
        }
        moved(graph, write.value, &free, self.bound).map(Some)
    }
}

/// The dims that a merged program uses, in the order of the program that has more of them.
fn dims<'c: 'a, 'a>(
    graph: &Graph<'c, 'a>,
    merged: &Program<'c, 'a>,
    first: &Program<'c, 'a>,
    second: &Program<'c, 'a>,
    matched: &Match<'c>,
) -> Vec<Dim> {
    let mut used = DimSet::new();
    for node in graph.nodes_of(merged) {
        used.extend(&graph.entry(node).dims);
        if let Kind::Reduce(_, _, dims, _) = &graph.entry(node).kind {
            used.extend(dims);
        }
    }
    used.extend(
        merged
            .writes
            .iter()
            .flat_map(|write| &write.at)
            .flat_map(|at| dims_of(*at)),
    );
    let in_order = |program: &Program<'c, 'a>, stands_for: &Dims<'c>| {
        let dims = program.dims.iter().flat_map(|dim| match stands_for.get(dim) {
            Some(at) => in_expression(*at),
            None => vec![*dim],
        });
        dims.collect::<Vec<_>>()
    };
    let mut orders = [
        in_order(first, &matched.producer),
        in_order(second, &matched.consumer),
    ];
    if orders[1].len() > orders[0].len() {
        orders.reverse();
    }
    let mut dims = Vec::new();
    for dim in orders.into_iter().flatten() {
        if used.contains(&dim) && !dims.contains(&dim) {
            dims.push(dim);
        }
    }
    dims
}

/// The guards of a merged program: those of both programs over its dims.
///
/// # Errors
///
/// A guard of one program would mask points of the other that exist there, or would concern a dim that is read in parts or that a reduction
/// with several results ranges over or counts its results by, or a reduction over a dim of a guard would not depend on all of the guard's
/// dims.
fn guards_of<'c: 'a, 'a>(
    graph: &Graph<'c, 'a>,
    merged: &Program<'c, 'a>,
    (first, second): (&Program<'c, 'a>, &Program<'c, 'a>),
    matched: &Match<'c>,
) -> Result<Vec<Guard<'c>>, Stop> {
    let in_merged = |program: &Program<'c, 'a>, dims: &Dims<'c>| {
        let guards = program.guards.iter();
        let guards = guards.map(|guard| replace_in_guard(guard, dims, graph.context));
        guards.collect::<Vec<_>>()
    };
    if first.guarded().iter().any(|dim| matched.parts.contains_key(dim)) {
        return Err(Stop::Guards);
    }
    let of_first = in_merged(first, &matched.producer);
    let of_second = in_merged(second, &matched.consumer);
    let sides = [
        (&of_first, &of_second, second, &matched.consumer),
        (&of_second, &of_first, first, &matched.producer),
    ];
    for (own, others, other, dims) in sides {
        let of_other = other.dims.iter().flat_map(|dim| match dims.get(dim) {
            Some(at) => dims_of(*at),
            None => [*dim].into(),
        });
        let of_other = of_other.collect::<DimSet>();
        // Whether a dim of the other program has only points at which the guard holds.
        let limits = |guard: &Guard<'c>, dim: &Dim| {
            let extent = graph.extents[*dim];
            let at = dims.get(dim).copied().unwrap_or_else(|| graph.dim(*dim));
            guards::left_by(guard, at, graph.extents.len(), extent, graph.context) == Some(extent)
        };
        let is_foreign = |guard: &&Guard<'c>| {
            guards::concerns(guard, &of_other)
                && !others.contains(guard)
                && !other.dims.iter().any(|dim| limits(guard, dim))
        };
        if own.iter().any(|guard| is_foreign(&guard)) {
            return Err(Stop::Guards);
        }
    }
    let all = merged.dims.iter().copied().collect::<DimSet>();
    let mut found: Vec<Guard<'c>> = Vec::new();
    for guard in of_first.into_iter().chain(of_second) {
        if guards::concerns(&guard, &all) && !found.contains(&guard) {
            found.push(guard);
        }
    }
    for node in graph.nodes_of(merged) {
        let Kind::Reduce(_, operands, over, nth) = &graph.entry(node).kind else {
            continue;
        };
        // A reduction with several results ranges over all points of its dims.
        let counts_guarded = |guard: &Guard<'c>| {
            let of_guard = guards::dims_of(guard);
            nth.is_some_and(|nth| of_guard.contains(&nth) || !of_guard.is_disjoint(over))
        };
        if found.iter().any(counts_guarded) {
            return Err(Stop::Guards);
        }
        let mut known = over.clone();
        known.extend(
            operands
                .iter()
                .flat_map(|operand| &graph.entry(operand.node).dims),
        );
        let leaves_out =
            |guard: &Guard<'c>| !guards::dims_of(guard).is_disjoint(over) && !guards::concerns(guard, &known);
        if found.iter().any(leaves_out) {
            return Err(Stop::Guards);
        }
    }
    Ok(found)
}

/// The dims of a sum, in the order in which it has them.
fn in_expression(at: AffineExpr<'_>) -> Vec<Dim> {
    if at.is_dim() {
        return vec![at.dim_position()];
    }
    if at.is_binary() {
        return [in_expression(at.lhs()), in_expression(at.rhs())].concat();
    }
    Vec::new()
}
