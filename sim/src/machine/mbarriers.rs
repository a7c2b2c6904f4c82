//! Operations on mbarriers: what they count is in [`crate::mbarrier`]; here is who may use one, and what a phase passes
//! on from those that arrive to those that wait.
//!
//! To race detection an initialization is a write of the mbarrier's eight bytes, and every other use a strong read, so
//! that a use which nothing orders after the initialization is a race, and so is an initialization that others still use.

use super::Machine;
use super::access::{Spot, Target};
use super::cluster::{AgentKey, Phases};
use super::report::Problem;
use super::step::{Flow, Turn};
use super::thread::Knowledge;
use super::warp::{LANES, Wait, lanes};
use crate::finding::FindingKind;
use crate::mbarrier::{Mbarrier, MbarrierFault, PhaseChange};
use crate::memory::Fault;
use crate::program::{Instruction, MbarrierOp, MemoryOrder, Register, SiteId, Space, WaitKind};
use crate::race::{Accessor, Conflict, ConflictKind, Event, Proxy};

/// Bytes of an mbarrier, and their alignment (PTX ISA, "Size and alignment of mbarrier object").
const MBARRIER_BYTES: usize = 8;

/// Which mbarrier: the CTA's rank and the offset in its shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MbarrierPlace {
    pub cta: usize,
    pub offset: u32,
}

impl MbarrierPlace {
    fn spot(self) -> Spot {
        Spot {
            target: Target::Shared(self.cta),
            offset: i64::from(self.offset),
        }
    }
}

impl Machine<'_> {
    pub(super) fn mbarrier(&mut self, turn: Turn) -> Flow {
        let kernel = self.kernel;
        let Instruction::Mbarrier {
            op,
            space,
            address,
            count,
            transaction,
            state,
            order,
            guard,
        } = &kernel.code[turn.pc as usize]
        else {
            return Flow::Next;
        };
        for lane in lanes(self.guarded(turn, *guard)) {
            let turn = Turn {
                mask: 1 << lane,
                ..turn
            };
            let warp = self.warp(turn.at);
            let value = |register: &Register| warp.lane(*register, lane);
            let (address, count) = (value(address), count.as_ref().map_or(1, value));
            let bytes = transaction.as_ref().map(value);
            let Some(place) = self.find_mbarrier(turn, *space, address) else {
                continue;
            };
            let phase = match op {
                MbarrierOp::Init => self.initialize(turn, place, count),
                MbarrierOp::Invalidate => self.invalidate(turn, place),
                _ => self.update(turn, lane, place, *op, count, bytes, *order),
            };
            if let (Some(state), Some(phase)) = (state, phase) {
                self.warp(turn.at).set(*state, turn.mask, &[phase; LANES]);
            }
        }
        Flow::Next
    }

    /// The mbarrier at an address, which must be one of shared memory.
    pub(super) fn find_mbarrier(&mut self, turn: Turn, space: Space, address: u64) -> Option<MbarrierPlace> {
        let spot = match self.locate_address(turn.at, space, address) {
            Ok(spot) => spot,
            Err(message) => {
                self.find(FindingKind::OutOfBounds, turn, None, message, Vec::new());
                return None;
            }
        };
        let Spot {
            target: Target::Shared(cta),
            offset,
        } = spot
        else {
            let message = "expects an mbarrier in shared memory".to_owned();
            self.find_at(
                FindingKind::Mbarrier,
                turn,
                spot,
                MBARRIER_BYTES,
                message,
                Vec::new(),
            );
            return None;
        };
        if offset % MBARRIER_BYTES as i64 != 0 {
            let message = format!("needs an address that is a multiple of {MBARRIER_BYTES} bytes");
            self.find_at(
                FindingKind::Misaligned,
                turn,
                spot,
                MBARRIER_BYTES,
                message,
                Vec::new(),
            );
            return None;
        }
        let offset = offset as u32;
        Some(MbarrierPlace { cta, offset })
    }

    /// Notes an access to an mbarrier's bytes; false if it is of no use to go on.
    fn note_mbarrier(&mut self, turn: Turn, place: MbarrierPlace, writes: bool) -> bool {
        let (spot, site) = (place.spot(), self.site(turn));
        let index = self.thread_index(turn.at, turn.mask.trailing_zeros() as usize);
        if let Some(problem) = self.precheck(turn, index, spot, MBARRIER_BYTES, false) {
            self.report(turn, spot, MBARRIER_BYTES, problem);
            return false;
        }
        let cluster = &mut self.clusters[turn.at.cluster];
        let thread = &cluster.threads[index];
        let by = Accessor {
            event: thread.event(),
            issuer: thread.agent,
            clock: &thread.knowledge.seen,
            proxy: Proxy::Generic,
            site,
            strong: !writes,
            invariant: false,
        };
        let region = cluster.ctas[place.cta].shared.region_mut();
        let range = place.offset as usize..place.offset as usize + MBARRIER_BYTES;
        let fault = match writes {
            true => region.note_write(range, &by),
            false => region.note_read(range, &by),
        };
        match fault {
            // `fence.mbarrier_init` with a relaxed barrier of the cluster orders initializations alone.
            Some(Fault::Conflict(Conflict {
                kind: ConflictKind::Race,
                other,
                ..
            })) if !writes && thread.knowledge.initialized.knows(other.event) => true,
            Some(Fault::Uninitialized { .. }) => {
                let message = "uses an mbarrier that was not initialized".to_owned();
                self.find_at(
                    FindingKind::Mbarrier,
                    turn,
                    spot,
                    MBARRIER_BYTES,
                    message,
                    Vec::new(),
                );
                false
            }
            Some(fault) => {
                self.report(turn, spot, MBARRIER_BYTES, Problem::Fault(fault));
                !matches!(fault, Fault::OutOfBounds)
            }
            None => true,
        }
    }

    /// As [`Self::note_mbarrier`], for a copy that completes there: the async proxy must see the initialization, too.
    pub(super) fn note_mbarrier_of_copy(
        &mut self,
        turn: Turn,
        lane: usize,
        place: MbarrierPlace,
        is_async: bool,
    ) -> bool {
        if !self.note_mbarrier(turn, place, false) {
            return false;
        }
        if !is_async {
            return true;
        }
        let (index, site) = (self.thread_index(turn.at, lane), self.site(turn));
        let cluster = &mut self.clusters[turn.at.cluster];
        let tag = cluster.tag;
        let thread = &cluster.threads[index];
        let mut visible = thread.knowledge.fenced.clone();
        visible.join(&thread.knowledge.initialized);
        let cta = &mut cluster.ctas[place.cta];
        let Ok((state, phases)) = cta.mbarriers.get(u64::from(place.offset)) else {
            return true;
        };
        let by = Accessor {
            event: Event {
                cluster: tag,
                agent: phases.agent,
                time: phases.copy_time(state),
            },
            issuer: thread.agent,
            clock: &thread.knowledge.seen,
            proxy: Proxy::Async { fenced: &visible },
            site,
            strong: true,
            invariant: false,
        };
        let region = cta.shared.region_mut();
        let fault = region.note_read(place.offset as usize..place.offset as usize + MBARRIER_BYTES, &by);
        if let Some(Fault::Conflict(Conflict {
            kind: ConflictKind::MissingProxyFence,
            other,
            ..
        })) = fault
        {
            let message =
                "completes on an mbarrier whose initialization no fence has shown to the async proxy"
                    .to_owned();
            let notes = vec![self.note(other.site, "initialized it")];
            let spot = place.spot();
            self.find_at(
                FindingKind::MissingProxyFence,
                turn,
                spot,
                MBARRIER_BYTES,
                message,
                notes,
            );
        }
        true
    }

    fn initialize(&mut self, turn: Turn, place: MbarrierPlace, count: u64) -> Option<u64> {
        if !self.note_mbarrier(turn, place, true) {
            return None;
        }
        let cluster = &mut self.clusters[turn.at.cluster];
        let key = AgentKey::Mbarrier {
            cta: place.cta as u32,
            offset: place.offset,
        };
        let (agent, tag) = (cluster.agent(key), cluster.tag);
        let cta = &mut cluster.ctas[place.cta];
        cta.shared
            .region_mut()
            .place(place.offset as usize, &[0; MBARRIER_BYTES]);
        let earlier = cta.ended_phases.get(&place.offset).copied().unwrap_or(0);
        let phases = Phases {
            agent,
            earlier,
            told: Knowledge::new(tag),
            passed: Knowledge::new(tag),
            copies: Vec::new(),
        };
        if let Err(fault) = cta.mbarriers.init(u64::from(place.offset), count, phases) {
            self.mbarrier_fault(turn, place, &fault);
        }
        None
    }

    fn invalidate(&mut self, turn: Turn, place: MbarrierPlace) -> Option<u64> {
        if !self.note_mbarrier(turn, place, false) {
            return None;
        }
        self.note_mbarrier(turn, place, true);
        let cta = &mut self.clusters[turn.at.cluster].ctas[place.cta];
        let offset = u64::from(place.offset);
        if let Ok((state, phases)) = cta.mbarriers.get(offset) {
            let ended = phases.copy_time(state);
            cta.ended_phases.insert(place.offset, ended);
        }
        if let Err(fault) = cta.mbarriers.invalidate(offset) {
            self.mbarrier_fault(turn, place, &fault);
        }
        None
    }

    /// Gives the phase that an arrival belongs to.
    #[allow(
        clippy::too_many_arguments,
        reason = "an operation on an mbarrier has as many operands"
    )]
    fn update(
        &mut self,
        turn: Turn,
        lane: usize,
        place: MbarrierPlace,
        op: MbarrierOp,
        count: u64,
        bytes: Option<u64>,
        order: MemoryOrder,
    ) -> Option<u64> {
        if !self.note_mbarrier(turn, place, false) {
            return None;
        }
        let index = self.thread_index(turn.at, lane);
        let cluster = &mut self.clusters[turn.at.cluster];
        let (state, phases) = match cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset)) {
            Ok(mbarrier) => mbarrier,
            Err(fault) => {
                self.mbarrier_fault(turn, place, &fault);
                return None;
            }
        };
        let thread = &mut cluster.threads[index];
        let given = state.state();
        if matches!(op, MbarrierOp::Arrive | MbarrierOp::ArriveDrop) {
            match (order.release, &thread.released) {
                (true, _) => phases.told.join(&thread.tell()),
                (false, Some(released)) => phases.told.join(released),
                (false, None) => {}
            }
        }
        let bytes = bytes.unwrap_or(0);
        let expected = match op {
            MbarrierOp::Arrive | MbarrierOp::ArriveDrop if bytes != 0 => state.expect_transaction(bytes),
            _ => Ok(PhaseChange::Pending),
        };
        let changed = expected.and_then(|_| match op {
            MbarrierOp::Arrive => state.arrive(count),
            MbarrierOp::ArriveDrop => state.arrive_drop(count),
            MbarrierOp::ExpectTransaction => state.expect_transaction(bytes),
            MbarrierOp::CompleteTransaction => state.complete_transaction(bytes),
            MbarrierOp::Init | MbarrierOp::Invalidate => Ok(PhaseChange::Pending),
        });
        match changed {
            Ok(PhaseChange::Completed(phase)) => self.end_phase(turn.at.cluster, place, phase),
            Ok(PhaseChange::Pending) => {}
            Err(fault) => self.mbarrier_fault(turn, place, &fault),
        }
        Some(given)
    }

    /// What the completed phase's arrivals and copies did is known to those that wait for it.
    pub(super) fn end_phase(&mut self, cluster: usize, place: MbarrierPlace, phase: u64) {
        let cluster = &mut self.clusters[cluster];
        let tag = cluster.tag;
        if let Ok((_, phases)) = cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset)) {
            let told = std::mem::replace(&mut phases.told, Knowledge::new(tag));
            phases.passed.join(&told);
            phases.passed.seen.record(Event {
                cluster: tag,
                agent: phases.agent,
                time: phases.earlier + phase as u32 + 1,
            });
        }
        for cta in &mut cluster.ctas {
            for warp in &mut cta.warps {
                warp.wake(|wait| *wait == Wait::Mbarrier);
            }
        }
    }

    pub(super) fn mbarrier_fault(&mut self, turn: Turn, place: MbarrierPlace, fault: &MbarrierFault) {
        self.find_at(
            FindingKind::Mbarrier,
            turn,
            place.spot(),
            MBARRIER_BYTES,
            fault.to_string(),
            Vec::new(),
        );
    }

    /// A fault that shows when a copy lands, told at the copy.
    pub(super) fn mbarrier_fault_of_copy(
        &mut self,
        site: SiteId,
        (cluster, thread): (usize, usize),
        place: MbarrierPlace,
        fault: &MbarrierFault,
    ) {
        let memory = self.memory_place(cluster, place.spot(), MBARRIER_BYTES);
        self.find_of(
            FindingKind::Mbarrier,
            site,
            (cluster, thread),
            Some(memory),
            fault.to_string(),
            Vec::new(),
        );
    }

    pub(super) fn mbarrier_wait(&mut self, turn: Turn) -> Flow {
        let kernel = self.kernel;
        let Instruction::MbarrierWait {
            kind,
            address,
            phase,
            parity,
            to,
            order,
        } = &kernel.code[turn.pc as usize]
        else {
            return Flow::Next;
        };
        let mut done = 0;
        for lane in lanes(turn.mask) {
            let turn = Turn {
                mask: 1 << lane,
                ..turn
            };
            let warp = self.warp(turn.at);
            let (address, phase) = (warp.lane(*address, lane), warp.lane(*phase, lane));
            let Some(place) = self.find_mbarrier(turn, Space::Shared, address) else {
                done |= turn.mask;
                continue;
            };
            if !self.note_mbarrier(turn, place, false) {
                done |= turn.mask;
                continue;
            }
            if self.has_completed(turn, lane, place, phase, *parity, *order) {
                done |= turn.mask;
            }
        }
        let may_refuse =
            *kind == WaitKind::Try && self.schedule.impatient && self.schedule.choices.once_in(4);
        match (kind, to) {
            (WaitKind::Try, None) | (WaitKind::Loop, _) => match done {
                0 => Flow::Wait(Wait::Mbarrier),
                all if all == turn.mask => Flow::Next,
                some => Flow::Split(some, Wait::Mbarrier),
            },
            (WaitKind::Try, Some(_)) if done == 0 && !may_refuse => Flow::Wait(Wait::Mbarrier),
            (_, to) => {
                if let Some(to) = to {
                    let answers = std::array::from_fn(|lane| u64::from(done >> lane & 1));
                    self.warp(turn.at).set(*to, turn.mask, &answers);
                }
                Flow::Next
            }
        }
    }

    /// What a group that waits for an mbarrier is waiting for.
    pub(super) fn describe_mbarrier_wait(&mut self, turn: Turn) -> String {
        let Instruction::MbarrierWait {
            address,
            phase,
            parity,
            ..
        } = &self.kernel.code[turn.pc as usize]
        else {
            return "waits for an mbarrier".to_owned();
        };
        let lane = turn.mask.trailing_zeros() as usize;
        let warp = self.warp(turn.at);
        let (address, phase) = (warp.lane(*address, lane), warp.lane(*phase, lane));
        let Some(place) = self.find_mbarrier(turn, Space::Shared, address) else {
            return "waits for an mbarrier".to_owned();
        };
        let name = self.memory_place(turn.at.cluster, place.spot(), MBARRIER_BYTES);
        match self.clusters[turn.at.cluster].ctas[place.cta]
            .mbarriers
            .get(u64::from(place.offset))
        {
            Ok((state, _)) => {
                let phase = match *parity {
                    true => format!("a phase of parity {phase}"),
                    false => "a phase".to_owned(),
                };
                format!("waits for {phase} of the mbarrier at {name}, which is in {state}")
            }
            Err(_) => format!("waits for the mbarrier at {name}"),
        }
    }

    fn has_completed(
        &mut self,
        turn: Turn,
        lane: usize,
        place: MbarrierPlace,
        phase: u64,
        parity: bool,
        order: MemoryOrder,
    ) -> bool {
        let index = self.thread_index(turn.at, lane);
        let cluster = &mut self.clusters[turn.at.cluster];
        let (state, phases) = match cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset)) {
            Ok(mbarrier) => mbarrier,
            Err(fault) => {
                self.mbarrier_fault(turn, place, &fault);
                return true;
            }
        };
        let tested = match parity {
            true => state.test_parity(phase),
            false => state.test_state(phase),
        };
        match tested {
            Ok(false) => return false,
            Ok(true) => {}
            Err(fault) => {
                self.mbarrier_fault(turn, place, &fault);
                return true;
            }
        }
        let current = state.phase();
        phases.copies.retain(|(phase, ..)| *phase >= current);
        let thread = &mut cluster.threads[index];
        match order.acquire {
            true => thread.knowledge.join(&phases.passed),
            false => thread
                .met
                .get_or_insert_with(|| Knowledge::new(cluster.tag))
                .join(&phases.passed),
        }
        true
    }
}

impl Phases {
    /// The time of copies that complete on the current phase; it grows over initializations, too.
    pub fn copy_time(&self, state: &Mbarrier) -> u32 {
        self.earlier + state.phase() as u32 + 1
    }
}
