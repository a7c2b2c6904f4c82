//! Accesses, and when two of them conflict.
//!
//! The rules are those of the PTX ISA 8.6, "Memory Consistency Model":
//! - two accesses of one byte, one of them a write, race unless one happens before the other;
//! - unless both are strong and by the same proxy (morally strong);
//! - what the generic proxy wrote, the async proxy sees only past a proxy fence on the way from one to the other
//!   ("Proxies"); for memory that was only read, being ordered is enough, as there is nothing to see;
//! - what the async proxy did is seen by whoever waited for its completion, which contains the fence;
//! - `ld.global.nc` promises that its memory is not written while the kernel runs, so no order helps.

use super::clock::{Agent, Clock, Event};
use crate::program::SiteId;

/// Who accesses memory now.
#[derive(Clone, Copy, Debug)]
pub struct Accessor<'a> {
    /// What others must have seen to come after this access: of the thread, or of the asynchronous agent that works for
    /// it.
    pub event: Event,
    /// The thread that issues the access, an agent of the same cluster. All it did before is before the access.
    pub issuer: Agent,
    /// What the issuer has seen.
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

/// The way an access takes to memory.
#[derive(Clone, Copy, Debug)]
pub enum Proxy<'a> {
    /// That of loads, stores, atomics and `cp.async`.
    Generic,
    /// That of bulk and tensor copies.
    Async {
        /// What the issuer has seen that is behind a proxy fence: the events before a fence that is before the copy.
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

/// Two accesses that must not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What is wrong.
    pub kind: ConflictKind,
    /// The earlier one.
    pub other: Past,
    /// The first byte that both touch.
    pub offset: usize,
    /// How many from there on.
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

/// An access as it is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) event: Event,
    pub(super) site: SiteId,
    pub(super) what: What,
    pub(super) class: Class,
    /// For a strong access: its CTA, and whether its scope is that CTA alone.
    pub(super) cta: (u8, bool),
}

/// How easily an access conflicts with a write: each does where the one before it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Not with strong ones.
    Strong,
    /// With those that are not ordered.
    Weak,
    /// With all.
    Invariant,
}

impl What {
    /// Whether memory changes.
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

    /// This access, to be remembered.
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

    /// What is wrong between an earlier access and this one (`now`), given that one of them writes.
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
    /// Whether both are strong, of scopes that hold the other's thread, and by one proxy, so that they may meet
    /// unordered (PTX ISA, "Morally Strong Operations").
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
