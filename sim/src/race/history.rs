//! The accesses of a cell that a later one may conflict with.
//!
//! Of one kind (reads or writes) mostly one access matters, the last, which the others happened before. More are kept
//! where agents read without order among them, or strong accesses meet; then one for each agent and class.

use std::collections::BTreeMap;

use super::access::{Access, Accessor, Class, ConflictKind};
use super::clock::Agent;

/// Accesses of one kind, of which none makes another needless.
#[derive(Clone, Debug, Default)]
pub(super) enum History {
    /// None.
    #[default]
    Never,
    /// One.
    One(Access),
    /// Several, by who made them.
    Many(BTreeMap<Key, Access>),
}

/// Of accesses of equal keys the last is enough: who has seen it has seen the others.
type Key = (u32, Agent, Class, bool);

fn key(access: &Access) -> Key {
    (
        access.event.cluster,
        access.event.agent,
        access.class,
        access.what.is_async(),
    )
}

/// What a cell remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    reads: History,
    writes: History,
}

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
        self.reads.remember(by, now);
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
        self.writes.forget(by, now);
        self.writes.add(*now);
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
            Self::Many(all) => all
                .values()
                .find_map(|past| by.conflict(past, now).map(|kind| (kind, *past))),
        }
    }

    /// Adds a read. Earlier ones that it makes needless go where they are found at once.
    #[inline]
    fn remember(&mut self, by: &Accessor<'_>, now: &Access) {
        match self {
            Self::Never => *self = Self::One(*now),
            Self::One(past) if by.supersedes(past, now) => *past = *now,
            _ => self.add(*now),
        }
    }

    /// Drops what need not be remembered beside a write that happens now: what it makes needless, and what it
    /// conflicts with, as that is reported now.
    #[inline]
    fn forget(&mut self, by: &Accessor<'_>, now: &Access) {
        let needless = |past: &Access| by.supersedes(past, now) || by.conflict(past, now).is_some();
        match self {
            Self::Never => {}
            Self::One(past) => {
                if needless(past) {
                    *self = Self::Never;
                }
            }
            Self::Many(all) => {
                all.retain(|_, past| !needless(past));
                if all.is_empty() {
                    *self = Self::Never;
                }
            }
        }
    }

    #[inline]
    fn add(&mut self, now: Access) {
        match self {
            Self::Never => *self = Self::One(now),
            Self::One(past) => {
                let all = [*past, now].into_iter().map(|access| (key(&access), access));
                *self = Self::Many(all.collect());
            }
            Self::Many(all) => {
                all.insert(key(&now), now);
            }
        }
    }
}
