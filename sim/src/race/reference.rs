//! Tests the shadow against the definition of a race: the whole trace is a graph, in which one access happens before
//! another if there is a path between them.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;

use super::threads::{Access, Copy, Kind, Threads};
use super::{Conflict, ConflictKind, Event};

const THREADS: usize = 5;
const PER_CLUSTER: usize = 3;
const PLACES: usize = 3;

/// What a thread does.
#[derive(Clone, Debug)]
enum Step {
    Access(usize, Range<usize>, Access),
    Issue(usize, Range<usize>, Access),
    /// Waits for one of the copies so far.
    Complete(usize, usize),
    Release(usize, usize),
    Acquire(usize, usize),
    Fence(usize),
    Barrier,
}

/// The trace so far. A node's `before` marks all nodes from which a path leads to it.
#[derive(Clone, Default)]
struct Graph {
    nodes: Vec<Node>,
    /// The last node of each thread.
    last: [Option<usize>; THREADS],
    /// Releases to each place.
    released: [Vec<usize>; PLACES],
}

#[derive(Clone)]
struct Node {
    before: Vec<bool>,
    fence: bool,
    access: Option<Past>,
}

/// An access, and whether a copy makes it.
#[derive(Clone)]
struct Past {
    range: Range<usize>,
    access: Access,
    by_copy: bool,
    event: Event,
}

impl Graph {
    fn add(&mut self, after: impl IntoIterator<Item = usize>, fence: bool) -> usize {
        let mut before = vec![false; self.nodes.len()];
        for node in after {
            before[node] = true;
            for (index, &earlier) in self.nodes[node].before.iter().enumerate() {
                before[index] |= earlier;
            }
        }
        self.nodes.push(Node {
            before,
            fence,
            access: None,
        });
        self.nodes.len() - 1
    }

    fn step(&mut self, thread: usize, also: impl IntoIterator<Item = usize>, fence: bool) -> usize {
        let node = self.add(self.last[thread].into_iter().chain(also), fence);
        self.last[thread] = Some(node);
        node
    }

    /// All earlier accesses that conflict with the access of a new node, each with the kind of conflict.
    fn conflicts(
        &self,
        node: usize,
        range: &Range<usize>,
        now: Access,
        by_copy: bool,
    ) -> Vec<(usize, ConflictKind)> {
        let before = &self.nodes[node].before;
        let writes = |access: &Access| access.kind != Kind::Read;
        let mut found = Vec::new();
        for (index, earlier) in self.nodes.iter().enumerate() {
            let Some(Past {
                range: past_range,
                access: past,
                by_copy: past_by_copy,
                ..
            }) = &earlier.access
            else {
                continue;
            };
            let overlap = past_range.start < range.end && range.start < past_range.end;
            if !overlap || !(writes(past) || writes(&now)) {
                continue;
            }
            let morally_strong = past.strong && now.strong && *past_by_copy == by_copy;
            let fenced = || {
                (0..self.nodes.len()).any(|fence| {
                    self.nodes[fence].fence
                        && before[fence]
                        && self.nodes[fence].before.get(index) == Some(&true)
                })
            };
            if past.invariant || now.invariant {
                found.push((index, ConflictKind::InvariantLoad));
            } else if !morally_strong && !before[index] {
                found.push((index, ConflictKind::Race));
            } else if !morally_strong && by_copy && !past_by_copy && writes(past) && !fenced() {
                found.push((index, ConflictKind::MissingProxyFence));
            }
        }
        found
    }

    /// Whether the shadow found one of the conflicts that there are, and none if there are none.
    fn agrees(&self, found: Option<Conflict>, conflicts: &[(usize, ConflictKind)]) -> bool {
        let Some(found) = found else {
            return conflicts.is_empty();
        };
        conflicts.iter().any(|&(node, kind)| {
            let past = self.nodes[node].access.as_ref();
            kind == found.kind
                && past.is_some_and(|past| {
                    (past.event, past.access.site) == (found.other.event, found.other.site)
                })
        })
    }
}

fn step() -> impl Strategy<Value = Step> {
    let thread = 0..THREADS;
    let range = (0usize..3)
        .prop_flat_map(|bits| (0..(32usize >> bits)).prop_map(move |i| i << bits..(i + 1) << bits));
    let wide = (0usize..4, 1usize..4).prop_map(|(start, count)| 8 * start..8 * (start + count));
    let access = (0..8u32, prop::bool::weighted(0.3)).prop_map(|(kind, strong)| match kind {
        0..3 => (Kind::Read, strong),
        3..6 => (Kind::Write, strong),
        6 => (Kind::Atomic, true),
        _ => (Kind::Read, false),
    });
    let access =
        (access, prop::bool::weighted(0.03), 0..2u32).prop_map(|((kind, strong), invariant, site)| Access {
            kind,
            strong,
            invariant: invariant && kind == Kind::Read && !strong,
            site,
        });
    let any_range = prop_oneof![4 => range, 1 => wide.clone()];
    prop_oneof![
        8 => (thread.clone(), any_range, access.clone()).prop_map(|(t, r, a)| Step::Access(t, r, a)),
        2 => (thread.clone(), wide, access).prop_map(|(t, r, a)| Step::Issue(t, r, Access { invariant: false, ..a })),
        2 => (thread.clone(), 0usize..64).prop_map(|(t, c)| Step::Complete(t, c)),
        3 => (thread.clone(), 0..PLACES).prop_map(|(t, p)| Step::Release(t, p)),
        3 => (thread.clone(), 0..PLACES).prop_map(|(t, p)| Step::Acquire(t, p)),
        2 => thread.prop_map(Step::Fence),
        1 => Just(Step::Barrier),
    ]
}

/// Runs a trace both ways. An access that conflicts is undone, so that the trace goes on without conflicts.
fn compare(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut threads = Threads::new(THREADS + 1, PER_CLUSTER);
    let mut graph = Graph::default();
    let mut copies: Vec<(Copy, usize)> = Vec::new();
    for step in steps {
        match step {
            Step::Access(thread, range, access) => {
                let node = graph.step(thread, [], false);
                let conflicts = graph.conflicts(node, &range, access, false);
                let before = threads.shadow.clone();
                let found = threads.access(thread, range.clone(), access);
                prop_assert!(
                    graph.agrees(found, &conflicts),
                    "found {:?} of {:?}",
                    found,
                    conflicts
                );
                if found.is_some() {
                    threads.shadow = before;
                } else {
                    graph.nodes[node].access = Some(Past {
                        range,
                        access,
                        by_copy: false,
                        event: threads.event(thread),
                    });
                }
            }
            Step::Issue(thread, range, access) => {
                let node = graph.add(graph.last[thread], false);
                let conflicts = graph.conflicts(node, &range, access, true);
                let before = threads.shadow.clone();
                let (copy, found) = threads.issue(thread, range.clone(), access);
                prop_assert!(
                    graph.agrees(found, &conflicts),
                    "found {:?} of {:?}",
                    found,
                    conflicts
                );
                if found.is_some() {
                    threads.shadow = before;
                } else {
                    graph.nodes[node].access = Some(Past {
                        range,
                        access,
                        by_copy: true,
                        event: copy.event,
                    });
                    copies.push((copy, node));
                }
            }
            Step::Complete(thread, copy) => {
                if !copies.is_empty() {
                    let (copy, node) = &copies[copy % copies.len()];
                    threads.complete(thread, copy);
                    graph.step(thread, [*node], false);
                }
            }
            Step::Release(thread, place) => {
                threads.release(thread, place);
                let node = graph.step(thread, [], false);
                graph.released[place].push(node);
            }
            Step::Acquire(thread, place) => {
                threads.acquire(thread, place);
                let released = graph.released[place].clone();
                graph.step(thread, released, false);
            }
            Step::Fence(thread) => {
                threads.fence(thread);
                graph.step(thread, [], true);
            }
            Step::Barrier => {
                threads.barrier(0);
                let last = graph.last;
                let node = graph.add(last[..PER_CLUSTER].iter().flatten().copied(), false);
                graph.last[..PER_CLUSTER].fill(Some(node));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_shadow_finds_what_the_definition_says(steps in vec(step(), 1..120)) {
        compare(steps)?;
    }
}
