//! What lives from the phases before a phase into it: the cheapest cut, by registers, between the cached reads and the values that
//! the phase needs.
//!
//! The ops between them form a graph, in which each value costs what a thread holds of it. A set of values from which all that
//! the phase needs can be computed again, without the reads, is a cut, and the least one is a maximum flow (Ford and Fulkerson,
//! 1956) where each value is an edge from its operands' side to its users' side. Of equal cuts the one nearest to the uses is
//! taken: it leaves the fewest ops to be computed again.

use std::collections::VecDeque;

/// A node's number.
pub(super) type Node = usize;

/// A graph of values, each with what it costs to keep it.
#[derive(Default)]
pub(super) struct Graph {
    /// `None` for what cannot be kept.
    costs: Vec<Option<u64>>,
    /// From operand to user.
    uses: Vec<(Node, Node)>,
    sources: Vec<Node>,
    sinks: Vec<Node>,
}

impl Graph {
    /// Adds a value that costs so much to keep, `None` if it cannot be kept.
    pub(super) fn add(&mut self, cost: Option<u64>) -> Node {
        self.costs.push(cost);
        self.costs.len() - 1
    }

    /// `user` is computed from `operand`.
    pub(super) fn add_use(&mut self, operand: Node, user: Node) {
        self.uses.push((operand, user));
    }

    /// A value that cannot be computed again.
    pub(super) fn add_source(&mut self, node: Node) {
        self.sources.push(node);
    }

    /// A value that is needed.
    pub(super) fn add_sink(&mut self, node: Node) {
        self.sinks.push(node);
    }

    /// Whether each node is in the cheapest cut, of equal ones the one nearest to the sinks. There is a cut: every source may be
    /// kept.
    pub(super) fn cheapest_cut(&self) -> Vec<bool> {
        let count = self.costs.len();
        // Each node has a side towards its operands, 2n, and one towards its users, 2n + 1.
        let (from, to) = (2 * count, 2 * count + 1);
        let mut flow = Flow::new(2 * count + 2);
        for (node, cost) in self.costs.iter().enumerate() {
            flow.add(2 * node, 2 * node + 1, cost.unwrap_or(UNBOUNDED));
        }
        for (operand, user) in &self.uses {
            flow.add(2 * operand + 1, 2 * user, UNBOUNDED);
        }
        for source in &self.sources {
            flow.add(from, 2 * source, UNBOUNDED);
        }
        for sink in &self.sinks {
            flow.add(2 * sink + 1, to, UNBOUNDED);
        }
        flow.saturate(from, to);
        let reaches = flow.reaching(to);
        (0..count)
            .map(|node| reaches[2 * node + 1] && !reaches[2 * node])
            .collect()
    }
}

/// More than all values together.
const UNBOUNDED: u64 = u64::MAX / 4;

/// What may still flow along each edge.
struct Flow {
    edges: Vec<(usize, u64)>,
    /// By node, its edges; the reverse of edge 2e is 2e + 1.
    of_node: Vec<Vec<usize>>,
}

impl Flow {
    fn new(nodes: usize) -> Self {
        Self {
            edges: Vec::new(),
            of_node: vec![Vec::new(); nodes],
        }
    }

    fn add(&mut self, from: usize, to: usize, capacity: u64) {
        for (node, other, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.of_node[node].push(self.edges.len());
            self.edges.push((other, capacity));
        }
    }

    /// Sends as much as possible, along shortest paths.
    fn saturate(&mut self, from: usize, to: usize) {
        while let Some(path) = self.path(from, to) {
            let least = path.iter().map(|edge| self.edges[*edge].1).min().unwrap_or(0);
            for edge in path {
                self.edges[edge].1 -= least;
                self.edges[edge ^ 1].1 += least;
            }
        }
    }

    fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut by = vec![None; self.of_node.len()];
        let mut open = VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            for &edge in &self.of_node[node] {
                let (next, capacity) = self.edges[edge];
                if capacity > 0 && next != from && by[next].is_none() {
                    by[next] = Some(edge);
                    open.push_back(next);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let edge = by[node]?;
            path.push(edge);
            node = self.edges[edge ^ 1].0;
        }
        Some(path)
    }

    /// By node, whether more may flow from it to `to`.
    fn reaching(&self, to: usize) -> Vec<bool> {
        let mut reaches = vec![false; self.of_node.len()];
        reaches[to] = true;
        let mut open = vec![to];
        while let Some(node) = open.pop() {
            for &edge in &self.of_node[node] {
                let previous = self.edges[edge].0;
                if self.edges[edge ^ 1].1 > 0 && !reaches[previous] {
                    reaches[previous] = true;
                    open.push(previous);
                }
            }
        }
        reaches
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    /// The cut of a chain from a source to a sink.
    fn chain(costs: &[Option<u64>]) -> Vec<bool> {
        let mut graph = Graph::default();
        let nodes = costs.iter().map(|cost| graph.add(*cost)).collect::<Vec<_>>();
        for pair in nodes.windows(2) {
            graph.add_use(pair[0], pair[1]);
        }
        graph.add_source(nodes[0]);
        graph.add_sink(nodes[nodes.len() - 1]);
        graph.cheapest_cut()
    }

    #[test]
    fn the_narrowest_value_is_kept() {
        assert_eq!(chain(&[Some(2), Some(4), Some(4)]), [true, false, false]);
        assert_eq!(chain(&[Some(4), Some(2), Some(4)]), [false, true, false]);
    }

    #[test]
    fn of_equals_the_last_is_kept() {
        assert_eq!(chain(&[Some(4), Some(4)]), [false, true]);
        assert_eq!(chain(&[Some(4), Some(4), None]), [false, true, false]);
    }

    #[test]
    fn one_value_of_two_is_kept_in_their_place() {
        let mut graph = Graph::default();
        let [one, other, both] = [2, 2, 4].map(|cost| graph.add(Some(cost)));
        for operand in [one, other] {
            graph.add_source(operand);
            graph.add_use(operand, both);
        }
        graph.add_sink(both);
        assert_eq!(graph.cheapest_cut(), [false, false, true]);
        // What is needed in any case leaves less to be saved.
        graph.add_sink(one);
        assert_eq!(graph.cheapest_cut(), [true, true, false]);
    }

    #[test]
    fn what_lives_in_any_case_is_kept() {
        assert_eq!(chain(&[Some(0), Some(4)]), [true, false]);
    }
}
