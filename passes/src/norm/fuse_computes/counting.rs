//! Keeps programs apart where a reduction with several results (`nth`) would compute too much again.
//!
//! Each of the results takes a pass over the points that the reduction ranges over. A CTA that holds these points, as integers in
//! registers, computes them once. Otherwise each pass computes them again, from memory, and what is computed from all of the results
//! together and needed with each of them takes as many passes again.

use melior::ir::ValueLike;
use norma_targets::{REGISTER_BYTES, SM_90A};

use super::{
    graph::{DimSet, Graph, Kind, Node, Program},
    stop::Stop,
};

use crate::mlir::types;

/// The number of bytes that a CTA holds in registers with ease: half of those of an SM, of which all targets have the same number. What is
/// fused does not depend on the target, as a function of several targets is one.
const HELD_BYTES: i64 = SM_90A.registers_per_sm as i64 * REGISTER_BYTES / 2;

/// Checks a program that was merged of two: where a CTA does not hold what a reduction with several results ranges over, the program
/// computes no more in each pass over these points, and makes no more passes, than the one that the reduction is of.
pub(super) fn check<'c: 'a, 'a>(
    graph: &Graph<'c, 'a>,
    merged: &Program<'c, 'a>,
    of: [&Program<'c, 'a>; 2],
) -> Result<(), Stop> {
    let before = of.map(|program| open(graph, program));
    let fits = |passes: &Passes| before.iter().flatten().any(|before| passes.fits(before));
    match open(graph, merged).iter().all(fits) {
        true => Ok(()),
        false => Err(Stop::Passes),
    }
}

/// What a reduction with several results computes in each of its passes, and how often it makes them.
struct Passes {
    /// The number of nodes that vary over the dims of the reduction.
    nodes: usize,
    /// Whether a value that depends on all results together is needed with each of them.
    come_back: bool,
}

impl Passes {
    fn fits(&self, before: &Self) -> bool {
        self.nodes <= before.nodes && (before.come_back || !self.come_back)
    }
}

/// The reductions with several results over points that a CTA does not hold.
fn open<'c: 'a, 'a>(graph: &Graph<'c, 'a>, program: &Program<'c, 'a>) -> Vec<Passes> {
    let nodes = graph.nodes_of(program);
    let open = nodes.iter().filter_map(|node| {
        let (over, nth) = match &graph.entry(*node).kind {
            Kind::Reduce(_, _, over, Some(nth)) if !is_held(graph, *node, over) => (over, *nth),
            _ => return None,
        };
        let varies = |other: &&Node| !graph.entry(**other).dims.is_disjoint(over);
        let totals = nodes.iter().filter(|total| match &graph.entry(**total).kind {
            Kind::Reduce(_, _, over, _) => {
                over.contains(&nth) && graph.entry(**total).reductions.contains(node)
            }
            _ => false,
        });
        let totals = totals.collect::<Vec<_>>();
        let come_back = nodes.iter().any(|other| {
            let entry = graph.entry(*other);
            entry.dims.contains(&nth) && totals.iter().any(|total| entry.reductions.contains(total))
        });
        Some(Passes {
            nodes: nodes.iter().filter(varies).count(),
            come_back,
        })
    });
    open.collect()
}

/// Whether a CTA holds what a reduction ranges over.
fn is_held(graph: &Graph<'_, '_>, node: Node, over: &DimSet) -> bool {
    let Kind::Reduce(reduce, ..) = &graph.entry(node).kind else {
        return true;
    };
    let of_value = reduce
        .values()
        .first()
        .and_then(|value| types::element_bytes(value.r#type()));
    let extents = over.iter().map(|dim| graph.extents[*dim]);
    let bytes = extents.fold(of_value, |bytes, extent| {
        let points = extent.is_constant().then(|| extent.constant_value());
        bytes?.checked_mul(points?)
    });
    bytes.is_some_and(|bytes| bytes <= HELD_BYTES)
}

#[cfg(test)]
mod tests {
    use norma_targets::TARGETS;

    use super::*;

    #[test]
    fn every_target_holds_as_much() {
        for target in TARGETS {
            let bytes = i64::from(target.registers_per_sm) * REGISTER_BYTES;
            assert_eq!(bytes / 2, HELD_BYTES, "{}", target.name);
        }
    }
}
