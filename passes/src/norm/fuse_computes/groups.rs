//! Groups of a function's computes that become one compute each, and the order that they have to keep.

use std::collections::{BTreeSet, HashMap};

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};

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
    /// The ops that it replaces, in order.
    pub(super) own: Vec<OperationRef<'c, 'a>>,
    /// All ops that it computes, including those that other groups compute too.
    pub(super) members: Vec<OperationRef<'c, 'a>>,
    /// What it computes; `None` for an op that cannot be fused.
    pub(super) program: Option<Program<'c, 'a>>,
    /// Why a compute has no program. Ops other than computes have no reason.
    alone: Option<Stop>,
    /// The tensors that it needs.
    reads: Vec<Value<'c, 'a>>,
    /// The tensors that it makes.
    makes: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Group<'c, 'a> {
    /// The group of an op that cannot be fused, for this reason if it is a compute.
    pub(super) fn opaque(op: OperationRef<'c, 'a>, alone: Option<Stop>) -> Self {
        Self {
            own: vec![op],
            members: vec![op],
            program: None,
            alone,
            reads: op.operands().collect(),
            makes: op.results().map(Value::from).collect(),
        }
    }

    /// The group of a program.
    pub(super) fn of(
        graph: &Graph<'c, 'a>,
        members: Vec<OperationRef<'c, 'a>>,
        program: Program<'c, 'a>,
    ) -> Self {
        let extents = program.dims.iter().map(|dim| graph.extents[*dim]);
        let of_space = extents.chain(program.guards.iter().flatten().copied());
        let sizes = of_space.flat_map(symbols);
        let sizes = sizes.filter_map(|symbol| Some(graph.size_of_symbol(symbol)?.0));
        let mut reads = graph.read_by(&program);
        reads.extend(sizes);
        Self {
            own: members.clone(),
            members,
            reads,
            makes: program.results(),
            program: Some(program),
            alone: None,
        }
    }

    /// Whether what it computes has to be written anew: it computes what other ops did, or it no longer needs an operand of its only op,
    /// such as a tensor of which only the size is used. The maker of such a tensor may be gone.
    pub(super) fn has_changed(&self) -> bool {
        match self.members[..] {
            [op] => !op.operands().all(|operand| self.reads.contains(&operand)),
            _ => true,
        }
    }
}

/// The groups of a function.
pub(super) struct Groups<'c, 'a> {
    /// In the order of the function at first; `None` where a group has been merged into another.
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
    /// Merges groups until no two fit. Elementwise programs that are cheap to recompute are copied into all of their readers first:
    /// otherwise one reader would take such a program in, and write its results for the others.
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

    /// An order in which each group comes after those that it depends on; `None` if there is none.
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

    /// By tensor: the group that makes it.
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
        let has_program = |group: &usize| {
            self.groups[*group]
                .as_ref()
                .is_some_and(|group| group.program.is_some())
        };
        match has_program(&of) {
            true => self.read_from(of).into_iter().filter(has_program).collect(),
            false => BTreeSet::new(),
        }
    }

    /// The groups that a group reads from, in order.
    pub(super) fn read_from(&self, of: usize) -> BTreeSet<usize> {
        let makers = self.makers();
        let reads = self.groups[of].iter().flat_map(|group| &group.reads);
        reads
            .filter_map(|tensor| makers.get(&key(*tensor)).copied())
            .collect()
    }

    /// The groups before one, neither of which waits for the other, that read a tensor which it reads too.
    pub(super) fn siblings(&self, of: usize) -> Vec<usize> {
        let Some(group) = &self.groups[of] else {
            return Vec::new();
        };
        let is_sibling = |first: &usize| {
            let first_group = self.groups[*first].as_ref();
            first_group.is_some_and(|first| group.reads.iter().any(|tensor| first.reads.contains(tensor)))
                && !self.waits(of, *first, false)
        };
        (0..of).filter(is_sibling).collect()
    }

    /// The groups that have to come before one. `makers` is [`Self::makers`].
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

    /// Whether a group depends on another, or, with `through_another`, whether it does so through a third one.
    pub(super) fn waits(&self, group: usize, other: usize, through_another: bool) -> bool {
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

    /// Whether a tensor is returned, or read by a group other than `but`.
    fn is_needed(&self, tensor: Value<'c, 'a>, but: [usize; 2]) -> bool {
        let reads =
            |group: &Option<Group<'c, 'a>>| group.as_ref().is_some_and(|group| group.reads.contains(&tensor));
        let mut others = (0..self.groups.len()).filter(|group| !but.contains(group));
        self.returned.contains(&tensor) || others.any(|group| reads(&self.groups[group]))
    }

    /// Why two groups are not merged; `None` if one of them is no compute.
    pub(super) fn stop(&self, graph: &mut Graph<'c, 'a>, first: usize, second: usize) -> Option<Stop> {
        let alone = |group: usize| self.groups[group].as_ref()?.alone.clone();
        match alone(first).or_else(|| alone(second)) {
            Some(stop) => {
                let is_compute = |group: usize| {
                    let group = self.groups[group].as_ref();
                    group.is_some_and(|group| group.program.is_some() || group.alone.is_some())
                };
                (is_compute(first) && is_compute(second)).then_some(stop)
            }
            None => self.joined(graph, first, second)?.err(),
        }
    }

    /// The program of two groups together, or why there is none; `None` if one of the groups has no program.
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

    /// Merges two groups if they fit, in the place of the second; returns whether they did.
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

    /// Merges the first two groups found that fit and read a common tensor; returns whether there were any.
    fn fuse_siblings(&mut self, graph: &mut Graph<'c, 'a>) -> bool {
        for second in 0..self.groups.len() {
            for first in self.siblings(second) {
                if self.join(graph, first, second) {
                    return true;
                }
            }
        }
        false
    }

    /// Copies the first group found that has no reductions into every group that reads it, where that does not move more bytes than
    /// going through memory; returns whether there was one. `is_wanted` selects groups by whether any of their results is returned.
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

    /// The group `reader`, changed to compute by itself what it reads of the group `of`; `None` if the two do not fit.
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

/// Whether computing a program in each of `readers` does not move more bytes than writing and reading what it makes.
fn moves_less(graph: &Graph<'_, '_>, program: &Program<'_, '_>, readers: i64, is_returned: bool) -> bool {
    let bytes = |ty| types::element_bytes(types::element(ty)).unwrap_or(8);
    let nodes = graph.nodes_of(program).into_iter();
    let read = nodes.map(|node| match &graph.entry(node).kind {
        // A read that leaves out a dim is small beside the others, and is not counted.
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
