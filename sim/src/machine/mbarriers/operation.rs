//! Operations that never wait: initialize, invalidate, arrive, expect and complete bytes.

use super::MbarrierPlace;
use crate::machine::Machine;
use crate::machine::cluster::{AgentKey, Phases};
use crate::machine::step::{Flow, Step};
use crate::machine::thread::Knowledge;
use crate::machine::warp::{LANES, Wait, lanes};
use crate::mbarrier::{MBARRIER_BYTES, PhaseChange};
use crate::program::{Instruction, MbarrierOp, MemoryOrder, Register};
use crate::race::Event;

impl Machine<'_> {
    pub(in crate::machine) fn mbarrier(&mut self, step: Step) -> Flow {
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
        } = &kernel.code[step.pc as usize]
        else {
            return Flow::Next;
        };
        for lane in lanes(self.guarded(step, *guard)) {
            let step = Step {
                mask: 1 << lane,
                ..step
            };
            let warp = self.warp(step.at);
            let value = |register: &Register| warp.lane(*register, lane);
            let (address, count) = (value(address), count.as_ref().map_or(1, value));
            let bytes = transaction.as_ref().map(value);
            let Some(place) = self.find_mbarrier(step, *space, address) else {
                continue;
            };
            let phase = match op {
                MbarrierOp::Init => self.initialize(step, place, count),
                MbarrierOp::Invalidate => self.invalidate(step, place),
                _ => self.update(step, lane, place, *op, count, bytes, *order),
            };
            if let (Some(state), Some(phase)) = (state, phase) {
                self.warp(step.at).set(*state, step.mask, &[phase; LANES]);
            }
        }
        Flow::Next
    }

    fn initialize(&mut self, step: Step, place: MbarrierPlace, count: u64) -> Option<u64> {
        if !self.note_mbarrier(step, place, true) {
            return None;
        }
        let cluster = &mut self.clusters[step.at.cluster];
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
            brought: false,
        };
        if let Err(fault) = cta.mbarriers.init(u64::from(place.offset), count, phases) {
            self.mbarrier_fault(step, place, &fault);
        }
        None
    }

    fn invalidate(&mut self, step: Step, place: MbarrierPlace) -> Option<u64> {
        if !self.note_mbarrier(step, place, false) {
            return None;
        }
        self.note_mbarrier(step, place, true);
        let cta = &mut self.clusters[step.at.cluster].ctas[place.cta];
        let offset = u64::from(place.offset);
        if let Ok((state, phases)) = cta.mbarriers.get(offset) {
            let ended = phases.copy_time(state);
            cta.ended_phases.insert(place.offset, ended);
        }
        if let Err(fault) = cta.mbarriers.invalidate(offset) {
            self.mbarrier_fault(step, place, &fault);
        }
        None
    }

    /// Performs an arrival or a change of the transaction count; returns the state of the phase that it belongs to.
    #[allow(
        clippy::too_many_arguments,
        reason = "an operation on an mbarrier has as many operands"
    )]
    fn update(
        &mut self,
        step: Step,
        lane: usize,
        place: MbarrierPlace,
        op: MbarrierOp,
        count: u64,
        bytes: Option<u64>,
        order: MemoryOrder,
    ) -> Option<u64> {
        if !self.note_mbarrier(step, place, false) {
            return None;
        }
        let index = self.thread_index(step.at, lane);
        let event = self.clusters[step.at.cluster].threads[index].event();
        self.note_if_visit(step, place.spot(), event);
        let cluster = &mut self.clusters[step.at.cluster];
        let (state, phases) = match cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset)) {
            Ok(mbarrier) => mbarrier,
            Err(fault) => {
                self.mbarrier_fault(step, place, &fault);
                return None;
            }
        };
        let thread = &mut cluster.threads[index];
        let given = state.state();
        if matches!(op, MbarrierOp::Arrive | MbarrierOp::ArriveDrop) {
            match (order.release, &thread.released.cta) {
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
            Ok(PhaseChange::Completed(phase)) => self.end_phase(step.at.cluster, place, phase),
            Ok(PhaseChange::Pending) => {}
            Err(fault) => self.mbarrier_fault(step, place, &fault),
        }
        Some(given)
    }

    /// Handles the completion of a phase: later waits for it see what its arrivals and copies did, and waiting threads
    /// are woken.
    pub(in crate::machine) fn end_phase(&mut self, cluster: usize, place: MbarrierPlace, phase: u64) {
        let index = cluster;
        let cluster = &mut self.clusters[index];
        let tag = cluster.tag;
        let unfinished = cluster.copies.iter().filter_map(|copy| {
            let bytes = copy.bytes_for(place);
            (bytes > 0).then_some((copy.site, copy.thread as usize, bytes))
        });
        let unfinished: Vec<_> = unfinished.collect();
        if let Ok((_, phases)) = cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset)) {
            let told = std::mem::replace(&mut phases.told, Knowledge::new(tag));
            phases.passed.join(&told);
            phases.brought = phases.copies.iter().any(|(copied, ..)| *copied == phase);
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
        for (site, thread, bytes) in unfinished {
            self.unfinished_copy(site, (index, thread), place, phase, bytes);
        }
    }
}
