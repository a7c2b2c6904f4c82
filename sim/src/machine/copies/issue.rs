//! Instructions on asynchronous copies, and the parts of issuing one that all kinds of copies have in common.

use super::{Copy, Done, Move, Source};
use crate::copy::{CopyFault, CopyPlan};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::access::{Spot, Target};
use crate::machine::cluster::Cluster;
use crate::machine::mbarriers::MbarrierPlace;
use crate::machine::report::Problem;
use crate::machine::step::{Flow, Step};
use crate::machine::warp::{Warp, lanes};
use crate::memory::Fault;
use crate::program::{AtomicFormat, AtomicOp, Instruction, Register, Space};
use crate::race::{Accessor, Event, Proxy};

/// The access of a copy to memory at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Read,
    Write,
    /// A reduction: reads and writes.
    Update,
}

impl Machine<'_> {
    pub(in crate::machine) fn copy(&mut self, step: Step) -> Flow {
        let kernel = self.kernel;
        let instruction = &kernel.code[step.pc as usize];
        match instruction {
            Instruction::CopyAsyncWait { pending } => return self.wait_for_small_copies(step, *pending),
            Instruction::BulkWait { pending, read } => {
                return self.wait_for_bulk_copies(step, *pending, *read);
            }
            _ => {}
        }
        let mask = self.guarded(step, instruction.guard());
        if let Instruction::CopyAsync {
            from,
            bytes,
            source_bytes,
            ..
        } = instruction
            && self.options.traffic
        {
            let reads =
                |warp: &Warp, lane| source_bytes.is_none_or(|register| warp.lane(register, lane) as u32 != 0);
            let mask = mask & self.lanes_where(step, reads);
            let addresses = self.warp(step.at).registers[*from as usize];
            self.count_traffic(step, Space::Global, false, mask, &addresses, u32::from(*bytes));
        }
        for lane in lanes(mask) {
            let step = Step {
                mask: 1 << lane,
                ..step
            };
            let index = self.thread_index(step.at, lane);
            let thread = &mut self.clusters[step.at.cluster].threads[index];
            match instruction {
                Instruction::CopyAsyncCommit => thread.small.commit(),
                Instruction::BulkCommit => thread.bulk.commit(),
                Instruction::CopyAsync {
                    to,
                    from,
                    bytes,
                    source_bytes,
                    ..
                } => self.issue_small(step, lane, *to, *from, u64::from(*bytes), *source_bytes),
                Instruction::CopyAsyncArrive { address, counted } => {
                    self.arrive_behind(step, lane, *address, *counted)
                }
                Instruction::StoreAsync {
                    address,
                    from,
                    bytes,
                    mbarrier,
                    ..
                } => self.issue_store(step, lane, *address, from, usize::from(*bytes), *mbarrier),
                Instruction::BulkCopy {
                    destination,
                    source,
                    bytes,
                    completion,
                    multicast,
                    reduce,
                    ..
                } => {
                    let places = [*destination, *source];
                    self.issue_bulk(step, lane, places, *bytes, *completion, *multicast, *reduce);
                }
                Instruction::TensorCopy { .. } => self.issue_tensor(step, lane, instruction),
                _ => {}
            }
        }
        Flow::Next
    }

    pub(super) fn lane(&mut self, step: Step, lane: usize, register: Register) -> u64 {
        self.warp(step.at).lane(register, lane)
    }

    pub(super) fn bad_copy(&mut self, step: Step, fault: &CopyFault) {
        self.find(FindingKind::BadCopy, step, None, fault.to_string(), Vec::new());
    }

    /// The memory at an address; reports a finding if there is none.
    pub(super) fn spot(&mut self, step: Step, space: Space, address: u64) -> Option<Spot> {
        match self.locate_address(step.at, space, address) {
            Ok(spot) => Some(spot),
            Err(message) => {
                self.find(FindingKind::OutOfBounds, step, None, message, Vec::new());
                None
            }
        }
    }

    /// Records the parts of a copy for race detection, and returns those that can land. If the destination is shared
    /// memory, it is that of the CTA `cta`.
    #[allow(clippy::too_many_arguments, reason = "a copy has as many sides")]
    pub(super) fn place(
        &mut self,
        step: Step,
        lane: usize,
        plan: &CopyPlan,
        [source, destination]: [Space; 2],
        cta: usize,
        (reads, writes): (Event, Event),
        effect: Effect,
        is_async: bool,
    ) -> Vec<Move> {
        if source == Space::Shared && cta != step.at.cta {
            self.note_visit(step, step.at.cta, reads);
        }
        let mut moves = Vec::with_capacity(plan.parts.len());
        for part in &plan.parts {
            let bytes = part.bytes as usize;
            let from = match part.source {
                None => Some(Source::Bytes(vec![0; bytes])),
                Some(address) => self
                    .spot(step, source, address)
                    .and_then(|from| self.note_access(step, lane, from, bytes, reads, Effect::Read, is_async))
                    .map(|(target, offset)| Source::Memory(target, offset)),
            };
            let to = self
                .spot(step, destination, part.destination)
                .map(|to| match to.target {
                    Target::Shared(_) => Spot {
                        target: Target::Shared(cta),
                        ..to
                    },
                    Target::Buffer(_) => to,
                });
            let to = to.and_then(|to| self.note_access(step, lane, to, bytes, writes, effect, is_async));
            if let Some(from) = from {
                moves.push(Move { from, to, bytes, cta });
            }
        }
        moves
    }

    /// Records one end of a copy for race detection. Returns its memory and offset, or `None` if it must not be
    /// accessed.
    #[allow(clippy::too_many_arguments, reason = "an access is described by as much")]
    pub(super) fn note_access(
        &mut self,
        step: Step,
        lane: usize,
        spot: Spot,
        bytes: usize,
        event: Event,
        effect: Effect,
        is_async: bool,
    ) -> Option<(Target, usize)> {
        let writes = effect != Effect::Read;
        let (index, site) = (self.thread_index(step.at, lane), self.site(step));
        if let Some(problem) = self.precheck(step, index, spot, bytes, writes) {
            self.report(step, spot, bytes, problem);
            if writes || problem == Problem::Fault(Fault::OutOfBounds) {
                return None;
            }
        }
        let Ok(offset) = usize::try_from(spot.offset) else {
            self.report(step, spot, bytes, Problem::Fault(Fault::OutOfBounds));
            return None;
        };
        let Cluster { threads, ctas, .. } = &mut self.clusters[step.at.cluster];
        let thread = &threads[index];
        let by = Accessor {
            event,
            issuer: thread.agent,
            clock: &thread.knowledge.seen,
            proxy: match is_async {
                true => Proxy::Async {
                    fenced: match spot.target {
                        Target::Shared(_) => &thread.knowledge.fenced_shared,
                        Target::Buffer(_) => &thread.knowledge.fenced_global,
                    },
                },
                false => Proxy::Generic,
            },
            site,
            // Each update of a reduction is relaxed of GPU scope (PTX ISA, "cp.reduce.async.bulk").
            strong: effect == Effect::Update,
            cta: (step.at.cta as u8, false),
            invariant: false,
        };
        let region = match spot.target {
            Target::Buffer(buffer) => self.memory.region_mut(buffer),
            Target::Shared(rank) => ctas[rank].shared.region_mut(),
        };
        let range = offset..offset + bytes;
        let fault = match effect {
            Effect::Read => region.note_read(range, &by),
            Effect::Write => region.note_write(range, &by),
            Effect::Update => region.note_update(range, &by),
        };
        if let Some(fault) = fault {
            self.report(step, spot, bytes, Problem::Fault(fault));
            if fault == Fault::OutOfBounds {
                return None;
            }
        }
        Some((spot.target, offset))
    }

    /// Registers a copy that completes on an mbarrier; returns the event of its accesses.
    pub(super) fn use_mbarrier(
        &mut self,
        step: Step,
        lane: usize,
        place: MbarrierPlace,
        is_async: bool,
    ) -> Option<Event> {
        if !self.note_mbarrier_of_copy(step, lane, place, is_async) {
            return None;
        }
        let (index, site) = (self.thread_index(step.at, lane), self.site(step));
        let cluster = &mut self.clusters[step.at.cluster];
        let tag = cluster.tag;
        let (state, phases) = match cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset)) {
            Ok(mbarrier) => mbarrier,
            Err(fault) => {
                self.mbarrier_fault(step, place, &fault);
                return None;
            }
        };
        phases.copies.push((state.phase(), site, index as u32));
        Some(Event {
            cluster: tag,
            agent: phases.agent,
            time: phases.copy_time(state),
        })
    }

    /// Adds the number of pieces of a copy to those that its group waits for, if it has one.
    pub(super) fn count_moves(&mut self, step: Step, thread: usize, done: Done, count: u32) {
        let thread = &mut self.clusters[step.at.cluster].threads[thread];
        let batch = match done {
            Done::Bulk(time) => thread.bulk.batch(time),
            Done::Small(time) => thread.small.batch(time),
            Done::Mbarrier { .. } => None,
        };
        if let Some(batch) = batch {
            batch.unread += count;
            batch.unwritten += count;
        }
    }

    pub(super) fn begin(
        &mut self,
        step: Step,
        thread: usize,
        moves: Vec<Move>,
        done: Done,
        reduce: Option<(AtomicOp, AtomicFormat)>,
    ) {
        let site = self.site(step);
        let cluster = &mut self.clusters[step.at.cluster];
        // What the thread does after the issue does not happen before the copy.
        cluster.threads[thread].now += 1;
        cluster.copies.push(Copy {
            thread: thread as u32,
            site,
            moves,
            done,
            reduce,
        });
    }
}
