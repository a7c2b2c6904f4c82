//! The accesses of a cell that a later one may conflict with.
//!
//! Of each kind (reads or writes) usually only the last access matters, as the others happened before it. More are kept
//! where unordered threads read the same cell, or strong accesses meet. Accesses of a warp in lockstep then share one
//! entry if they differ only in the lane.

use super::access::{Access, Accessor, ConflictKind};
use super::clock::Event;

/// The accesses that a cell remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    reads: History,
    writes: History,
}

/// Accesses of one kind. It may still hold accesses of an agent that are older than its last one: they conflict with
/// nothing that the last does not conflict with.
#[derive(Clone, Debug, Default)]
enum History {
    #[default]
    Never,
    One(Access),
    /// In any order, except that the group that grew last is at the end.
    Many(Vec<Group>),
}

/// Accesses of neighbouring agents, such as the lanes of a warp, that differ only in the agent.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The access with the first of the neighbours as its agent, a multiple of [`NEIGHBOURS`].
    access: Access,
    /// Bit mask of the neighbours that made the access.
    agents: u32,
}

/// How many agents share a group.
const NEIGHBOURS: u32 = u32::BITS;
/// The number of groups from which on they are pruned, whenever it has doubled; small in tests, so that tests reach it.
const PRUNED_FROM: usize = if cfg!(test) { 2 } else { 8 };

impl Cell {
    /// Checks a read against earlier writes, and remembers it.
    #[inline]
    pub(super) fn read(&mut self, by: &Accessor<'_>, now: &Access) -> Option<(ConflictKind, Access)> {
        // A repeated read within one event of a thread needs no check: a write since then that the thread has not seen
        // was reported as a race. Asynchronous agents act for several threads, whose clocks differ, and are always
        // checked.
        if let History::One(read) = &self.reads
            && read.event == now.event
            && read.class == now.class
            && now.event.agent == by.issuer
        {
            return None;
        }
        let conflict = self.writes.conflict(by, now);
        match &mut self.reads {
            History::One(read) if by.supersedes(read, now) => *read = *now,
            reads => reads.add(by, now),
        }
        conflict
    }

    /// Checks a write against earlier accesses, and remembers it.
    #[inline]
    pub(super) fn write(&mut self, by: &Accessor<'_>, now: &Access) -> Option<(ConflictKind, Access)> {
        let conflict = self
            .writes
            .conflict(by, now)
            .or_else(|| self.reads.conflict(by, now));
        self.reads.forget(by, now);
        match &mut self.writes {
            History::One(write) if by.supersedes(write, now) => *write = *now,
            writes => {
                writes.forget(by, now);
                writes.add(by, now);
            }
        }
        conflict
    }
}

impl History {
    /// The first remembered access that conflicts with the access `now`.
    #[inline]
    fn conflict(&self, by: &Accessor<'_>, now: &Access) -> Option<(ConflictKind, Access)> {
        match self {
            Self::Never => None,
            Self::One(past) => by.conflict(past, now).map(|kind| (kind, *past)),
            Self::Many(groups) => groups.iter().find_map(|group| group.conflict(by, now)),
        }
    }

    /// Drops accesses that need not be remembered beside the write `now`: those that it supersedes, and those that it
    /// conflicts with, as these are reported now.
    #[inline]
    fn forget(&mut self, by: &Accessor<'_>, now: &Access) {
        let stays = |past: &Access| !by.supersedes(past, now) && by.conflict(past, now).is_none();
        match self {
            Self::Never => {}
            Self::One(past) => {
                if !stays(past) {
                    *self = Self::Never;
                }
            }
            // Strong accesses that meet are left to `prune`; otherwise each of n would be compared with all the others.
            Self::Many(groups)
                if groups
                    .iter()
                    .all(|group| group.access.is_morally_strong_with(now)) => {}
            Self::Many(groups) => {
                groups.iter_mut().for_each(|group| group.retain(stays));
                groups.retain(|group| group.agents != 0);
                if groups.is_empty() {
                    *self = Self::Never;
                }
            }
        }
    }

    /// Remembers an access in addition to the others.
    #[inline]
    fn add(&mut self, by: &Accessor<'_>, now: &Access) {
        match self {
            Self::Never => *self = Self::One(*now),
            Self::One(past) => {
                let mut groups = vec![Group::of(past)];
                add(&mut groups, by, now);
                *self = Self::Many(groups);
            }
            Self::Many(groups) => add(groups, by, now),
        }
    }
}

fn add(groups: &mut Vec<Group>, by: &Accessor<'_>, now: &Access) {
    if groups.last_mut().is_some_and(|last| last.take(now)) {
        return;
    }
    if let Some(index) = groups.iter_mut().position(|group| group.take(now)) {
        let last = groups.len() - 1;
        groups.swap(index, last);
        return;
    }
    if groups.len() >= PRUNED_FROM && groups.len().is_power_of_two() {
        prune(groups, by, now);
    }
    groups.push(Group::of(now));
}

/// Drops accesses that the access `now`, or a later access of their own agent, supersedes.
#[cold]
fn prune(groups: &mut Vec<Group>, by: &Accessor<'_>, now: &Access) {
    for index in 0..groups.len() {
        let mut group = groups[index];
        for later in &*groups {
            if group.is_repeated_within(later) {
                group.agents &= !later.agents;
            }
        }
        group.retain(|past| !by.supersedes(past, now));
        groups[index] = group;
    }
    groups.retain(|group| group.agents != 0);
}

impl Group {
    fn of(access: &Access) -> Self {
        Self {
            access: Access {
                event: first_neighbour(access.event),
                ..*access
            },
            agents: bit(access.event),
        }
    }

    /// Adds an access if it differs from the group only in the agent; returns whether it did.
    #[inline]
    fn take(&mut self, access: &Access) -> bool {
        let is_alike = self.access.event == first_neighbour(access.event)
            && self.access.site == access.site
            && self.access.what == access.what
            && self.access.class == access.class
            && self.access.cta == access.cta;
        if is_alike {
            self.agents |= bit(access.event);
        }
        is_alike
    }

    /// Whether `later` holds later accesses of the same kind by the same neighbours.
    fn is_repeated_within(&self, later: &Self) -> bool {
        let (ours, theirs) = (self.access.event, later.access.event);
        (ours.cluster, ours.agent) == (theirs.cluster, theirs.agent)
            && ours.time < theirs.time
            && self.access.class == later.access.class
            && self.access.cta == later.access.cta
            && self.access.what.is_async() == later.access.what.is_async()
    }

    #[inline]
    fn accesses(self) -> impl Iterator<Item = Access> {
        let mut rest = self.agents;
        std::iter::from_fn(move || {
            let first = rest.trailing_zeros();
            rest &= rest.checked_sub(1)?;
            let mut access = self.access;
            access.event.agent += first;
            Some(access)
        })
    }

    /// Keeps the accesses for which `holds` is true.
    #[inline]
    fn retain(&mut self, holds: impl Fn(&Access) -> bool) {
        for access in self.accesses() {
            if !holds(&access) {
                self.agents &= !bit(access.event);
            }
        }
    }

    #[inline]
    fn conflict(&self, by: &Accessor<'_>, now: &Access) -> Option<(ConflictKind, Access)> {
        if self.access.is_morally_strong_with(now) {
            return None;
        }
        self.accesses()
            .find_map(|past| by.conflict(&past, now).map(|kind| (kind, past)))
    }
}

fn first_neighbour(event: Event) -> Event {
    Event {
        agent: event.agent & !(NEIGHBOURS - 1),
        ..event
    }
}

fn bit(event: Event) -> u32 {
    1 << (event.agent % NEIGHBOURS)
}
