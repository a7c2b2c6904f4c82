//! Resolves addresses to memory, and checks accesses as far as that needs no look at memory itself.

use super::cluster::AgentKey;
use super::report::Problem;
use super::step::Step;
use super::{At, Machine};
use crate::address::{self, BUFFER_BITS, Place};
use crate::finding::FindingKind;
use crate::memory::{BufferAccess, Fault};
use crate::program::{Guard, Space};
use crate::race::Event;

/// The memory that an address lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A global buffer.
    Buffer(usize),
    /// Shared memory of a CTA of the cluster, by its rank.
    Shared(usize),
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub target: Target,
    /// Bytes from the start of it; negative if before.
    pub offset: i64,
}

impl Machine<'_> {
    /// The lanes that take part in a guarded instruction.
    pub(super) fn guarded(&self, step: Step, guard: Option<Guard>) -> u32 {
        match guard {
            None => step.mask,
            Some(Guard { register, negated }) => {
                self.lanes_where(step, |warp, lane| (warp.lane(register, lane) & 1 != 0) != negated)
            }
        }
    }

    /// Resolves an address to a place in memory; the error says why there is none.
    pub(super) fn locate_address(&self, at: At, space: Space, address: u64) -> Result<Spot, String> {
        let place = match space {
            Space::Global | Space::Constant => address::global(address),
            Space::Shared | Space::Cluster => address::shared(address),
            Space::Generic => address::generic(address),
            Space::Parameter | Space::Local => Place::Nowhere,
        };
        match place {
            Place::Global { buffer, offset } if buffer < self.memory.len() => Ok(Spot {
                target: Target::Buffer(buffer),
                offset: offset.wrapping_sub(
                    self.memory
                        .address(buffer)
                        .wrapping_sub((buffer as u64 + 1) << BUFFER_BITS) as i64,
                ),
            }),
            Place::Shared { rank, offset } => {
                let rank = rank.map_or(at.cta, |rank| rank as usize);
                if rank >= self.clusters[at.cluster].ctas.len() {
                    return Err(format!(
                        "names CTA {rank} of a cluster of {}",
                        self.clusters[at.cluster].ctas.len()
                    ));
                }
                if space == Space::Shared && rank != at.cta {
                    return Err("takes an address of another CTA for one of its own shared memory".to_owned());
                }
                Ok(Spot {
                    target: Target::Shared(rank),
                    offset: offset as i64,
                })
            }
            _ => Err(format!(
                "uses address {address:#x}, which is of no memory that it may access"
            )),
        }
    }

    /// The place of a lane's access. Reports a finding if there is none, or if it is misaligned; `turn` is of that lane
    /// alone.
    pub(super) fn aligned_spot(
        &mut self,
        step: Step,
        space: Space,
        address: u64,
        bytes: usize,
        align: usize,
    ) -> Option<Spot> {
        let spot = match self.locate_address(step.at, space, address) {
            Ok(spot) => spot,
            Err(message) => {
                self.find(FindingKind::OutOfBounds, step, None, message, Vec::new());
                return None;
            }
        };
        if !address.is_multiple_of(align.max(1) as u64) {
            let message = format!("needs an address that is a multiple of {align} bytes");
            self.find_at(FindingKind::Misaligned, step, spot, bytes, message, Vec::new());
        }
        Some(spot)
    }

    /// Records an access if it is to another CTA's shared memory.
    #[inline]
    pub(super) fn note_if_visit(&mut self, step: Step, spot: Spot, event: Event) {
        if let Target::Shared(rank) = spot.target
            && rank != step.at.cta
        {
            self.note_visit(step, rank, event);
        }
    }

    /// Checks an access to data for problems that depend neither on the contents of memory nor on earlier accesses.
    pub(super) fn precheck(
        &mut self,
        step: Step,
        thread: usize,
        spot: Spot,
        bytes: usize,
        writes: bool,
    ) -> Option<Problem> {
        let problem = self.precheck_place(step, thread, spot, bytes, writes);
        let Target::Shared(rank) = spot.target else {
            return problem;
        };
        problem.or_else(|| {
            // Only mbarrier operations may access an mbarrier (PTX ISA, "mbarrier").
            let mbarriers = &self.clusters[step.at.cluster].ctas[rank].mbarriers;
            mbarriers
                .within(spot.offset as u64, bytes as u64)
                .map(|_| Problem::OfMbarrier)
        })
    }

    /// As [`Self::precheck`], for an access to data or to an mbarrier.
    pub(super) fn precheck_place(
        &mut self,
        step: Step,
        thread: usize,
        spot: Spot,
        bytes: usize,
        writes: bool,
    ) -> Option<Problem> {
        if let Target::Shared(rank) = spot.target
            && !self.clusters[step.at.cluster].ctas[rank]
                .shared
                .contains(spot.offset, bytes)
        {
            return Some(Problem::Fault(Fault::OutOfBounds));
        }
        match spot.target {
            Target::Buffer(buffer) => {
                if writes && self.memory.access(buffer) == BufferAccess::Input {
                    return Some(Problem::WriteToInput);
                }
                if !self.launch.programmatic || !(writes || self.memory.pending(buffer)) {
                    return None;
                }
                let cluster = &mut self.clusters[step.at.cluster];
                let waited = cluster.event(AgentKey::Predecessors, 1);
                let knows = cluster.threads[thread].knowledge.seen.knows(waited);
                (!knows).then_some(Problem::BeforeGridDependency { writes })
            }
            Target::Shared(rank) if rank != step.at.cta => {
                let cluster = &self.clusters[step.at.cluster];
                if !cluster.threads[thread].cluster_started {
                    return Some(Problem::BeforeClusterStart);
                }
                cluster.ctas[rank].has_exited().then_some(Problem::AfterExit)
            }
            Target::Shared(_) => None,
        }
    }
}
