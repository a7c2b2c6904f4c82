//! Tests of a phase, and waiting for it.

use super::MbarrierPlace;
use crate::machine::Machine;
use crate::machine::access::{Spot, Target};
use crate::machine::step::{Flow, Turn};
use crate::machine::thread::Knowledge;
use crate::machine::warp::{LANES, Wait, lanes};
use crate::mbarrier::MBARRIER_BYTES;
use crate::program::{Instruction, MemoryOrder, Register, Space, WaitKind};
use crate::race::Event;

impl Machine<'_> {
    pub(in crate::machine) fn mbarrier_wait(&mut self, turn: Turn) -> Flow {
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
        let gives_up = *kind == WaitKind::Try
            && to.is_some()
            && !self.gave_up.contains(&self.site(turn))
            && lanes(turn.mask).all(|lane| self.may_give_up(turn, lane, *address, *phase, *parity));
        if gives_up && let Some(to) = to {
            self.gave_up.insert(self.site(turn));
            self.warp(turn.at).set(*to, turn.mask, &[0; LANES]);
            return Flow::Next;
        }
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

    /// Whether a test of a phase may return false: the phase has not completed, or copies completed it and the thread
    /// has not synchronized with that, so that under another schedule it would test ahead of them.
    fn may_give_up(
        &mut self,
        turn: Turn,
        lane: usize,
        address: Register,
        phase: Register,
        parity: bool,
    ) -> bool {
        let warp = self.warp(turn.at);
        let (address, phase) = (warp.lane(address, lane), warp.lane(phase, lane));
        let Ok(Spot {
            target: Target::Shared(cta),
            offset,
        }) = self.locate_address(turn.at, Space::Shared, address)
        else {
            return false;
        };
        let index = self.thread_index(turn.at, lane);
        let cluster = &mut self.clusters[turn.at.cluster];
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
                .cta
                .get_or_insert_with(|| Knowledge::new(cluster.tag))
                .join(&phases.passed),
        }
        true
    }

    /// Describes what a group that waits for an mbarrier is waiting for.
    pub(in crate::machine) fn describe_mbarrier_wait(&mut self, turn: Turn) -> String {
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
}
