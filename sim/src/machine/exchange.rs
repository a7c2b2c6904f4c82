//! Instructions that the threads of a warp execute together: shuffles, votes, elections, reductions, `bar.warp.sync`.

use super::Machine;
use super::step::{Flow, Step};
use super::thread::Knowledge;
use super::warp::{LANES, Lanes, Wait, lanes};
use crate::finding::FindingKind;
use crate::program::{Instruction, VoteKind};
use crate::warp_exchange;

impl Machine<'_> {
    pub(super) fn exchange(&mut self, step: Step) -> Flow {
        let kernel = self.kernel;
        let instruction = &kernel.code[step.pc as usize];
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
                self.warp(step.at)
                    .set(*to, step.mask, &[u64::from(step.mask); LANES]);
                return Flow::Next;
            }
            Instruction::Vote { mask, .. } => Some(*mask),
            _ => None,
        };
        // Lanes may name different masks; the lanes that name the same one exchange among themselves.
        let (mut rest, mut done, mut missing) = (step.mask, 0, 0);
        while let Some(first) = lanes(rest).next() {
            let named_lanes = named.map_or(u32::MAX, |register| {
                self.warp(step.at).lane(register, first) as u32
            });
            let alike = named.map_or(u32::MAX, |register| {
                self.lanes_where(step, |warp, lane| warp.lane(register, lane) as u32 == named_lanes)
            });
            let step = Step {
                mask: rest & alike,
                ..step
            };
            rest &= !alike;
            match self.members(step, named_lanes) {
                Ok(members) => {
                    self.exchange_among(step, instruction, members);
                    done |= step.mask;
                }
                Err(needed) => missing |= needed,
            }
        }
        match (done, missing) {
            (_, 0) => Flow::Next,
            (0, _) => Flow::Wait(Wait::Lanes(missing)),
            _ => Flow::Split(done, Wait::Lanes(missing)),
        }
    }

    /// Executes an instruction for the lanes of a turn, among which are all its `members`.
    fn exchange_among(&mut self, step: Step, instruction: &Instruction, members: u32) {
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
                let warp = self.warp(step.at);
                let [values, offsets, clamps] =
                    [*value, *offset, *clamp].map(|register| warp.registers[register as usize]);
                let to = &mut warp.registers[*to as usize];
                let shuffled = warp_exchange::shuffle(*kind, step.mask, to, &values, &offsets, &clamps);
                if let Some(in_range) = in_range {
                    let ranges = std::array::from_fn(|lane| u64::from(shuffled.in_range >> lane & 1));
                    warp.set(*in_range, step.mask, &ranges);
                }
                if shuffled.undefined != 0 {
                    let lane = shuffled.undefined.trailing_zeros();
                    let [offset, clamp] = [offsets, clamps].map(|values| values[lane as usize] as u32);
                    let (source, _) = warp_exchange::shuffle_source(*kind, lane, offset, clamp);
                    let message = format!("reads lane {source}, which does not take part");
                    let step = Step {
                        mask: 1 << lane,
                        ..step
                    };
                    self.find(FindingKind::Uninitialized, step, None, message, Vec::new());
                }
            }
            Instruction::Vote { kind, to, value, .. } => {
                let warp = self.warp(step.at);
                let values = warp.registers[*value as usize];
                warp_exchange::vote(*kind, members, &mut warp.registers[*to as usize], &values);
            }
            Instruction::WarpReduce { op, to, value, .. } => {
                let warp = self.warp(step.at);
                let values = warp.registers[*value as usize];
                warp_exchange::reduce(*op, members, &mut warp.registers[*to as usize], &values);
            }
            Instruction::Elect { to, .. } => {
                // The same mask always elects the same thread, but PTX does not say which.
                let elected = warp_exchange::elect(members, self.schedule.elected);
                let result: Lanes = std::array::from_fn(|lane| u64::from(Some(lane as u32) == elected));
                self.warp(step.at).set(*to, step.mask, &result);
            }
            Instruction::WarpBarrier { .. } => self.order_lanes(step, members),
            _ => {}
        }
    }

    /// The lanes that take part in an instruction with the mask `named`, if all live ones of these are here; otherwise,
    /// as the error, the lanes that must be here.
    fn members(&mut self, step: Step, named: u32) -> Result<u32, u32> {
        if step.mask & !named != 0 {
            let message = format!("is executed by threads that its mask {named:#010x} does not name");
            self.find(FindingKind::PartialBarrier, step, None, message, Vec::new());
            return Ok(named & step.mask);
        }
        let needed = named & self.warp(step.at).live();
        match needed & !step.mask {
            0 => Ok(needed),
            _ => Err(needed),
        }
    }

    /// Orders what the threads of a `bar.warp.sync` did before it and what they do after it.
    fn order_lanes(&mut self, step: Step, members: u32) {
        let indices = self.threads_of(Step {
            mask: members,
            ..step
        });
        let cluster = &mut self.clusters[step.at.cluster];
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
