//! Accesses, and when two of them conflict.
//!
//! The rules are those of the PTX ISA 8.6, "Memory Consistency Model":
//! - two accesses of one byte, one of them a write, race unless one happens before the other;
//! - unless both are strong and by the same proxy (morally strong);
//! - the async proxy sees a write of the generic proxy only if a proxy fence lies between them ("Proxies"); where the
//!   generic proxy only read, order alone is enough, as no value has to become visible;
//! - a thread that has waited for the completion of a copy sees what the async proxy did, as completion implies the
//!   fence;
//! - `ld.global.nc` promises that its memory is not written while the kernel runs, so no order helps.

use super::clock::{Agent, Clock, Event};
use crate::program::SiteId;

/// An access that happens now, and the agent and thread that make it.
#[derive(Clone, Copy, Debug)]
pub struct Accessor<'a> {
    /// The event that the access belongs to, of the thread or of the asynchronous agent that works for it. A later
    /// access is ordered after this one if its clock contains the event.
    pub event: Event,
    /// The thread that issues the access, an agent of the same cluster. Everything that it did before happens before
    /// the access.
    pub issuer: Agent,
    /// The issuer's clock.
    pub clock: &'a Clock,
    /// The proxy of the access.
    pub proxy: Proxy<'a>,
    /// The instruction.
    pub site: SiteId,
    /// Whether it is strong: atomic, relaxed or stronger, volatile.
    pub strong: bool,
    /// For a strong access: the issuer's CTA by its rank in the cluster, and whether the scope is that CTA alone.
    pub cta: (u8, bool),
    /// Whether it is a load that promises constant memory (`.nc`).
    pub invariant: bool,
}

/// The proxy through which an access reaches memory.
#[derive(Clone, Copy, Debug)]
pub enum Proxy<'a> {
    /// The proxy of loads, stores, atomics and `cp.async`.
    Generic,
    /// The proxy of bulk and tensor copies.
    Async {
        /// The part of the issuer's clock that lies behind a proxy fence: the events that happen before some proxy
        /// fence that happens before the copy.
        fenced: &'a Clock,
    },
}

/// An earlier access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    /// Who, and when.
    pub event: Event,
    /// The instruction.
    pub site: SiteId,
    /// What it did.
    pub what: What,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic read, modify and write.
    Atomic,
    /// A read by the async proxy.
    AsyncRead,
    /// A write by the async proxy.
    AsyncWrite,
}

/// Two accesses that conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What is wrong.
    pub kind: ConflictKind,
    /// The earlier one.
    pub other: Past,
    /// The first byte that both touch.
    pub offset: usize,
    /// The number of bytes from there on that both touch.
    pub bytes: usize,
}

/// What is wrong with two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// Nothing orders them.
    Race,
    /// They are ordered, but the async proxy need not see what the generic one wrote.
    MissingProxyFence,
    /// One is a load that promised constant memory, the other a write.
    InvariantLoad,
}

/// An access as the shadow remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) event: Event,
    pub(super) site: SiteId,
    pub(super) what: What,
    pub(super) class: Class,
    /// For a strong access: its CTA, and whether its scope is that CTA alone.
    pub(super) cta: (u8, bool),
}

/// How easily an access conflicts with a write, in ascending order: each class conflicts with all that the one before
/// it conflicts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Conflicts with unordered writes that are not strong.
    Strong,
    /// Conflicts with unordered writes.
    Weak,
    /// Conflicts with all writes, ordered or not.
    Invariant,
}

impl What {
    /// Whether the access changes memory.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::AsyncRead)
    }

    /// Whether it is by the async proxy.
    pub fn is_async(self) -> bool {
        matches!(self, Self::AsyncRead | Self::AsyncWrite)
    }
}

impl Accessor<'_> {
    /// Whether the event happened before this access.
    #[inline]
    pub(super) fn follows(&self, past: Event) -> bool {
        (past.agent == self.issuer && past.cluster == self.event.cluster) || self.clock.knows(past)
    }

    /// This access, in the form that is remembered.
    #[inline]
    pub(super) fn access(&self, what: What) -> Access {
        let what = match (self.proxy, what) {
            (Proxy::Async { .. }, What::Read) => What::AsyncRead,
            (Proxy::Async { .. }, What::Write | What::Atomic) => What::AsyncWrite,
            _ => what,
        };
        Access {
            event: self.event,
            site: self.site,
            what,
            cta: if self.strong { self.cta } else { (0, false) },
            class: match (self.invariant, self.strong) {
                (true, _) => Class::Invariant,
                (false, true) => Class::Strong,
                (false, false) => Class::Weak,
            },
        }
    }

    /// The kind of conflict between an earlier access and this one (`now`), if there is any; one of the two must write.
    #[inline]
    pub(super) fn conflict(&self, past: &Access, now: &Access) -> Option<ConflictKind> {
        if past.class == Class::Invariant || now.class == Class::Invariant {
            return Some(ConflictKind::InvariantLoad);
        }
        if past.is_morally_strong_with(now) {
            return None;
        }
        if let Proxy::Async { fenced } = self.proxy
            && past.what.writes()
            && !past.what.is_async()
            && !fenced.knows(past.event)
        {
            return Some(if self.follows(past.event) {
                ConflictKind::MissingProxyFence
            } else {
                ConflictKind::Race
            });
        }
        (!self.follows(past.event)).then_some(ConflictKind::Race)
    }

    /// Whether the earlier access can be forgotten once this one (`now`) is remembered, as whatever conflicts with it
    /// from now on also conflicts with this one.
    #[inline]
    pub(super) fn supersedes(&self, past: &Access, now: &Access) -> bool {
        let easier = past.class <= now.class
            && (now.class != Class::Strong
                || (past.what.is_async() == now.what.is_async()
                    && (past.cta == now.cta || !(past.cta.1 || now.cta.1))));
        easier && self.follows(past.event)
    }
}

impl Access {
    /// Whether both are strong, have scopes that include the other's thread, and use the same proxy, so that they may
    /// be unordered without racing (PTX ISA, "Morally Strong Operations").
    #[inline]
    pub(super) fn is_morally_strong_with(&self, other: &Self) -> bool {
        self.class == Class::Strong
            && other.class == Class::Strong
            && self.what.is_async() == other.what.is_async()
            && (!(self.cta.1 || other.cta.1)
                || (self.event.cluster == other.event.cluster && self.cta.0 == other.cta.0))
    }

    pub(super) fn past(&self) -> Past {
        Past {
            event: self.event,
            site: self.site,
            what: self.what,
        }
    }
}
