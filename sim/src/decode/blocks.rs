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
        search.visit(0);
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

impl Search<'_> {
    /// Places the components that `node` leads to; returns the least number that it reaches.
    fn visit(&mut self, node: usize) -> usize {
        self.count += 1;
        self.number[node] = self.count;
        self.stack.push(node);
        let (mut least, mut cyclic) = (self.count, false);
        for &next in &self.successors[node] {
            let reached = match self.number[next] {
                0 => self.visit(next),
                number => number,
            };
            if reached <= least {
                least = reached;
                cyclic = true;
            }
        }
        if least == self.number[node] {
            self.number[node] = DONE;
            while let Some(member) = self.stack.pop().filter(|member| *member != node) {
                self.number[member] = 0;
            }
            if cyclic {
                for &next in &self.successors[node] {
                    if self.number[next] == 0 {
                        self.visit(next);
                    }
                }
            }
            self.reversed.push(node);
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::order;

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
}
