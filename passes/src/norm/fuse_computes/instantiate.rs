//! Copies a part of the graph to other coordinates, substituting expressions for dims.
//!
//! A dim that a reduction is over is bound by it: within the reduction it has a substitute of its own, the same in every copy,
//! whatever is substituted for it outside. A dim that is bound in parts is reduced part by part: at each point the values of the parts
//! are combined, and that is reduced over the points of one part. Equal nodes are one node, so that a copy to coordinates that a value
//! does not depend on costs nothing.

use std::collections::{BTreeSet, HashMap};

use melior::ir::{AffineExpr, Value};

use norma_dialects::norm::ReduceOp;

use super::{
    graph::{Dim, DimSet, Dims, Entry, Graph, Kind, Node, Use, dims_of, replace},
    stop::Stop,
};

/// Gives the value that takes the place of a read of a tensor at some coordinates; `None` keeps the read.
pub(super) type Source<'f, 'c, 'a> =
    dyn FnMut(&mut Graph<'c, 'a>, Value<'c, 'a>, &[AffineExpr<'c>]) -> Result<Option<Use>, Stop> + 'f;

/// Substitutes for the dims that reductions are over.
#[derive(Clone, Debug, Default)]
pub(super) struct Bound<'c> {
    /// By dim: a sum of other dims that enumerates its points.
    pub(super) whole: Dims<'c>,
    /// By dim that is split into parts: for each part, an expression that enumerates its points.
    pub(super) parts: HashMap<Dim, Vec<AffineExpr<'c>>>,
}

/// Copies `roots`, substituting `free` for dims, `bound` for those that reductions are over, and what `source` gives for reads.
pub(super) fn instantiate<'c: 'a, 'a>(
    graph: &mut Graph<'c, 'a>,
    roots: &[Use],
    free: &Dims<'c>,
    bound: &Bound<'c>,
    source: &mut Source<'_, 'c, 'a>,
) -> Result<Vec<Use>, Stop> {
    let mut copier = Copier {
        graph,
        bound,
        source,
        copies: HashMap::new(),
    };
    let nodes = roots.iter().map(|root| root.node).collect::<Vec<_>>();
    copier.copy(&nodes, free)?;
    let copies = &copier.copies[&name(free)];
    Ok(roots.iter().map(|root| copies[&root.node][root.result]).collect())
}

/// Copies a value, substituting `free` for dims and `bound` for those that reductions are over.
pub(super) fn moved<'c: 'a, 'a>(
    graph: &mut Graph<'c, 'a>,
    value: Use,
    free: &Dims<'c>,
    bound: &Bound<'c>,
) -> Result<Use, Stop> {
    if free.is_empty() && bound.whole.is_empty() && bound.parts.is_empty() {
        return Ok(value);
    }
    let moved = instantiate(graph, &[value], free, bound, &mut |_, _, _| Ok(None))?;
    Ok(moved.first().copied().unwrap_or(value))
}

/// A substitution of dims, as a key.
type Name = Vec<(usize, usize)>;

fn name(dims: &Dims<'_>) -> Name {
    let mut name = dims
        .iter()
        .map(|(dim, at)| (*dim, at.to_raw().ptr as usize))
        .collect::<Name>();
    name.sort_unstable();
    name
}

/// The dim that takes the place of `nth`, which counts the results of a reduction.
fn moved_count(nth: Dim, free: &Dims<'_>) -> Result<Dim, Stop> {
    match free.get(&nth) {
        None => Ok(nth),
        Some(at) if at.is_dim() => Ok(at.dim_position()),
        Some(_) => Err(Stop::Counted),
    }
}

struct Copier<'s, 'f, 'c, 'a> {
    graph: &'s mut Graph<'c, 'a>,
    bound: &'s Bound<'c>,
    source: &'s mut Source<'f, 'c, 'a>,
    /// By substitution: the results of each node's copy under it.
    copies: HashMap<Name, HashMap<Node, Vec<Use>>>,
}

impl<'c: 'a, 'a> Copier<'_, '_, 'c, 'a> {
    /// Copies nodes and those that they depend on.
    fn copy(&mut self, roots: &[Node], free: &Dims<'c>) -> Result<(), Stop> {
        let here = name(free);
        let mut needed = BTreeSet::new();
        let mut open = roots.to_vec();
        while let Some(node) = open.pop() {
            let is_known = self
                .copies
                .get(&here)
                .is_some_and(|copies| copies.contains_key(&node));
            if is_known || !needed.insert(node) {
                continue;
            }
            let kind = &self.graph.entry(node).kind;
            let is_inside = match kind {
                Kind::Reduce(_, _, dims, _) => self.within(free, dims).iter().all(|at| name(at) == here),
                _ => true,
            };
            if is_inside {
                open.extend(kind.operands().iter().map(|operand| operand.node));
            }
        }
        // A node comes after its operands.
        for node in needed {
            let copy = self.copy_node(node, free, &here)?;
            self.copies.entry(here.clone()).or_default().insert(node, copy);
        }
        self.copies.entry(here).or_default();
        Ok(())
    }

    /// The substitutions within a reduction over `dims`: one for each combination of parts.
    fn within(&self, free: &Dims<'c>, dims: &DimSet) -> Vec<Dims<'c>> {
        let mut within = vec![free.clone()];
        for dim in dims {
            let parts = match (self.bound.parts.get(dim), self.bound.whole.get(dim)) {
                (Some(parts), _) => parts.clone(),
                (None, Some(whole)) => vec![*whole],
                (None, None) => vec![self.graph.dim(*dim)],
            };
            let with = |at: &Dims<'c>| {
                let with = parts.iter().map(|part| {
                    let mut with = at.clone();
                    with.insert(*dim, *part);
                    with
                });
                with.collect::<Vec<_>>()
            };
            within = within.iter().flat_map(with).collect();
        }
        within
    }

    fn operands(&self, operands: &[Use], at: &Name) -> Vec<Use> {
        operands
            .iter()
            .map(|operand| self.copies[at][&operand.node][operand.result])
            .collect()
    }

    fn copy_node(&mut self, node: Node, free: &Dims<'c>, here: &Name) -> Result<Vec<Use>, Stop> {
        let entry = self.graph.entry(node).clone();
        let context = self.graph.context;
        let (kind, results) = match &entry.kind {
            Kind::Read(tensor, at) => {
                let at = at
                    .iter()
                    .map(|at| replace(*at, free, context))
                    .collect::<Vec<_>>();
                if let Some(value) = (self.source)(self.graph, *tensor, &at)? {
                    return Ok(vec![value]);
                }
                (Kind::Read(*tensor, at), 1)
            }
            Kind::Scalar(value) => (Kind::Scalar(*value), 1),
            Kind::Index(at) => (Kind::Index(replace(*at, free, context)), 1),
            Kind::Op(op, operands) => (Kind::Op(*op, self.operands(operands, here)), 1),
            Kind::Combine(reduce, operands) => {
                let operands = self.operands(operands, here);
                (Kind::Combine(*reduce, operands), entry.kind.operands().len() / 2)
            }
            Kind::Reduce(reduce, operands, dims, nth) => {
                let nth = nth.map(|nth| moved_count(nth, free)).transpose()?;
                return self.copy_reduction(&entry, (*reduce, nth), operands, dims, free);
            }
        };
        let node = self.graph.add(kind, entry.location);
        Ok((0..results).map(|result| Use { node, result }).collect())
    }

    fn copy_reduction(
        &mut self,
        entry: &Entry<'c, 'a>,
        (reduce, nth): (ReduceOp<'c, 'a>, Option<Dim>),
        operands: &[Use],
        dims: &DimSet,
        free: &Dims<'c>,
    ) -> Result<Vec<Use>, Stop> {
        let within = self.within(free, dims);
        if nth.is_some() && within.len() > 1 {
            // The combiner keeps one of two values, but with several results (`nth`) the other may be a
            // result too, so that parts cannot be combined.
            return Err(Stop::Counted);
        }
        let over = within
            .iter()
            .flat_map(|at| dims.iter().flat_map(|dim| dims_of(at[dim])));
        let over = over.collect::<DimSet>();
        let nodes = operands.iter().map(|operand| operand.node).collect::<Vec<_>>();
        let kept = nodes.iter().flat_map(|node| &self.graph.entry(*node).dims);
        for dim in kept.filter(|dim| !dims.contains(dim)) {
            let at = free.get(dim).map_or_else(|| [*dim].into(), |at| dims_of(*at));
            if !at.is_disjoint(&over) {
                return Err(Stop::Coordinates);
            }
            if nth.is_some_and(|nth| at.contains(&nth)) {
                return Err(Stop::Counted);
            }
        }
        if nth.is_some_and(|nth| over.contains(&nth)) {
            return Err(Stop::Counted);
        }
        let uses = |node: Node| {
            (0..operands.len())
                .map(|result| Use { node, result })
                .collect::<Vec<_>>()
        };
        let mut combined: Option<Vec<Use>> = None;
        for at in within {
            self.copy(&nodes, &at)?;
            let part = self.operands(operands, &name(&at));
            combined = Some(match combined {
                None => part,
                Some(sides) => uses(
                    self.graph
                        .add(Kind::Combine(reduce, [sides, part].concat()), entry.location),
                ),
            });
        }
        let node = self.graph.add(
            Kind::Reduce(reduce, combined.unwrap_or_default(), over, nth),
            entry.location,
        );
        Ok(uses(node))
    }
}
