//! Matches the dims of two programs: which dims of the one are dims of the other.
//!
//! The coordinates at which the one writes and the other reads are compared axis by axis: a dim matches a dim of the same extent, or a
//! sum that enumerates its points, such as `group * size + within`. A dim that is read in parts, at `within` and `within + size`, is
//! reduced part by part. Dims that are still unmatched are matched by the reads that both programs have in common, and those that a
//! reduction removes by their extents.

use std::collections::HashMap;

use melior::ir::AffineExpr;

use super::graph::{Dim, DimSet, Dims, Graph, Kind, Program, replace};
use crate::{kernel::digits::Digits, mlir::linear_form::LinearForm};

/// The most parts of a dim that each point combines by itself, as the halves of a head, or the components of a short vector.
const MOST_PARTS: i64 = 4;

/// How the dims of a producer and of a consumer map into one space.
#[derive(Clone, Debug, Default)]
pub(super) struct Match<'c> {
    /// Substitutes for dims of the producer: sums of dims of the consumer.
    pub(super) producer: Dims<'c>,
    /// Substitutes for dims of the consumer: dims of the producer, and sums of them.
    pub(super) consumer: Dims<'c>,
    /// By dim of the producer that the consumer reads in parts: the coordinate of each part, over one dim of the consumer.
    pub(super) parts: HashMap<Dim, Vec<AffineExpr<'c>>>,
    /// The dims of the producer that are matched.
    pub(super) of_producer: DimSet,
    /// The dims of the consumer that are matched.
    pub(super) of_consumer: DimSet,
}

impl<'c> Match<'c> {
    /// Matches the dims of accesses of two programs to one tensor, as far as they are not matched yet.
    pub(super) fn accesses(
        &mut self,
        graph: &Graph<'c, '_>,
        (first, second): (&Program<'c, '_>, &Program<'c, '_>),
        producer: &[AffineExpr<'c>],
        consumer: &[AffineExpr<'c>],
    ) {
        for (made, read) in producer.iter().zip(consumer) {
            let (at_made, at_read) = (*made, *read);
            let made = digits(graph, first, at_made);
            let (Some(made), Some(read)) = (made, digits(graph, second, at_read)) else {
                continue;
            };
            let is_matched = is_any(&made, &self.of_producer) || is_any(&read, &self.of_consumer);
            if is_matched || made.extent != read.extent {
                continue;
            }
            match (made.dims.as_slice(), read.dims.as_slice()) {
                ([], []) => continue,
                // A dim of one point may match the coordinate 0.
                (_, [(dim, 1)]) => {
                    self.consumer.insert(*dim, at_made);
                }
                ([(dim, 1)], _) => {
                    self.producer.insert(*dim, at_read);
                }
                (made, read) => {
                    let are_alike = made.len() == read.len()
                        && made
                            .iter()
                            .zip(read)
                            .all(|(a, b)| a.1 == b.1 && graph.extents[a.0] == graph.extents[b.0]);
                    if !are_alike {
                        continue;
                    }
                    for ((of_producer, _), (of_consumer, _)) in made.iter().zip(read) {
                        self.consumer.insert(*of_consumer, graph.dim(*of_producer));
                    }
                }
            }
            self.of_producer.extend(made.dims.iter().map(|(dim, _)| *dim));
            self.of_consumer.extend(read.dims.iter().map(|(dim, _)| *dim));
        }
    }

    /// Matches dims of the producer that the consumer reads in parts: at a dim of its own, offset by multiples of that dim's extent, of
    /// which there are at most [`MOST_PARTS`].
    pub(super) fn parts(
        &mut self,
        graph: &Graph<'c, '_>,
        producer: &[AffineExpr<'c>],
        consumer: &[AffineExpr<'c>],
    ) {
        let pairs = producer.iter().zip(consumer);
        for (made, read) in pairs.filter(|(made, _)| made.is_dim()) {
            let dim = made.dim_position();
            let Some(form) = LinearForm::of(*read, graph.extents.len(), 0) else {
                continue;
            };
            let Some(part) = form.dims.iter().position(|factor| *factor == 1) else {
                continue;
            };
            let (whole, extent) = (graph.extents[dim], graph.extents[part]);
            if !whole.is_constant() || !extent.is_constant() || extent.constant_value() == 0 {
                continue;
            }
            let (whole, extent) = (whole.constant_value(), extent.constant_value());
            let is_known = self.of_producer.contains(&dim) || self.of_consumer.contains(&part);
            let is_part =
                form.dims.iter().filter(|factor| **factor != 0).count() == 1 && form.constant % extent == 0;
            if is_known || !is_part || whole % extent != 0 || whole / extent > MOST_PARTS {
                continue;
            }
            let at = |number: i64| graph.dim(part) + AffineExpr::constant(graph.context, number * extent);
            self.parts.insert(dim, (0..whole / extent).map(at).collect());
            self.of_producer.insert(dim);
            self.of_consumer.insert(part);
        }
    }

    /// Matches dims by the reads that both programs have in common, those over most dims first.
    pub(super) fn shared_reads(
        &mut self,
        graph: &Graph<'c, '_>,
        producer: &Program<'c, '_>,
        consumer: &Program<'c, '_>,
    ) {
        let reads = |program: &Program<'c, '_>| {
            let nodes = graph.nodes_of(program).into_iter();
            let mut reads = nodes
                .filter(|node| matches!(graph.entry(*node).kind, Kind::Read(..)))
                .collect::<Vec<_>>();
            reads.sort_by_key(|node| std::cmp::Reverse(graph.entry(*node).dims.len()));
            reads
        };
        let of_consumer = reads(consumer);
        for made in reads(producer) {
            for read in &of_consumer {
                let (Kind::Read(a, made), Kind::Read(b, read)) =
                    (&graph.entry(made).kind, &graph.entry(*read).kind)
                else {
                    continue;
                };
                if a == b && self.agrees(graph, made, read) {
                    self.accesses(graph, (producer, consumer), made, read);
                }
            }
        }
    }

    /// Whether two accesses to one tensor may be the same: no coordinates of theirs are known to differ.
    fn agrees(
        &self,
        graph: &Graph<'c, '_>,
        producer: &[AffineExpr<'c>],
        consumer: &[AffineExpr<'c>],
    ) -> bool {
        producer.iter().zip(consumer).all(|(made, read)| {
            let (of_made, of_read) = (super::graph::dims_of(*made), super::graph::dims_of(*read));
            let is_open = of_made.is_disjoint(&self.of_producer) && of_read.is_disjoint(&self.of_consumer);
            let are_constants = of_made.is_empty() && of_read.is_empty();
            (is_open && !are_constants)
                || replace(*made, &self.producer, graph.context)
                    == replace(*read, &self.consumer, graph.context)
        })
    }

    /// Matches each unmatched dim that the producer reduces with the consumer's first unmatched dim of the same extent.
    pub(super) fn reduced(&mut self, graph: &Graph<'c, '_>, producer: &DimSet, consumer: &[Dim]) {
        for made in producer {
            let fits = |read: &&Dim| {
                !self.of_consumer.contains(read) && graph.extents[**read] == graph.extents[*made]
            };
            if self.of_producer.contains(made) {
                continue;
            }
            if let Some(read) = consumer.iter().find(fits).copied() {
                self.consumer.insert(read, graph.dim(*made));
                self.of_producer.insert(*made);
                self.of_consumer.insert(read);
            }
        }
    }
}

/// The dims whose points a coordinate of a program enumerates from 0 on, as the digits of a mixed-radix number; `None` for any other
/// coordinate.
fn digits<'c>(graph: &Graph<'c, '_>, program: &Program<'c, '_>, at: AffineExpr<'c>) -> Option<Digits<'c>> {
    graph
        .digits(at, &program.guards)
        .filter(|digits| digits.first == 0)
}

/// Whether any of a coordinate's digits is a dim of `of`.
fn is_any(digits: &Digits<'_>, of: &DimSet) -> bool {
    digits.dims.iter().any(|(dim, _)| of.contains(dim))
}
