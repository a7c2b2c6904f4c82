//! Threads that synchronize and access one shadow, for tests.

use std::ops::Range;

use super::{Accessor, Agent, Clock, Conflict, Event, Proxy, Shadow};

/// The distance between the agents of consecutive threads, so that some share a warp and some do not.
pub(super) const STRIDE: usize = 12;

/// Threads of one or two clusters.
#[derive(Clone)]
pub(super) struct Threads {
    pub(super) shadow: Shadow,
    threads: Vec<Seen>,
    /// What was released at each of some places.
    places: Vec<Seen>,
    per_cluster: usize,
    next_copy: Agent,
}

/// What an agent or a place has seen, and which part of that lies behind a proxy fence.
#[derive(Clone)]
struct Seen {
    event: Event,
    clock: Clock,
    fenced: Clock,
}

/// A copy under way.
#[derive(Clone)]
pub(super) struct Copy {
    seen: Seen,
    pub(super) event: Event,
}

/// The properties of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) kind: Kind,
    pub(super) strong: bool,
    pub(super) invariant: bool,
    pub(super) site: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Read,
    Write,
    Atomic,
}

impl Seen {
    fn new(cluster: usize, agent: usize) -> Self {
        let cluster = cluster as u32;
        Self {
            event: Event {
                cluster,
                agent: agent as Agent,
                time: 1,
            },
            clock: Clock::new(cluster),
            fenced: Clock::new(cluster),
        }
    }

    fn join(&mut self, other: &Self) {
        self.clock.join(&other.clock);
        self.fenced.join(&other.fenced);
    }
}

impl Threads {
    pub(super) fn new(threads: usize, per_cluster: usize) -> Self {
        Self {
            shadow: Shadow::new(1024),
            threads: (0..threads)
                .map(|thread| Seen::new(thread / per_cluster, thread % per_cluster * STRIDE))
                .collect(),
            places: vec![Seen::new(0, 0); 4],
            per_cluster,
            next_copy: 1000,
        }
    }

    pub(super) fn event(&self, thread: usize) -> Event {
        self.threads[thread].event
    }

    pub(super) fn access(&mut self, thread: usize, range: Range<usize>, access: Access) -> Option<Conflict> {
        let seen = &self.threads[thread];
        let by = accessor(seen, seen.event, Proxy::Generic, access);
        perform(&mut self.shadow, range, &by, access.kind)
    }

    pub(super) fn issue(
        &mut self,
        thread: usize,
        range: Range<usize>,
        access: Access,
    ) -> (Copy, Option<Conflict>) {
        let event = Event {
            agent: self.next_copy,
            time: 1,
            ..self.threads[thread].event
        };
        self.next_copy += 1;
        self.issue_as(event, thread, range, access)
    }

    /// Issues a copy by an agent that may work for several threads.
    pub(super) fn issue_as(
        &mut self,
        event: Event,
        thread: usize,
        range: Range<usize>,
        access: Access,
    ) -> (Copy, Option<Conflict>) {
        let mut seen = self.threads[thread].clone();
        let by = accessor(&seen, event, Proxy::Async { fenced: &seen.fenced }, access);
        let conflict = perform(&mut self.shadow, range, &by, access.kind);
        seen.clock.record(seen.event);
        seen.clock.record(event);
        self.tick(thread);
        (Copy { seen, event }, conflict)
    }

    pub(super) fn complete(&mut self, thread: usize, copy: &Copy) {
        self.threads[thread].join(&copy.seen);
    }

    pub(super) fn release(&mut self, thread: usize, place: usize) {
        let seen = &self.threads[thread];
        self.places[place].join(seen);
        self.places[place].clock.record(seen.event);
        self.tick(thread);
    }

    pub(super) fn acquire(&mut self, thread: usize, place: usize) {
        self.threads[thread].join(&self.places[place]);
    }

    pub(super) fn fence(&mut self, thread: usize) {
        let seen = &mut self.threads[thread];
        seen.fenced.join(&seen.clock);
        seen.fenced.record(seen.event);
        self.tick(thread);
    }

    pub(super) fn barrier(&mut self, cluster: usize) {
        let first = cluster * self.per_cluster;
        let members = first..first + self.per_cluster;
        let clock = Clock::join_all(
            self.threads[members.clone()]
                .iter()
                .map(|seen| (&seen.clock, seen.event)),
        );
        let mut fenced = Clock::new(cluster as u32);
        for seen in &self.threads[members.clone()] {
            fenced.join(&seen.fenced);
        }
        for thread in members {
            self.threads[thread].clock = clock.clone().unwrap_or_else(|| Clock::new(cluster as u32));
            self.threads[thread].fenced = fenced.clone();
            self.tick(thread);
        }
    }

    /// Advances the thread's time, so that its later accesses are not part of what it released.
    fn tick(&mut self, thread: usize) {
        self.threads[thread].event.time += 1;
    }
}

fn accessor<'a>(seen: &'a Seen, event: Event, proxy: Proxy<'a>, access: Access) -> Accessor<'a> {
    Accessor {
        event,
        issuer: seen.event.agent,
        clock: &seen.clock,
        proxy,
        site: access.site,
        strong: access.strong,
        cta: (0, false),
        invariant: access.invariant,
    }
}

fn perform(shadow: &mut Shadow, range: Range<usize>, by: &Accessor<'_>, kind: Kind) -> Option<Conflict> {
    match kind {
        Kind::Read => shadow.read(range, by),
        Kind::Write => shadow.write(range, by),
        Kind::Atomic => shadow.atomic(range, by),
    }
}
