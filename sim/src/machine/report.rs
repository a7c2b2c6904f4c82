//! Findings in words: who, where, which bytes, and what else took part.

use super::Machine;
use super::access::{Spot, Target};
use super::cluster::AgentKey;
use super::step::Step;
use super::warp::LANES;
use crate::finding::{Finding, FindingKind, MemoryPlace, Note, ThreadPlace};
use crate::mbarrier::MBARRIER_BYTES;
use crate::memory::Fault;
use crate::program::{SiteId, Space};
use crate::race::{Conflict, ConflictKind, Event, What};

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Problem {
    Fault(Fault),
    WriteToInput,
    /// It reads what kernels ahead in the stream write, or writes what they may still read.
    BeforeGridDependency {
        writes: bool,
    },
    /// It reads what kernels ahead in the stream write by a load that promised constant memory.
    InvariantAcrossGridDependency,
    /// It accesses another CTA that may not run yet.
    BeforeClusterStart,
    /// It accesses another CTA that has ended.
    AfterExit,
    /// It accesses the memory of an mbarrier as data.
    OfMbarrier,
}

impl Machine<'_> {
    /// The site of a turn's instruction.
    pub(super) fn site(&self, step: Step) -> SiteId {
        self.kernel
            .sites
            .get(step.pc as usize)
            .copied()
            .unwrap_or_default()
    }

    /// A note that names a second instruction.
    pub(super) fn note(&self, site: SiteId, message: &str) -> Note {
        Note {
            site: self.sites.get(site as usize).cloned(),
            message: message.to_owned(),
        }
    }

    /// Reports a finding about the first thread of a turn.
    pub(super) fn find(
        &mut self,
        kind: FindingKind,
        step: Step,
        memory: Option<MemoryPlace>,
        message: String,
        notes: Vec<Note>,
    ) {
        let lane = step.mask.trailing_zeros().min(LANES as u32 - 1) as usize;
        let thread = self.thread_index(step.at, lane);
        self.find_of(
            kind,
            self.site(step),
            (step.at.cluster, thread),
            memory,
            message,
            notes,
        );
    }

    /// Reports a finding about a thread of a resident cluster.
    pub(super) fn find_of(
        &mut self,
        kind: FindingKind,
        site: SiteId,
        (cluster, thread): (usize, usize),
        memory: Option<MemoryPlace>,
        message: String,
        notes: Vec<Note>,
    ) {
        if self.findings.repeat(kind, site) {
            return;
        }
        let thread = self.thread_place(self.clusters[cluster].id, thread as u32);
        let finding = Finding {
            kind,
            site: self.sites.get(site as usize).cloned().unwrap_or_default(),
            thread,
            memory,
            message,
            notes,
            repeats: 0,
        };
        self.findings.add(site, finding);
    }

    /// Reports a finding about an access.
    pub(super) fn find_at(
        &mut self,
        kind: FindingKind,
        step: Step,
        spot: Spot,
        bytes: usize,
        message: String,
        notes: Vec<Note>,
    ) {
        let place = self.memory_place(step.at.cluster, spot, bytes);
        self.find(kind, step, Some(place), message, notes);
    }

    pub(super) fn memory_place(&self, cluster: usize, spot: Spot, bytes: usize) -> MemoryPlace {
        match spot.target {
            Target::Buffer(buffer) => MemoryPlace {
                space: Space::Global,
                name: format!("'{}'", self.memory.name(buffer)),
                offset: spot.offset,
                bytes: bytes as u32,
            },
            Target::Shared(rank) => {
                let cluster = &self.clusters[cluster];
                let place = cluster.ctas[rank].shared.place(spot.offset as u64, bytes);
                let of = match cluster.ctas.len() {
                    1 => String::new(),
                    _ => format!(" of CTA {rank} of the cluster"),
                };
                MemoryPlace {
                    name: format!("shared memory '{}'{of}", place.name),
                    ..place
                }
            }
        }
    }

    /// Reports what is wrong with an access of the first thread of a turn.
    pub(super) fn report(&mut self, step: Step, spot: Spot, bytes: usize, problem: Problem) {
        let (kind, message, notes) = self.describe(problem);
        self.find_at(kind, step, spot, bytes, message, notes);
    }

    /// A problem in words.
    pub(super) fn describe(&self, problem: Problem) -> (FindingKind, String, Vec<Note>) {
        let plain = |kind, message: &str| (kind, message.to_owned(), Vec::new());
        match problem {
            Problem::WriteToInput => plain(FindingKind::WriteToInput, "writes to a buffer that is only read"),
            Problem::BeforeGridDependency { writes: false } => plain(
                FindingKind::GridDependency,
                "reads what kernels ahead in the stream write, before griddepcontrol.wait",
            ),
            Problem::BeforeGridDependency { writes: true } => plain(
                FindingKind::GridDependency,
                "writes what kernels ahead in the stream may still read, before griddepcontrol.wait",
            ),
            Problem::InvariantAcrossGridDependency => plain(
                FindingKind::GridDependency,
                "reads what kernels ahead in the stream write by a load that promises constant memory, which ptxas may \
                 move above griddepcontrol.wait",
            ),
            Problem::BeforeClusterStart => plain(
                FindingKind::EarlyExit,
                "accesses another CTA before a barrier of the cluster has shown that it runs",
            ),
            Problem::OfMbarrier => plain(
                FindingKind::Mbarrier,
                "accesses an mbarrier by other than its own operations",
            ),
            Problem::AfterExit => plain(
                FindingKind::EarlyExit,
                "accesses shared memory of a CTA that has ended",
            ),
            Problem::Fault(Fault::OutOfBounds) => {
                plain(FindingKind::OutOfBounds, "accesses memory out of bounds")
            }
            Problem::Fault(Fault::Uninitialized { .. }) => {
                plain(FindingKind::Uninitialized, "reads memory that nobody wrote")
            }
            Problem::Fault(Fault::Conflict(Conflict { kind, other, .. })) => {
                let who = self.describe_event(other.event);
                let did = match other.what {
                    What::Read => "read it",
                    What::Write => "wrote it",
                    What::Atomic => "updated it",
                    What::AsyncRead => "reads it asynchronously",
                    What::AsyncWrite => "writes it asynchronously",
                };
                let note = |message: String| vec![self.note(other.site, &message)];
                match kind {
                    ConflictKind::Race => (
                        FindingKind::DataRace,
                        "accesses memory that nothing orders with another access".to_owned(),
                        note(format!("{did}, {who}")),
                    ),
                    ConflictKind::MissingProxyFence => (
                        FindingKind::MissingProxyFence,
                        "accesses by the async proxy what the generic proxy wrote, without fence.proxy.async between"
                            .to_owned(),
                        note(format!("{did}, {who}")),
                    ),
                    ConflictKind::InvariantLoad => (
                        FindingKind::InvariantLoad,
                        "shares memory that is written with a load that promised it is not".to_owned(),
                        note(format!("{did}, {who}")),
                    ),
                }
            }
        }
    }

    /// Describes who made an access. If it was on behalf of a thread of a cluster that is not resident any more, only
    /// that cluster is known.
    pub(super) fn describe_event(&self, event: Event) -> String {
        let ctas = self.launch.cluster.iter().product::<u32>();
        let place = |thread: u32| self.thread_place(u64::from(event.cluster), thread);
        if event.agent < self.block_threads() * ctas {
            return format!("by {}", place(event.agent));
        }
        let cluster = self.clusters.iter().find(|cluster| cluster.tag == event.cluster);
        let key = cluster.and_then(|cluster| {
            let mut keys = cluster.agents.iter();
            let (key, _) = keys.find(|(_, agent)| **agent == event.agent)?;
            Some((cluster, *key))
        });
        match key {
            Some((cluster, AgentKey::Mbarrier { cta, offset })) => {
                let cta = &cluster.ctas[cta as usize];
                let place = cta.shared.place(u64::from(offset), MBARRIER_BYTES);
                let place = format!("'{}'{:+}", place.name, place.offset);
                let mut mbarriers = cta.mbarriers.iter();
                let there = mbarriers.find(|(other, ..)| *other == u64::from(offset));
                // The time counts the phases of earlier mbarriers at that place, too.
                match there.and_then(|(_, _, phases)| event.time.checked_sub(phases.earlier + 1)) {
                    Some(phase) => {
                        format!("for a copy that completes on the mbarrier at {place}, phase {phase}")
                    }
                    None => format!("for a copy that completed on an earlier mbarrier at {place}"),
                }
            }
            Some((_, AgentKey::BulkReads(thread) | AgentKey::BulkWrites(thread))) => {
                format!("for bulk group {} of {}", event.time - 1, place(thread))
            }
            Some((_, AgentKey::Strong(thread))) => format!("by {}", place(thread)),
            Some((_, AgentKey::SmallCopies(thread))) => format!("for a cp.async of {}", place(thread)),
            Some((_, AgentKey::Predecessors)) | None => {
                let [x, y, z] = place(0).cta;
                match ctas {
                    1 => format!("by or for a thread of CTA ({x}, {y}, {z})"),
                    _ => format!("by or for a thread of the cluster that begins with CTA ({x}, {y}, {z})"),
                }
            }
        }
    }

    fn thread_place(&self, cluster: u64, thread: u32) -> ThreadPlace {
        let per_cta = self.block_threads();
        let [x, y, _] = self.launch.block;
        let linear = thread % per_cta;
        ThreadPlace {
            cta: self.cta_place(cluster, thread / per_cta),
            thread: [linear % x, linear / x % y, linear / x / y],
        }
    }
}
