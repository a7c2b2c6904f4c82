//! Tests of a phase, and waiting for it.

use super::MbarrierPlace;
use crate::machine::Machine;
use crate::machine::access::{Spot, Target};
use crate::machine::step::{Flow, Step};
use crate::machine::thread::Knowledge;
use crate::machine::warp::{LANES, Wait, lanes};
use crate::mbarrier::MBARRIER_BYTES;
use crate::program::{Instruction, MemoryOrder, Register, Space, WaitKind};
use crate::race::Event;

impl Machine<'_> {
    pub(in crate::machine) fn mbarrier_wait(&mut self, step: Step) -> Flow {
        let kernel = self.kernel;
        let Instruction::MbarrierWait {
            kind,
            address,
            phase,
            parity,
            to,
            order,
        } = &kernel.code[step.pc as usize]
        else {
            return Flow::Next;
        };
        let gives_up = *kind == WaitKind::Try
            && to.is_some()
            && !self.gave_up.contains(&self.site(step))
            && lanes(step.mask).all(|lane| self.may_give_up(step, lane, *address, *phase, *parity));
        if gives_up && let Some(to) = to {
            self.gave_up.insert(self.site(step));
            self.warp(step.at).set(*to, step.mask, &[0; LANES]);
            return Flow::Next;
        }
        let mut done = 0;
        for lane in lanes(step.mask) {
            let step = Step {
                mask: 1 << lane,
                ..step
            };
            let warp = self.warp(step.at);
            let (address, phase) = (warp.lane(*address, lane), warp.lane(*phase, lane));
            let Some(place) = self.find_mbarrier(step, Space::Shared, address) else {
                done |= step.mask;
                continue;
            };
            if !self.note_mbarrier(step, place, false) {
                done |= step.mask;
                continue;
            }
            if self.has_completed(step, lane, place, phase, *parity, *order) {
                done |= step.mask;
            }
        }
        let may_refuse =
            *kind == WaitKind::Try && self.schedule.impatient && self.schedule.choices.once_in(4);
        match (kind, to) {
            (WaitKind::Try, None) | (WaitKind::Loop, _) => match done {
                0 => Flow::Wait(Wait::Mbarrier),
                all if all == step.mask => Flow::Next,
                some => Flow::Split(some, Wait::Mbarrier),
            },
            (WaitKind::Try, Some(_)) if done == 0 && !may_refuse => Flow::Wait(Wait::Mbarrier),
            (_, to) => {
                if let Some(to) = to {
                    let answers = std::array::from_fn(|lane| u64::from(done >> lane & 1));
                    self.warp(step.at).set(*to, step.mask, &answers);
                }
                Flow::Next
            }
        }
    }

    /// Whether a test of a phase may return false: the phase has not completed, or copies completed it and the thread
    /// has not synchronized with that, so that under another schedule it would test ahead of them.
    fn may_give_up(
        &mut self,
        step: Step,
        lane: usize,
        address: Register,
        phase: Register,
        parity: bool,
    ) -> bool {
        let warp = self.warp(step.at);
        let (address, phase) = (warp.lane(address, lane), warp.lane(phase, lane));
        let Ok(Spot {
            target: Target::Shared(cta),
            offset,
        }) = self.locate_address(step.at, Space::Shared, address)
        else {
            return false;
        };
        let index = self.thread_index(step.at, lane);
        let cluster = &mut self.clusters[step.at.cluster];
        let Ok((state, phases)) = cluster.ctas[cta].mbarriers.get(offset as u64) else {
            return false;
        };
        let tested = match parity {
            true => state.test_parity(phase),
            false => state.test_state(phase),
        };
        let last = Event {
            cluster: cluster.tag,
            agent: phases.agent,
            time: phases.earlier + state.phase() as u32,
        };
        match tested {
            Ok(false) => true,
            Ok(true) => {
                state.phase() > 0 && phases.brought && !cluster.threads[index].knowledge.seen.knows(last)
            }
            Err(_) => false,
        }
    }

    fn has_completed(
        &mut self,
        step: Step,
        lane: usize,
        place: MbarrierPlace,
        phase: u64,
        parity: bool,
        order: MemoryOrder,
    ) -> bool {
        let index = self.thread_index(step.at, lane);
        let cluster = &mut self.clusters[step.at.cluster];
        let (state, phases) = match cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset)) {
            Ok(mbarrier) => mbarrier,
            Err(fault) => {
                self.mbarrier_fault(step, place, &fault);
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
                self.mbarrier_fault(step, place, &fault);
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
                .cta
                .get_or_insert_with(|| Knowledge::new(cluster.tag))
                .join(&phases.passed),
        }
        true
    }

    /// Describes what a group that waits for an mbarrier is waiting for.
    pub(in crate::machine) fn describe_mbarrier_wait(&mut self, step: Step) -> String {
        let Instruction::MbarrierWait {
            address,
            phase,
            parity,
            ..
        } = &self.kernel.code[step.pc as usize]
        else {
            return "waits for an mbarrier".to_owned();
        };
        let lane = step.mask.trailing_zeros() as usize;
        let warp = self.warp(step.at);
        let (address, phase) = (warp.lane(*address, lane), warp.lane(*phase, lane));
        let Some(place) = self.find_mbarrier(step, Space::Shared, address) else {
            return "waits for an mbarrier".to_owned();
        };
        let name = self.memory_place(step.at.cluster, place.spot(), MBARRIER_BYTES);
        match self.clusters[step.at.cluster].ctas[place.cta]
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
}
