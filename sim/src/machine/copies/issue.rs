//! What threads say about asynchronous copies: begin one, close a group, wait for groups.

use super::{Copy, Done, Move, Source};
use crate::address::{self, Place};
use crate::copy::{self, CopyFault, CopyPlan};
use crate::finding::FindingKind;
use crate::launch::Argument;
use crate::machine::Machine;
use crate::machine::access::{Spot, Target};
use crate::machine::cluster::{AgentKey, Cluster};
use crate::machine::mbarriers::MbarrierPlace;
use crate::machine::report::Problem;
use crate::machine::step::{Flow, Turn};
use crate::machine::thread::Arrival;
use crate::machine::warp::{Wait, lanes};
use crate::memory::Fault;
use crate::program::{AtomicFormat, AtomicOp, BulkPlace, Completion, Instruction, Register, Space};
use crate::race::{Accessor, Event, Proxy};

impl Machine<'_> {
    pub(in crate::machine) fn copy(&mut self, turn: Turn) -> Flow {
        let kernel = self.kernel;
        let instruction = &kernel.code[turn.pc as usize];
        match instruction {
            Instruction::CopyAsyncWait { pending } => return self.wait_for_small_copies(turn, *pending),
            Instruction::BulkWait { pending, read } => {
                return self.wait_for_bulk_copies(turn, *pending, *read);
            }
            _ => {}
        }
        let guard = match instruction {
            Instruction::CopyAsync { guard, .. }
            | Instruction::BulkCopy { guard, .. }
            | Instruction::TensorCopy { guard, .. }
            | Instruction::StoreAsync { guard, .. } => *guard,
            _ => None,
        };
        for lane in lanes(self.guarded(turn, guard)) {
            let turn = Turn {
                mask: 1 << lane,
                ..turn
            };
            let index = self.thread_index(turn.at, lane);
            let thread = &mut self.clusters[turn.at.cluster].threads[index];
            match instruction {
                Instruction::CopyAsyncCommit => thread.small.commit(),
                Instruction::BulkCommit => thread.bulk.commit(),
                Instruction::CopyAsync {
                    to,
                    from,
                    bytes,
                    source_bytes,
                    ..
                } => self.issue_small(turn, lane, *to, *from, u64::from(*bytes), *source_bytes),
                Instruction::CopyAsyncArrive { address, counted } => {
                    self.arrive_behind(turn, lane, *address, *counted)
                }
                Instruction::StoreAsync {
                    address,
                    from,
                    bytes,
                    mbarrier,
                    ..
                } => self.issue_store(turn, lane, *address, from, usize::from(*bytes), *mbarrier),
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
                    self.issue_bulk(turn, lane, places, *bytes, *completion, *multicast, *reduce);
                }
                Instruction::TensorCopy { .. } => self.issue_tensor(turn, lane, instruction),
                _ => {}
            }
        }
        Flow::Next
    }

    fn lane(&mut self, turn: Turn, lane: usize, register: Register) -> u64 {
        self.warp(turn.at).lane(register, lane)
    }

    fn bad_copy(&mut self, turn: Turn, fault: &CopyFault) {
        self.find(FindingKind::BadCopy, turn, None, fault.to_string(), Vec::new());
    }

    /// The memory at an address, told as a finding if there is none.
    fn spot(&mut self, turn: Turn, space: Space, address: u64) -> Option<Spot> {
        match self.locate_address(turn.at, space, address) {
            Ok(spot) => Some(spot),
            Err(message) => {
                self.find(FindingKind::OutOfBounds, turn, None, message, Vec::new());
                None
            }
        }
    }

    fn issue_small(
        &mut self,
        turn: Turn,
        lane: usize,
        to: Register,
        from: Register,
        bytes: u64,
        source_bytes: Option<Register>,
    ) {
        let (to, from) = (self.lane(turn, lane, to), self.lane(turn, lane, from));
        let source_bytes = source_bytes.map(|register| u64::from(self.lane(turn, lane, register) as u32));
        let plan = match copy::cp_async(from, to, bytes, source_bytes) {
            Ok(plan) => plan,
            Err(fault) => return self.bad_copy(turn, &fault),
        };
        let (index, site) = (self.thread_index(turn.at, lane), self.site(turn));
        let cluster = &mut self.clusters[turn.at.cluster];
        let (group, time) = cluster.threads[index].small.add(site);
        let event = cluster.event(AgentKey::SmallCopies(index as u32), time);
        let spaces = [Space::Global, Space::Shared];
        let moves = self.place(turn, lane, &plan, spaces, turn.at.cta, (event, event), false);
        self.count_moves(turn, index, Done::Small(group), moves.len() as u32);
        self.begin(turn, index, moves, Done::Small(group), None);
    }

    fn arrive_behind(&mut self, turn: Turn, lane: usize, address: Register, counted: bool) {
        let address = self.lane(turn, lane, address);
        let Some(place) = self.find_mbarrier(turn, Space::Shared, address) else {
            return;
        };
        let index = self.thread_index(turn.at, lane);
        let site = self.site(turn);
        let cluster = &mut self.clusters[turn.at.cluster];
        let mbarrier = cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset));
        let expected = mbarrier.and_then(|(state, _)| match counted {
            true => Ok(()),
            false => state.expect_arrival(),
        });
        if let Err(fault) = expected {
            self.mbarrier_fault(turn, place, &fault);
            return;
        }
        let time = cluster.threads[index].small.cut();
        let event = cluster.event(AgentKey::SmallCopies(index as u32), time);
        let thread = &mut cluster.threads[index];
        let mut told = thread.tell();
        told.seen.record(event);
        thread.arrivals.push(Arrival {
            place,
            time,
            told,
            site,
        });
        self.arrive_for_small_copies(turn.at.cluster, index as u32);
    }

    fn issue_store(
        &mut self,
        turn: Turn,
        lane: usize,
        address: Register,
        from: &[Register],
        bytes: usize,
        mbarrier: Register,
    ) {
        let (address, mbarrier) = (self.lane(turn, lane, address), self.lane(turn, lane, mbarrier));
        let warp = self.warp(turn.at);
        let data: Vec<u8> = from
            .iter()
            .flat_map(|register| warp.lane(*register, lane).to_le_bytes()[..bytes].to_vec())
            .collect();
        if address % data.len() as u64 != 0 {
            let message = format!("needs an address that is a multiple of {} bytes", data.len());
            self.find(FindingKind::Misaligned, turn, None, message, Vec::new());
        }
        let Some(to) = self.spot(turn, Space::Cluster, address) else {
            return;
        };
        let Some(place) = self.find_mbarrier(turn, Space::Cluster, mbarrier) else {
            return;
        };
        if to.target != Target::Shared(place.cta) {
            let message = "expects the mbarrier in the CTA that it stores to".to_owned();
            self.find(FindingKind::BadCopy, turn, None, message, Vec::new());
            return;
        }
        let Some(event) = self.use_mbarrier(turn, lane, place, false) else {
            return;
        };
        let Some(to) = self.note_access(turn, lane, to, data.len(), event, true, false) else {
            return;
        };
        let index = self.thread_index(turn.at, lane);
        let moves = vec![Move {
            bytes: data.len(),
            from: Source::Bytes(data),
            to: Some(to),
            cta: place.cta,
        }];
        self.begin(turn, index, moves, Done::Mbarrier { offset: place.offset }, None);
    }

    #[allow(clippy::too_many_arguments, reason = "a bulk copy has as many operands")]
    fn issue_bulk(
        &mut self,
        turn: Turn,
        lane: usize,
        [destination, source]: [BulkPlace; 2],
        bytes: Register,
        completion: Completion,
        multicast: Option<Register>,
        reduce: Option<(AtomicOp, AtomicFormat)>,
    ) {
        let (to, from) = (
            self.lane(turn, lane, destination.address),
            self.lane(turn, lane, source.address),
        );
        let bytes = u64::from(self.lane(turn, lane, bytes) as u32);
        match copy::bulk(from, to, bytes) {
            Ok(plan) => {
                let spaces = [source.space, destination.space];
                self.issue(turn, lane, &plan, spaces, to, completion, multicast, reduce);
            }
            Err(fault) => self.bad_copy(turn, &fault),
        }
    }

    fn issue_tensor(&mut self, turn: Turn, lane: usize, instruction: &Instruction) {
        let Instruction::TensorCopy {
            map,
            coordinates,
            shared,
            store,
            completion,
            multicast,
            reduce,
            ..
        } = instruction
        else {
            return;
        };
        let address = self.lane(turn, lane, *map);
        let launch = self.launch;
        let map = match address::generic(address) {
            Place::Parameter { index, offset: 0 } => launch.arguments.get(index),
            _ => None,
        };
        let Some(Argument::TensorMap(map)) = map else {
            let message = "expects the address of a tensor map".to_owned();
            self.find(FindingKind::BadCopy, turn, None, message, Vec::new());
            return;
        };
        let corner: Vec<i32> = coordinates
            .iter()
            .map(|register| self.lane(turn, lane, *register) as i32)
            .collect();
        let address = self.lane(turn, lane, shared.address);
        let plan = match copy::tensor(map, self.memory.address(map.buffer), &corner, address, *store) {
            Ok(plan) => plan,
            Err(fault) => return self.bad_copy(turn, &fault),
        };
        let spaces = match store {
            true => [shared.space, Space::Global],
            false => [Space::Global, shared.space],
        };
        self.issue(
            turn,
            lane,
            &plan,
            spaces,
            address,
            *completion,
            *multicast,
            *reduce,
        );
    }

    /// Begins a bulk copy, which goes from one space to the other and names `address` of shared memory as its target
    /// if it has one there.
    #[allow(clippy::too_many_arguments, reason = "a bulk copy has as many operands")]
    fn issue(
        &mut self,
        turn: Turn,
        lane: usize,
        plan: &CopyPlan,
        spaces: [Space; 2],
        address: u64,
        completion: Completion,
        multicast: Option<Register>,
        reduce: Option<(AtomicOp, AtomicFormat)>,
    ) {
        let (index, site) = (self.thread_index(turn.at, lane), self.site(turn));
        let Some(receivers) = self.receivers(turn, lane, spaces[1], address, multicast) else {
            return;
        };
        let (done, events) = match completion {
            Completion::Group => {
                let cluster = &mut self.clusters[turn.at.cluster];
                let (group, time) = cluster.threads[index].bulk.add(site);
                let reads = cluster.event(AgentKey::BulkReads(index as u32), time);
                let writes = cluster.event(AgentKey::BulkWrites(index as u32), time);
                (Done::Bulk(group), vec![(reads, writes); receivers.len()])
            }
            Completion::Mbarrier(register) => {
                let address = self.lane(turn, lane, register);
                let Some(place) = self.find_mbarrier(turn, Space::Cluster, address) else {
                    return;
                };
                if !receivers.contains(&place.cta) && multicast.is_none() {
                    let message = "expects the mbarrier in the CTA that receives the copy".to_owned();
                    self.find(FindingKind::BadCopy, turn, None, message, Vec::new());
                    return;
                }
                let mut events = Vec::new();
                for cta in &receivers {
                    let place = MbarrierPlace { cta: *cta, ..place };
                    let Some(event) = self.use_mbarrier(turn, lane, place, true) else {
                        return;
                    };
                    events.push((event, event));
                }
                (Done::Mbarrier { offset: place.offset }, events)
            }
        };
        let mut moves = Vec::new();
        for (cta, events) in receivers.into_iter().zip(events) {
            moves.extend(self.place(turn, lane, plan, spaces, cta, events, true));
        }
        self.count_moves(turn, index, done, moves.len() as u32);
        self.begin(turn, index, moves, done, reduce);
    }

    /// The CTAs that a copy lands in, by rank; the issuer's own for one to global memory.
    fn receivers(
        &mut self,
        turn: Turn,
        lane: usize,
        space: Space,
        address: u64,
        multicast: Option<Register>,
    ) -> Option<Vec<usize>> {
        if let Some(mask) = multicast {
            let mask = self.lane(turn, lane, mask) as u16;
            let ctas = self.clusters[turn.at.cluster].ctas.len();
            if u32::from(mask) >> ctas != 0 {
                let message = format!("multicasts to CTAs {mask:#x} of a cluster of {ctas}");
                self.find(FindingKind::BadCopy, turn, None, message, Vec::new());
            }
            return Some((0..ctas).filter(|rank| mask >> rank & 1 == 1).collect());
        }
        if space == Space::Global {
            return Some(vec![turn.at.cta]);
        }
        match self.spot(turn, space, address)?.target {
            Target::Buffer(_) => Some(vec![turn.at.cta]),
            Target::Shared(rank) => Some(vec![rank]),
        }
    }

    /// Notes the parts of a copy for race detection, and gives those that can land. Shared memory written is that of
    /// the CTA `cta`.
    #[allow(clippy::too_many_arguments, reason = "a copy has as many sides")]
    fn place(
        &mut self,
        turn: Turn,
        lane: usize,
        plan: &CopyPlan,
        [source, destination]: [Space; 2],
        cta: usize,
        (reads, writes): (Event, Event),
        is_async: bool,
    ) -> Vec<Move> {
        let mut moves = Vec::with_capacity(plan.parts.len());
        for part in &plan.parts {
            let bytes = part.bytes as usize;
            let from = match part.source {
                None => Some(Source::Bytes(vec![0; bytes])),
                Some(address) => self
                    .spot(turn, source, address)
                    .and_then(|from| self.note_access(turn, lane, from, bytes, reads, false, is_async))
                    .map(|(target, offset)| Source::Memory(target, offset)),
            };
            let to = self
                .spot(turn, destination, part.destination)
                .map(|to| match to.target {
                    Target::Shared(_) => Spot {
                        target: Target::Shared(cta),
                        ..to
                    },
                    Target::Buffer(_) => to,
                });
            let to = to.and_then(|to| self.note_access(turn, lane, to, bytes, writes, true, is_async));
            if let Some(from) = from {
                moves.push(Move { from, to, bytes, cta });
            }
        }
        moves
    }

    /// Adds the pieces of a copy to its group, if it has one.
    fn count_moves(&mut self, turn: Turn, thread: usize, done: Done, count: u32) {
        let thread = &mut self.clusters[turn.at.cluster].threads[thread];
        let group = match done {
            Done::Bulk(group) => thread.bulk.group(group),
            Done::Small(group) => thread.small.group(group),
            Done::Mbarrier { .. } => None,
        };
        if let Some(group) = group {
            group.unread += count;
            group.unwritten += count;
        }
    }

    fn begin(
        &mut self,
        turn: Turn,
        thread: usize,
        moves: Vec<Move>,
        done: Done,
        reduce: Option<(AtomicOp, AtomicFormat)>,
    ) {
        let site = self.site(turn);
        let cluster = &mut self.clusters[turn.at.cluster];
        // What a thread does after it has issued a copy is not before the copy.
        cluster.threads[thread].now += 1;
        cluster.copies.push(Copy {
            thread: thread as u32,
            site,
            moves,
            done,
            reduce,
        });
    }

    /// Notes one end of a copy for race detection, and gives it as a region and an offset unless it is out of bounds.
    #[allow(clippy::too_many_arguments, reason = "an access is described by as much")]
    fn note_access(
        &mut self,
        turn: Turn,
        lane: usize,
        spot: Spot,
        bytes: usize,
        event: Event,
        writes: bool,
        is_async: bool,
    ) -> Option<(Target, usize)> {
        let (index, site) = (self.thread_index(turn.at, lane), self.site(turn));
        if let Some(problem) = self.precheck(turn, index, spot, bytes, writes) {
            self.report(turn, spot, bytes, problem);
            if writes || problem == Problem::Fault(Fault::OutOfBounds) {
                return None;
            }
        }
        let Ok(offset) = usize::try_from(spot.offset) else {
            self.report(turn, spot, bytes, Problem::Fault(Fault::OutOfBounds));
            return None;
        };
        let Cluster { threads, ctas, .. } = &mut self.clusters[turn.at.cluster];
        let thread = &threads[index];
        let by = Accessor {
            event,
            issuer: thread.agent,
            clock: &thread.knowledge.seen,
            proxy: match is_async {
                true => Proxy::Async {
                    fenced: &thread.knowledge.fenced,
                },
                false => Proxy::Generic,
            },
            site,
            strong: false,
            invariant: false,
        };
        let region = match spot.target {
            Target::Buffer(buffer) => self.memory.region_mut(buffer),
            Target::Shared(rank) => ctas[rank].shared.region_mut(),
        };
        let range = offset..offset + bytes;
        let fault = match writes {
            true => region.note_write(range, &by),
            false => region.note_read(range, &by),
        };
        if let Some(fault) = fault {
            self.report(turn, spot, bytes, Problem::Fault(fault));
            if fault == Fault::OutOfBounds {
                return None;
            }
        }
        Some((spot.target, offset))
    }

    /// Lets a copy complete on an mbarrier; gives the event of its accesses.
    fn use_mbarrier(
        &mut self,
        turn: Turn,
        lane: usize,
        place: MbarrierPlace,
        is_async: bool,
    ) -> Option<Event> {
        if !self.note_mbarrier_of_copy(turn, lane, place, is_async) {
            return None;
        }
        let (index, site) = (self.thread_index(turn.at, lane), self.site(turn));
        let cluster = &mut self.clusters[turn.at.cluster];
        let tag = cluster.tag;
        let (state, phases) = match cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset)) {
            Ok(mbarrier) => mbarrier,
            Err(fault) => {
                self.mbarrier_fault(turn, place, &fault);
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

    fn wait_for_small_copies(&mut self, turn: Turn, pending: Option<u32>) -> Flow {
        let indices: Vec<usize> = lanes(turn.mask)
            .map(|lane| self.thread_index(turn.at, lane))
            .collect();
        let cluster = &mut self.clusters[turn.at.cluster];
        let mut times = Vec::with_capacity(indices.len());
        for index in &indices {
            let groups = &mut cluster.threads[*index].small;
            if pending.is_none() {
                groups.commit();
            }
            match groups.wait(pending.unwrap_or(0) as usize, false) {
                Some(time) => times.push(time),
                None => return Flow::Wait(Wait::Copies),
            }
        }
        for (index, time) in indices.into_iter().zip(times).filter(|(_, time)| *time > 0) {
            let event = cluster.event(AgentKey::SmallCopies(index as u32), time);
            cluster.threads[index].knowledge.seen.record(event);
        }
        Flow::Next
    }

    fn wait_for_bulk_copies(&mut self, turn: Turn, pending: u32, read: bool) -> Flow {
        let indices: Vec<usize> = lanes(turn.mask)
            .map(|lane| self.thread_index(turn.at, lane))
            .collect();
        let cluster = &mut self.clusters[turn.at.cluster];
        let mut times = Vec::with_capacity(indices.len());
        for index in &indices {
            match cluster.threads[*index].bulk.wait(pending as usize, read) {
                Some(time) => times.push(time),
                None => return Flow::Wait(Wait::Copies),
            }
        }
        for (index, time) in indices.into_iter().zip(times).filter(|(_, time)| *time > 0) {
            let reads = cluster.event(AgentKey::BulkReads(index as u32), time);
            cluster.threads[index].knowledge.seen.record(reads);
            if !read {
                let writes = cluster.event(AgentKey::BulkWrites(index as u32), time);
                cluster.threads[index].knowledge.seen.record(writes);
            }
        }
        Flow::Next
    }
}
