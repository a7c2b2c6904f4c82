//! A cluster of CTAs: shared memories, warps, barriers, mbarriers, and copies under way.

use std::collections::HashMap;

use super::copies::Copy;
use super::thread::{Knowledge, Thread};
use super::warp::Warp;
use crate::mbarrier::Mbarriers;
use crate::memory::SharedMemory;
use crate::program::SiteId;
use crate::race::{Agent, Clock, Event, Time};

/// The number of barriers of a CTA.
pub(crate) const BARRIERS: u32 = norma_targets::CTA_BARRIERS as u32;

/// One cluster.
pub(crate) struct Cluster {
    /// Its number in the grid.
    pub id: u64,
    /// Its number, as in [`Event::cluster`].
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

/// Identifies an agent that makes accesses on behalf of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AgentKey {
    /// Copies that complete on the mbarrier at an offset of a CTA; the time is the mbarrier's phase, from 1.
    Mbarrier {
        cta: u32,
        offset: u32,
    },
    /// The reads of a thread's bulk groups, and apart from them ([`Self::BulkWrites`]) their writes; the time says
    /// which group.
    BulkReads(u32),
    BulkWrites(u32),
    /// A thread's `cp.async` copies.
    SmallCopies(u32),
    /// A thread's strong operations; the time counts them. They have an agent of their own because a relaxed operation
    /// releases itself and what precedes the last fence, but no accesses between that fence and itself.
    Strong(u32),
    /// The kernels ahead in the stream; the time is 1.
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
    /// The number of phases that invalidated mbarriers at an offset had, by offset.
    pub ended_phases: HashMap<u32, u32>,
    /// For each agent, its last access to this CTA's shared memory that was made by another CTA, or that completes in
    /// one: its time, the instruction that issued it, and the thread.
    pub visits: HashMap<Agent, (Time, SiteId, u32)>,
    /// The joined clocks of its threads that have ended; kept only if the cluster has other CTAs.
    pub ended: Clock,
    /// Registers that warps have given up by `setmaxnreg`.
    pub free_registers: i64,
    pub warp_instructions: u64,
}

/// A barrier of a CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// The number of threads that must arrive, as the first arrival said; absent for all that have not ended.
    pub expected: Option<u32>,
    /// Lanes that have arrived, by warp.
    pub arrived: Vec<u32>,
    /// What each arrival releases.
    pub told: Vec<(Knowledge, Event)>,
    /// Threads that wait for the end, by their index in the cluster.
    pub waiting: Vec<u32>,
    /// The number of threads whose predicate is set, for `barrier.red`.
    pub set: u32,
    /// Where the first arrival was.
    pub site: SiteId,
    /// The groups of threads that wait, each with its kind of barrier, which says where a reduction's result goes.
    pub results: Vec<BarrierResult>,
}

/// A group of threads that waits at a barrier, maybe for the result of a reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierResult {
    pub warp: usize,
    pub mask: u32,
    pub kind: crate::program::BarrierKind,
}

/// The barrier of all threads of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// The number of times that it has completed.
    pub generation: u64,
    pub told: Vec<(Knowledge, Option<Event>)>,
    /// What the arrivals of the last completed generation released.
    pub last: Option<Knowledge>,
    /// Whether each thread has arrived without having waited since.
    pub pending: Vec<bool>,
    /// The generation that each thread's last arrival belongs to.
    pub arrival: Vec<u64>,
}

/// What the phases of an mbarrier pass on from those that arrive to those that wait.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    pub agent: Agent,
    /// The number of phases of earlier mbarriers at the same place.
    pub earlier: u32,
    /// What the arrivals of the current phase have released.
    pub told: Knowledge,
    /// What all completed phases pass on.
    pub passed: Knowledge,
    /// Copies that complete on a phase that nobody has waited for yet: (phase, the instruction that issued it, the
    /// thread).
    pub copies: Vec<(u64, SiteId, u32)>,
    /// Whether copies took part in the phase that completed last.
    pub brought: bool,
}

impl Cluster {
    /// The agent of a key, created at its first use.
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
