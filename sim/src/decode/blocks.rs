//! The order in which blocks are laid out.
//!
//! A weak topological order (F. Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993): a block
//! comes after its predecessors, back edges aside, and a loop lies in one piece, its header first. So lanes of a warp
//! that leave a loop wait behind it for the lanes that iterate again, which plain reverse post-order does not
//! guarantee.

/// The reachable nodes of a graph in weak topological order; node 0 is the entry.
pub(super) fn order(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut search = Search {
        successors,
        number: vec![0; successors.len()],
        count: 0,
        stack: Vec::new(),
        reversed: Vec::new(),
    };
    if !successors.is_empty() {
        search.run();
    }
    search.reversed.reverse();
    search.reversed
}

/// Tarjan's search for strongly connected components, which Bourdoncle repeats inside each without its header.
struct Search<'s> {
    successors: &'s [Vec<usize>],
    /// When a node was first seen, from 1; 0 if not yet, `DONE` if it has its place.
    number: Vec<usize>,
    count: usize,
    stack: Vec<usize>,
    reversed: Vec<usize>,
}

const DONE: usize = usize::MAX;

/// A visit of a node. Visits nest as deeply as paths are long, so they lie on the heap.
struct Visit {
    node: usize,
    /// How many of the node's successors have been looked at.
    looked_at: usize,
    /// The least number that the node reaches.
    least: usize,
    /// Whether the node is on a cycle.
    cyclic: bool,
    /// Whether the node is the header of a component, whose other nodes are visited again.
    is_header: bool,
}

impl Visit {
    fn reach(&mut self, number: usize) {
        if !self.is_header && number <= self.least {
            self.least = number;
            self.cyclic = true;
        }
    }
}

impl Search<'_> {
    fn enter(&mut self, node: usize) -> Visit {
        self.count += 1;
        self.number[node] = self.count;
        self.stack.push(node);
        Visit {
            node,
            looked_at: 0,
            least: self.count,
            cyclic: false,
            is_header: false,
        }
    }

    /// Places the components that node 0 leads to.
    fn run(&mut self) {
        let mut visits = vec![self.enter(0)];
        while let Some(visit) = visits.last_mut() {
            if let Some(&next) = self.successors[visit.node].get(visit.looked_at) {
                visit.looked_at += 1;
                match self.number[next] {
                    0 => visits.push(self.enter(next)),
                    number => visit.reach(number),
                }
                continue;
            }
            let node = visit.node;
            if !visit.is_header && visit.least == self.number[node] {
                visit.is_header = true;
                self.number[node] = DONE;
                while let Some(member) = self.stack.pop().filter(|member| *member != node) {
                    self.number[member] = 0;
                }
                if visit.cyclic {
                    visit.looked_at = 0;
                    continue;
                }
            }
            if visit.is_header {
                self.reversed.push(node);
            }
            let least = visit.least;
            visits.pop();
            if let Some(outer) = visits.last_mut() {
                outer.reach(least);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DONE, Search, order};

    #[test]
    fn branches_lie_before_where_they_meet() {
        assert_eq!(order(&[vec![1, 2], vec![3], vec![3], vec![]]), [0, 2, 1, 3]);
    }

    #[test]
    fn a_loop_lies_before_its_exit_whichever_successor_comes_first() {
        assert_eq!(order(&[vec![1], vec![2, 3], vec![1], vec![]]), [0, 1, 2, 3]);
        assert_eq!(order(&[vec![1], vec![3, 2], vec![1], vec![]]), [0, 1, 2, 3]);
    }

    #[test]
    fn an_inner_loop_lies_in_one_piece() {
        // 1 is the outer header, 2 the inner one with body 3; 4 ends the outer loop, 5 follows.
        let successors = [vec![1], vec![5, 2], vec![4, 3], vec![2], vec![1], vec![]];
        assert_eq!(order(&successors), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_block_that_loops_on_itself_lies_once() {
        assert_eq!(order(&[vec![1], vec![1, 2], vec![]]), [0, 1, 2]);
    }

    #[test]
    fn what_nothing_leads_to_is_left_out() {
        assert_eq!(order(&[vec![2], vec![2], vec![]]), [0, 2]);
    }

    /// The same search by recursion.
    fn recursive_order(successors: &[Vec<usize>]) -> Vec<usize> {
        fn visit(search: &mut Search<'_>, node: usize) -> usize {
            search.count += 1;
            search.number[node] = search.count;
            search.stack.push(node);
            let (mut least, mut cyclic) = (search.count, false);
            for &next in &search.successors[node] {
                let reached = match search.number[next] {
                    0 => visit(search, next),
                    number => number,
                };
                if reached <= least {
                    least = reached;
                    cyclic = true;
                }
            }
            if least == search.number[node] {
                search.number[node] = DONE;
                while let Some(member) = search.stack.pop().filter(|member| *member != node) {
                    search.number[member] = 0;
                }
                if cyclic {
                    for &next in &search.successors[node] {
                        if search.number[next] == 0 {
                            visit(search, next);
                        }
                    }
                }
                search.reversed.push(node);
            }
            least
        }
        let mut search = Search {
            successors,
            number: vec![0; successors.len()],
            count: 0,
            stack: Vec::new(),
            reversed: Vec::new(),
        };
        visit(&mut search, 0);
        search.reversed.reverse();
        search.reversed
    }

    proptest! {
        #[test]
        fn visits_on_the_heap_come_in_the_order_of_recursion(
            successors in prop::collection::vec(prop::collection::vec(0usize..12, 0..4), 12),
        ) {
            prop_assert_eq!(order(&successors), recursive_order(&successors));
        }
    }

    /// A path of a million blocks, all of them in one loop: recursion would overflow the stack.
    #[test]
    fn a_path_may_have_any_length() {
        let count = 1_000_000;
        let mut successors: Vec<Vec<usize>> = (1..count).map(|next| vec![next]).collect();
        successors.push(vec![0]);
        assert_eq!(order(&successors), (0..count).collect::<Vec<_>>());
    }
}
