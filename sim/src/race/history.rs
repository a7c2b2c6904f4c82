//! The accesses of a cell that a later one may conflict with.
//!
//! Of one kind (reads or writes) mostly one access matters, the last, which the others happened before. More are kept
//! where threads read without order among them, or strong accesses meet. Then those of a warp that are alike are one
//! entry, as lanes in lockstep make them.

use super::access::{Access, Accessor, ConflictKind};
use super::clock::Event;

/// What a cell remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    reads: History,
    writes: History,
}

/// Accesses of one kind. Of an agent it may hold earlier ones than the last: they conflict with nothing that the last
/// does not.
#[derive(Clone, Debug, Default)]
enum History {
    #[default]
    Never,
    One(Access),
    /// In any order; the one that grew last is at the end.
    Many(Vec<Group>),
}

/// Accesses of neighbouring agents, as of a warp, that differ in nothing else.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// As of the first agent of the neighbours, a multiple of [`NEIGHBOURS`].
    access: Access,
    /// Which of the neighbours, as bits.
    agents: u32,
}

/// How many agents share a group.
const NEIGHBOURS: u32 = u32::BITS;
/// From how many groups on they are pruned, whenever their number has doubled; early in tests, so that they get there.
const PRUNED_FROM: usize = if cfg!(test) { 2 } else { 8 };

impl Cell {
    /// Checks a read against earlier writes, and remembers it.
    #[inline]
    pub(super) fn read(&mut self, by: &Accessor<'_>, now: &Access) -> Option<(ConflictKind, Access)> {
        // Within one event of a thread nothing it has not seen can have been written, but for a race that was found.
        // Others work for several threads, which have not all seen the same.
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
    /// The first of the accesses that conflicts with one that happens now.
    #[inline]
    fn conflict(&self, by: &Accessor<'_>, now: &Access) -> Option<(ConflictKind, Access)> {
        match self {
            Self::Never => None,
            Self::One(past) => by.conflict(past, now).map(|kind| (kind, *past)),
            Self::Many(groups) => groups.iter().find_map(|group| group.conflict(by, now)),
        }
    }

    /// Drops what need not be remembered beside a write that happens now: what it makes needless, and what it
    /// conflicts with, as that is reported now.
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
            // Strong accesses that meet are left to `prune`, or each of n would look at all the others.
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

    /// Remembers an access besides the others.
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

/// Drops what an access that happens now, or a later one of the same agent, makes needless.
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

    /// Adds an access if it differs in nothing but the agent.
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

    /// Whether the other holds later accesses of the same kind by some of the same agents.
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

    /// Keeps the accesses for which that holds.
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
