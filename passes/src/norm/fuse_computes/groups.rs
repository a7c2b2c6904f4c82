//! What becomes one: groups of a function's computes, each with its program, and the order that they keep.

use std::collections::{BTreeSet, HashMap};

use melior::ir::{OperationRef, Value, ValueLike};

use super::{
    aliases::{self, Alias},
    graph::{Graph, Kind, Program},
    merge::merge,
    stop::Stop,
};
use crate::mlir::{affine::symbols, types, values::key};

/// Ops that are computed together.
#[derive(Clone, Debug)]
pub(super) struct Group<'c, 'a> {
    /// The ops whose place it takes, in order.
    pub(super) own: Vec<OperationRef<'c, 'a>>,
    /// All ops that it computes: those of programs that others compute too among them.
    pub(super) members: Vec<OperationRef<'c, 'a>>,
    /// What it computes; `None` for an op that cannot be part of another.
    pub(super) program: Option<Program<'c, 'a>>,
    /// The tensors that it needs.
    reads: Vec<Value<'c, 'a>>,
    /// The tensors that it makes.
    makes: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Group<'c, 'a> {
    /// An op as it stands.
    pub(super) fn opaque(
        op: OperationRef<'c, 'a>,
        reads: Vec<Value<'c, 'a>>,
        makes: Vec<Value<'c, 'a>>,
    ) -> Self {
        Self {
            own: vec![op],
            members: vec![op],
            program: None,
            reads,
            makes,
        }
    }

    /// A program.
    pub(super) fn of(
        graph: &Graph<'c, 'a>,
        members: Vec<OperationRef<'c, 'a>>,
        program: Program<'c, 'a>,
    ) -> Self {
        let extents = program.dims.iter().flat_map(|dim| symbols(graph.extents[*dim]));
        let sizes = extents.filter_map(|symbol| Some(graph.size_of_symbol(symbol)?.0));
        let mut reads = graph.read_by(&program);
        reads.extend(sizes);
        Self {
            own: members.clone(),
            members,
            reads,
            makes: program.results(),
            program: Some(program),
        }
    }
}

/// The groups of a function.
pub(super) struct Groups<'c, 'a> {
    /// Where each stands at first, and nothing where it has become part of another.
    pub(super) groups: Vec<Option<Group<'c, 'a>>>,
    /// What the function returns.
    pub(super) returned: Vec<Value<'c, 'a>>,
    pub(super) aliases: Vec<Alias<'c, 'a>>,
    /// Ops that nothing needs.
    pub(super) unneeded: Vec<OperationRef<'c, 'a>>,
    /// Pairs of ops of which the first reads memory that the second may write.
    pub(super) before: Vec<(OperationRef<'c, 'a>, OperationRef<'c, 'a>)>,
}

impl<'c: 'a, 'a> Groups<'c, 'a> {
    /// Makes one of what fits, until nothing more does. What is cheap to compute is in all that read it from the start, lest one of
    /// them writes it for the others.
    pub(super) fn fuse(&mut self, graph: &mut Graph<'c, 'a>) {
        while self.copy_elementwise(graph, |is_returned| !is_returned) {}
        loop {
            let mut has_changed = false;
            for second in 0..self.groups.len() {
                while self
                    .producers(second)
                    .into_iter()
                    .rev()
                    .any(|first| self.join(graph, first, second))
                {
                    has_changed = true;
                }
            }
            has_changed |= self.fuse_siblings(graph) || self.copy_elementwise(graph, |_| true);
            if !has_changed {
                break;
            }
        }
    }

    /// Pairs of a group and one that it reads from, and why they are apart.
    pub(super) fn apart(&self, graph: &mut Graph<'c, 'a>) -> Vec<(usize, usize, Stop)> {
        let pairs = (0..self.groups.len()).flat_map(|second| {
            self.producers(second)
                .into_iter()
                .map(move |first| (first, second))
        });
        let stops = pairs
            .collect::<Vec<_>>()
            .into_iter()
            .filter_map(|(first, second)| {
                let stop = self.joined(graph, first, second)?.err()?;
                Some((first, second, stop))
            });
        stops.collect()
    }

    /// An order in which each group comes behind what it needs; `None` where there is none.
    pub(super) fn order(&self) -> Option<Vec<usize>> {
        let makers = self.makers();
        let needs = (0..self.groups.len()).map(|group| self.needs(group, &makers));
        let needs = needs.collect::<Vec<_>>();
        let mut order = Vec::new();
        let mut open = (0..self.groups.len())
            .filter(|group| self.groups[*group].is_some())
            .collect::<BTreeSet<_>>();
        while !open.is_empty() {
            let next = open
                .iter()
                .copied()
                .find(|group| needs[*group].is_disjoint(&open))?;
            open.remove(&next);
            order.push(next);
        }
        Some(order)
    }

    /// Which group makes each tensor.
    fn makers(&self) -> HashMap<usize, usize> {
        let groups = self.groups.iter().enumerate();
        let made = groups.flat_map(|(index, group)| {
            group
                .iter()
                .flat_map(move |group| group.makes.iter().map(move |made| (key(*made), index)))
        });
        made.collect()
    }

    /// The groups with programs that a group with a program reads from, in order.
    fn producers(&self, of: usize) -> BTreeSet<usize> {
        let Some(group) = self.groups[of].as_ref().filter(|group| group.program.is_some()) else {
            return BTreeSet::new();
        };
        let makers = self.makers();
        let makers = group
            .reads
            .iter()
            .filter_map(|tensor| makers.get(&key(*tensor)).copied());
        makers
            .filter(|maker| {
                self.groups[*maker]
                    .as_ref()
                    .is_some_and(|maker| maker.program.is_some())
            })
            .collect()
    }

    /// The groups that have to come before one; `makers` says which group makes each tensor.
    fn needs(&self, of: usize, makers: &HashMap<usize, usize>) -> BTreeSet<usize> {
        let Some(group) = &self.groups[of] else {
            return BTreeSet::new();
        };
        let made_by = group.reads.iter().filter_map(|tensor| makers.get(&key(*tensor)));
        let mut needs = made_by.copied().collect::<BTreeSet<_>>();
        for (reader, writer) in &self.before {
            if group.own.contains(writer) {
                let holds = |group: &Option<Group<'c, 'a>>| {
                    group.as_ref().is_some_and(|group| group.members.contains(reader))
                };
                needs.extend((0..self.groups.len()).filter(|index| holds(&self.groups[*index])));
            }
        }
        needs.remove(&of);
        needs
    }

    /// Whether a group has to wait for another: through a third one, or at all.
    fn waits(&self, group: usize, other: usize, through_another: bool) -> bool {
        let makers = self.makers();
        let mut open = self.needs(group, &makers);
        if through_another {
            open.remove(&other);
        }
        let mut seen = BTreeSet::new();
        while let Some(next) = open.pop_first() {
            if next == other {
                return true;
            }
            if seen.insert(next) {
                open.extend(self.needs(next, &makers));
            }
        }
        false
    }

    /// Whether anything but two groups needs a tensor.
    fn is_needed(&self, tensor: Value<'c, 'a>, but: [usize; 2]) -> bool {
        let reads =
            |group: &Option<Group<'c, 'a>>| group.as_ref().is_some_and(|group| group.reads.contains(&tensor));
        let mut others = (0..self.groups.len()).filter(|group| !but.contains(group));
        self.returned.contains(&tensor) || others.any(|group| reads(&self.groups[group]))
    }

    /// Two groups as one program; `None` where one has no program.
    fn joined(
        &self,
        graph: &mut Graph<'c, 'a>,
        first: usize,
        second: usize,
    ) -> Option<Result<Program<'c, 'a>, Stop>> {
        let program = |group: usize| self.groups[group].as_ref()?.program.as_ref();
        let (a, b) = (program(first)?, program(second)?);
        if self.waits(second, first, true) || self.waits(first, second, false) {
            return Some(Err(Stop::Between));
        }
        let merged = merge(graph, a, b, &|tensor| self.is_needed(tensor, [first, second]));
        Some(merged.and_then(|merged| aliases::check(graph, &merged, &self.aliases).map(|()| merged)))
    }

    /// Makes one group of two, in the place of the second, if they fit.
    fn join(&mut self, graph: &mut Graph<'c, 'a>, first: usize, second: usize) -> bool {
        let Some(Ok(program)) = self.joined(graph, first, second) else {
            return false;
        };
        let Some((a, b)) = self.groups[first].take().zip(self.groups[second].take()) else {
            return false;
        };
        let unite = |a: Vec<OperationRef<'c, 'a>>, b: Vec<OperationRef<'c, 'a>>| {
            let mut all = a;
            all.extend(b.into_iter().filter(|op| !all.contains(op)).collect::<Vec<_>>());
            all
        };
        let mut group = Group::of(graph, unite(a.own, b.own), program);
        group.members = unite(a.members, b.members);
        self.groups[second] = Some(group);
        true
    }

    /// Makes one of groups that read the same elements, at every dim of theirs.
    fn fuse_siblings(&mut self, graph: &mut Graph<'c, 'a>) -> bool {
        for second in 0..self.groups.len() {
            let is_read_by = |group: &usize, tensor: &Value<'c, 'a>| {
                self.groups[*group]
                    .as_ref()
                    .is_some_and(|group| group.reads.contains(tensor))
            };
            let Some(reads) = self.groups[second].as_ref().map(|group| group.reads.clone()) else {
                continue;
            };
            let siblings = (0..second).filter(|first| reads.iter().any(|tensor| is_read_by(first, tensor)));
            for first in siblings.collect::<Vec<_>>() {
                let is_apart = !self.waits(second, first, false);
                if is_apart && self.join(graph, first, second) {
                    return true;
                }
            }
        }
        false
    }

    /// Computes what has no reductions in each group that reads it, where that moves fewer bytes than its memory; of what is returned,
    /// or is not, what `is_wanted`.
    fn copy_elementwise(&mut self, graph: &mut Graph<'c, 'a>, is_wanted: impl Fn(bool) -> bool) -> bool {
        for first in 0..self.groups.len() {
            let Some(group) = self.groups[first].clone() else {
                continue;
            };
            let Some(program) = &group.program else { continue };
            if graph
                .nodes_of(program)
                .iter()
                .any(|node| matches!(graph.entry(*node).kind, Kind::Reduce(..)))
            {
                continue;
            }
            let readers = (0..self.groups.len()).filter(|reader| *reader != first);
            let reads = |reader: &usize| {
                self.groups[*reader]
                    .as_ref()
                    .is_some_and(|reader| reader.reads.iter().any(|tensor| group.makes.contains(tensor)))
            };
            let readers = readers.filter(reads).collect::<Vec<_>>();
            let is_returned = group.makes.iter().any(|tensor| self.returned.contains(tensor));
            let moves_less = || moves_less(graph, program, readers.len() as i64, is_returned);
            if readers.is_empty() || !is_wanted(is_returned) || !moves_less() {
                continue;
            }
            let copies = readers
                .iter()
                .map(|reader| self.with_copy(graph, &group, *reader));
            let Some(copies) = copies.collect::<Option<Vec<_>>>() else {
                continue;
            };
            for (reader, copy) in readers.into_iter().zip(copies) {
                self.groups[reader] = Some(copy);
            }
            if !is_returned {
                self.groups[first] = None;
                self.unneeded.extend(group.own);
            }
            return true;
        }
        false
    }

    /// A group that computes for itself what it reads of another one.
    fn with_copy(
        &self,
        graph: &mut Graph<'c, 'a>,
        of: &Group<'c, 'a>,
        reader: usize,
    ) -> Option<Group<'c, 'a>> {
        let group = self.groups[reader].as_ref()?;
        let merged = merge(graph, of.program.as_ref()?, group.program.as_ref()?, &|_| false).ok()?;
        aliases::check(graph, &merged, &self.aliases).ok()?;
        let makers = self.makers();
        for alias in self
            .aliases
            .iter()
            .filter(|alias| of.reads.contains(&alias.argument))
        {
            let writer = *makers.get(&key(alias.result))?;
            if writer != reader && self.waits(reader, writer, false) {
                return None;
            }
        }
        let mut copy = Group::of(graph, group.own.clone(), merged);
        copy.members = [of.members.clone(), group.members.clone()].concat();
        Some(copy)
    }
}

/// Whether computing a program in each of `readers` moves fewer bytes than writing and reading what it makes.
fn moves_less(graph: &Graph<'_, '_>, program: &Program<'_, '_>, readers: i64, is_returned: bool) -> bool {
    let bytes = |ty| types::element_bytes(types::element(ty)).unwrap_or(8);
    let nodes = graph.nodes_of(program).into_iter();
    let read = nodes.map(|node| match &graph.entry(node).kind {
        // What leaves out a dim is small beside the rest.
        Kind::Read(tensor, _) if graph.entry(node).dims.len() == program.dims.len() => bytes(tensor.r#type()),
        _ => 0,
    });
    let read = read.sum::<i64>();
    let made = program
        .results()
        .iter()
        .map(|tensor| bytes(tensor.r#type()))
        .sum::<i64>();
    let in_memory = read + made + readers * made;
    let in_each = readers * read + if is_returned { read + made } else { 0 };
    in_each <= in_memory
}
