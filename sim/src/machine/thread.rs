//! What a thread has seen, and the copies it has under way.

use super::copies::CopyGroups;
use super::mbarriers::MbarrierPlace;
use crate::program::SiteId;
use crate::race::{Agent, Clock, Event, Time};

/// The accesses that are ordered before what an agent does next.
#[derive(Clone, Debug)]
pub(crate) struct Knowledge {
    /// All accesses that happen before.
    pub seen: Clock,
    /// Those of them that a `fence.proxy.async` of shared memory follows.
    pub fenced_shared: Clock,
    /// Those of them that a `fence.proxy.async` of global memory follows.
    pub fenced_global: Clock,
    /// Those that a `fence.mbarrier_init` follows; it counts for initializations of mbarriers alone.
    pub initialized: Clock,
}

impl Knowledge {
    pub fn new(cluster: u32) -> Self {
        Self {
            seen: Clock::new(cluster),
            fenced_shared: Clock::new(cluster),
            fenced_global: Clock::new(cluster),
            initialized: Clock::new(cluster),
        }
    }

    pub fn join(&mut self, other: &Self) {
        self.seen.join(&other.seen);
        self.fenced_shared.join(&other.fenced_shared);
        self.fenced_global.join(&other.fenced_global);
        self.initialized.join(&other.initialized);
    }

    /// The joined knowledge of several agents, including the event of each at which it releases its own.
    pub fn join_all<'a>(cluster: u32, all: impl Iterator<Item = (&'a Self, Event)> + Clone) -> Self {
        let join = |part: fn(&'a Self) -> &'a Clock, tells: bool| {
            // An event at time 0 adds nothing.
            let event = |event: Event| match tells {
                true => event,
                false => Event { time: 0, ..event },
            };
            let parts = all.clone().map(|(knowledge, at)| (part(knowledge), event(at)));
            Clock::join_all(parts).unwrap_or_else(|| Clock::new(cluster))
        };
        Self {
            seen: join(|knowledge| &knowledge.seen, true),
            fenced_shared: join(|knowledge| &knowledge.fenced_shared, false),
            fenced_global: join(|knowledge| &knowledge.fenced_global, false),
            initialized: join(|knowledge| &knowledge.initialized, false),
        }
    }
}

/// Knowledge that is passed on, by the scope of the operation that passes it on.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByScope {
    /// To threads of the same CTA: by an operation of CTA scope or wider.
    pub cta: Option<Knowledge>,
    /// To all threads: by an operation of a wider scope than the CTA.
    pub gpu: Option<Knowledge>,
}

impl ByScope {
    /// Passes on `told` at CTA scope alone (`is_cta`) or at all scopes.
    pub fn of(told: Knowledge, is_cta: bool) -> Self {
        Self {
            gpu: (!is_cta).then(|| told.clone()),
            cta: Some(told),
        }
    }
}

/// A thread's state that matters to the order of accesses.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub cluster: u32,
    pub agent: Agent,
    /// The time of its accesses from now on; it grows with each release, so that later accesses are not part of it.
    pub now: Time,
    /// The number of its strong operations so far.
    pub strong: Time,
    pub knowledge: Knowledge,
    /// What it knew at its last fences, which relaxed operations after them pass on.
    pub released: ByScope,
    /// What relaxed reads have observed, which the next fence acquires.
    pub met: ByScope,
    /// Whether it has passed a barrier of the cluster, so that all CTAs of the cluster are known to run.
    pub cluster_started: bool,
    /// Bulk copies, and copies of 4 to 16 bytes.
    pub bulk: CopyGroups,
    pub small: CopyGroups,
    /// Arrivals that wait for copies of 4 to 16 bytes.
    pub arrivals: Vec<Arrival>,
}

/// An arrival at an mbarrier once copies of a thread have landed (`cp.async.mbarrier.arrive`).
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub place: MbarrierPlace,
    /// The time up to which it waits for copies.
    pub time: Time,
    pub told: Knowledge,
    pub site: SiteId,
}

impl Thread {
    pub fn new(cluster: u32, agent: Agent) -> Self {
        Self {
            cluster,
            agent,
            now: 1,
            strong: 0,
            knowledge: Knowledge::new(cluster),
            released: ByScope::default(),
            met: ByScope::default(),
            cluster_started: false,
            bulk: CopyGroups::default(),
            small: CopyGroups::default(),
            arrivals: Vec::new(),
        }
    }

    /// The event that its accesses belong to now.
    pub fn event(&self) -> Event {
        Event {
            cluster: self.cluster,
            agent: self.agent,
            time: self.now,
        }
    }

    /// Releases everything up to now: returns the thread's knowledge, its own accesses included. What it does later is
    /// not part of that.
    pub fn tell(&mut self) -> Knowledge {
        let mut told = self.knowledge.clone();
        told.seen.record(self.event());
        self.now += 1;
        told
    }
}
