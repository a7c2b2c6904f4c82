//! Instructions that the threads of a warp execute together: shuffles, votes, elections, reductions, `bar.warp.sync`.

use super::Machine;
use super::step::{Flow, Turn};
use super::thread::Knowledge;
use super::warp::{LANES, Lanes, Wait, lanes};
use crate::finding::FindingKind;
use crate::program::{Instruction, Register, VoteKind};
use crate::warp_exchange;

impl Machine<'_> {
    pub(super) fn exchange(&mut self, turn: Turn) -> Flow {
        let kernel = self.kernel;
        let instruction = &kernel.code[turn.pc as usize];
        let named = match instruction {
            Instruction::Shuffle { mask, .. }
            | Instruction::WarpReduce { mask, .. }
            | Instruction::WarpBarrier { mask } => Some(*mask),
            Instruction::Elect { mask, .. } => *mask,
            Instruction::Vote {
                kind: VoteKind::ActiveMask,
                to,
                ..
            } => {
                self.warp(turn.at)
                    .set(*to, turn.mask, &[u64::from(turn.mask); LANES]);
                return Flow::Next;
            }
            Instruction::Vote { mask, .. } => Some(*mask),
            _ => None,
        };
        let members = match self.members(turn, named) {
            Ok(members) => members,
            Err(flow) => return flow,
        };
        match instruction {
            Instruction::Shuffle {
                kind,
                to,
                in_range,
                value,
                offset,
                clamp,
                ..
            } => {
                let warp = self.warp(turn.at);
                let [values, offsets, clamps] =
                    [*value, *offset, *clamp].map(|register| warp.registers[register as usize]);
                let (mut result, mut ranges, mut strays) = ([0; LANES], [0; LANES], None);
                for lane in lanes(turn.mask) {
                    let (source, is_in_range) = warp_exchange::shuffle_source(
                        *kind,
                        lane as u32,
                        offsets[lane] as u32,
                        clamps[lane] as u32,
                    );
                    if turn.mask >> source & 1 == 0 {
                        strays = Some((lane, source));
                    }
                    result[lane] = values[source as usize];
                    ranges[lane] = u64::from(is_in_range);
                }
                warp.set(*to, turn.mask, &result);
                if let Some(in_range) = in_range {
                    warp.set(*in_range, turn.mask, &ranges);
                }
                if let Some((lane, source)) = strays {
                    let message = format!("reads lane {source}, which does not take part");
                    let turn = Turn {
                        mask: 1 << lane,
                        ..turn
                    };
                    self.find(FindingKind::Uninitialized, turn, None, message, Vec::new());
                }
            }
            Instruction::Vote { kind, to, value, .. } => {
                let warp = self.warp(turn.at);
                let values = warp.registers[*value as usize];
                warp_exchange::vote(*kind, members, &mut warp.registers[*to as usize], &values);
            }
            Instruction::WarpReduce { op, to, value, .. } => {
                let warp = self.warp(turn.at);
                let values = warp.registers[*value as usize];
                warp_exchange::reduce(*op, members, &mut warp.registers[*to as usize], &values);
            }
            Instruction::Elect { to, .. } => {
                // The same mask always elects the same thread, but PTX does not say which.
                let elected = warp_exchange::elect(members, self.schedule.elected);
                let result: Lanes = std::array::from_fn(|lane| u64::from(Some(lane as u32) == elected));
                self.warp(turn.at).set(*to, turn.mask, &result);
            }
            Instruction::WarpBarrier { .. } => self.order_lanes(turn, members),
            _ => {}
        }
        Flow::Next
    }

    /// The threads that take part in an instruction, all of which are here; otherwise how the group goes on.
    fn members(&mut self, turn: Turn, named: Option<Register>) -> Result<u32, Flow> {
        let warp = self.warp(turn.at);
        let live = warp.live();
        let mask_of = |lane: usize| named.map_or(u32::MAX, |register| warp.lane(register, lane) as u32);
        let Some(first) = lanes(turn.mask).next() else {
            return Err(Flow::Next);
        };
        let named_lanes = mask_of(first);
        let alike = lanes(turn.mask)
            .filter(|lane| mask_of(*lane) == named_lanes)
            .fold(0, |mask, lane| mask | 1 << lane);
        if turn.mask & !named_lanes & alike != 0 {
            let message = format!("is executed by threads that its mask {named_lanes:#010x} does not name");
            self.find(FindingKind::PartialBarrier, turn, None, message, Vec::new());
            return Ok(named_lanes & turn.mask);
        }
        if alike != turn.mask {
            let message = "is executed with masks that differ".to_owned();
            self.find(FindingKind::PartialBarrier, turn, None, message, Vec::new());
            return Ok(turn.mask);
        }
        let needed = named_lanes & live;
        match needed & !turn.mask {
            0 => Ok(needed),
            _ => Err(Flow::Wait(Wait::Lanes(needed))),
        }
    }

    /// `bar.warp.sync` orders what its threads did before and do after.
    fn order_lanes(&mut self, turn: Turn, members: u32) {
        let indices: Vec<usize> = lanes(members)
            .map(|lane| self.thread_index(turn.at, lane))
            .collect();
        let cluster = &mut self.clusters[turn.at.cluster];
        let told = indices.iter().map(|index| {
            (
                &cluster.threads[*index].knowledge,
                cluster.threads[*index].event(),
            )
        });
        let all = Knowledge::join_all(cluster.tag, told);
        for index in indices {
            let thread = &mut cluster.threads[index];
            thread.knowledge = all.clone();
            thread.now += 1;
        }
    }
}
