//! A cluster of CTAs: shared memories, warps, barriers, mbarriers, and copies under way.

use std::collections::HashMap;

use super::copies::Copy;
use super::thread::{Knowledge, Thread};
use super::warp::Warp;
use crate::mbarrier::Mbarriers;
use crate::memory::SharedMemory;
use crate::program::SiteId;
use crate::race::{Agent, Clock, Event, Time};

/// Barriers of a CTA.
pub(crate) const BARRIERS: u32 = 16;

/// One cluster.
pub(crate) struct Cluster {
    /// Its number in the grid.
    pub id: u64,
    /// Its number among clusters for [`Event::cluster`].
    pub tag: u32,
    pub ctas: Vec<Cta>,
    /// Threads of all CTAs, by rank and then thread.
    pub threads: Vec<Thread>,
    /// Agents beyond the threads.
    pub agents: HashMap<AgentKey, Agent>,
    pub barrier: ClusterBarrier,
    /// Copies that have not landed.
    pub copies: Vec<Copy>,
}

/// What makes accesses on behalf of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AgentKey {
    /// Copies that complete on the mbarrier at an offset of a CTA; their time is its phase, from 1.
    Mbarrier {
        cta: u32,
        offset: u32,
    },
    /// The reads, and the writes, of a thread's bulk groups; their time is the group.
    BulkReads(u32),
    BulkWrites(u32),
    /// A thread's `cp.async` groups.
    SmallCopies(u32),
    /// A thread's strong operations, counted. They are apart from its other accesses because what passes on a strong
    /// operation need not pass on those between it and the fence ahead of it.
    Strong(u32),
    /// The kernels ahead in the stream; their time is 1.
    Predecessors,
}

/// One CTA.
pub(crate) struct Cta {
    /// Coordinates in the grid.
    pub place: [u32; 3],
    /// Its rank in the cluster.
    pub rank: u32,
    pub shared: SharedMemory,
    pub warps: Vec<Warp>,
    pub barriers: Vec<Barrier>,
    pub mbarriers: Mbarriers<Phases>,
    /// Phases of the mbarriers at an offset that were invalidated.
    pub ended_phases: HashMap<u32, u32>,
    /// Accesses to its shared memory by other CTAs, or for them, the last of each agent: when, where it was issued, by
    /// which thread.
    pub visits: HashMap<Agent, (Time, SiteId, u32)>,
    /// What its threads that have ended had seen; kept where there are other CTAs.
    pub ended: Clock,
    /// Registers that no warp holds.
    pub free_registers: i64,
    pub warp_instructions: u64,
}

/// A barrier of a CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// Threads that must arrive, as the first arrival said; absent for all that have not ended.
    pub expected: Option<u32>,
    /// Lanes that have arrived, by warp.
    pub arrived: Vec<u32>,
    /// What each arrival told.
    pub told: Vec<(Knowledge, Event)>,
    /// Threads that wait for the end, by their index in the cluster.
    pub waiting: Vec<u32>,
    /// Threads whose predicate is set, for `barrier.red`.
    pub set: u32,
    /// Where the first arrival was.
    pub site: SiteId,
    /// Groups to go on at the end: (warp, where a reduction's result goes and what it is).
    pub results: Vec<BarrierResult>,
}

/// A reduction over a barrier whose result a group waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierResult {
    pub warp: usize,
    pub mask: u32,
    pub kind: crate::program::BarrierKind,
}

/// The barrier of all threads of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// Ends so far.
    pub generation: u64,
    pub told: Vec<(Knowledge, Option<Event>)>,
    /// What the arrivals of the last ended generation told.
    pub last: Option<Knowledge>,
    /// Whether each thread has arrived without having waited since.
    pub pending: Vec<bool>,
    /// The generation that each thread's last arrival belongs to.
    pub arrival: Vec<u64>,
}

/// What the phases of an mbarrier pass on.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    pub agent: Agent,
    /// Phases of earlier mbarriers at the same place.
    pub earlier: u32,
    /// What the arrivals of the current phase told.
    pub told: Knowledge,
    /// What completed phases passed on.
    pub passed: Knowledge,
    /// Copies of phases that nobody has waited for yet: (phase, where it was issued, by which thread).
    pub copies: Vec<(u64, SiteId, u32)>,
    /// Whether copies took part in the phase that completed last.
    pub brought: bool,
}

impl Cluster {
    /// The agent of a key, made at its first use.
    pub fn agent(&mut self, key: AgentKey) -> Agent {
        let next = (self.threads.len() + self.agents.len()) as Agent;
        *self.agents.entry(key).or_insert(next)
    }

    /// The event of a key's agent at a time.
    pub fn event(&mut self, key: AgentKey, time: u32) -> Event {
        Event {
            cluster: self.tag,
            agent: self.agent(key),
            time,
        }
    }

    pub fn is_done(&self) -> bool {
        self.copies.is_empty() && self.ctas.iter().all(Cta::has_exited)
    }
}

impl Cta {
    /// Whether all its threads have ended.
    pub fn has_exited(&self) -> bool {
        self.warps.iter().all(|warp| warp.live() == 0)
    }
}
