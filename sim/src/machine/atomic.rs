//! Atomic operations, lane by lane.

use super::Machine;
use super::access::Target;
use super::report::Problem;
use super::step::{Flow, Step};
use super::warp::{LANES, lanes};
use crate::memory::atomic;
use crate::program::Instruction;
use crate::race::{Accessor, Proxy};

impl Machine<'_> {
    /// Executes an atomic operation.
    pub(super) fn atomic(&mut self, step: Step) -> Flow {
        let kernel = self.kernel;
        let Instruction::Atomic {
            space,
            order,
            op,
            format,
            to,
            address,
            operand,
            expected,
            guard,
        } = &kernel.code[step.pc as usize]
        else {
            return Flow::Next;
        };
        let size = atomic::bytes(*format);
        let site = self.site(step);
        let mut group: Vec<usize> = lanes(self.guarded(step, *guard)).collect();
        // Hardware performs the lanes of one instruction in any order.
        if group.len() > 1 && self.schedule.scatter {
            let start = self.schedule.choices.below(group.len() as u64) as usize;
            group.rotate_left(start);
        }
        let addresses = self.warp(step.at).registers[*address as usize];
        for lane in group {
            let step = Step {
                mask: 1 << lane,
                ..step
            };
            let Some(spot) = self.aligned_spot(step, *space, addresses[lane], size, size) else {
                continue;
            };
            let index = self.thread_index(step.at, lane);
            if let Some(problem) = self.precheck(step, index, spot, size, true) {
                self.report(step, spot, size, problem);
                continue;
            }
            let event = self.strong_event(step, lane);
            self.note_if_visit(step, spot, event);
            self.pass_on(step, lane, spot, *order, event, false);
            let warp = self.warp(step.at);
            let (value, compare) = (
                warp.lane(*operand, lane),
                expected.map(|register| warp.lane(register, lane)),
            );
            let cluster = &mut self.clusters[step.at.cluster];
            let thread = &cluster.threads[index];
            let by = Accessor {
                event,
                issuer: thread.agent,
                clock: &thread.knowledge.seen,
                proxy: Proxy::Generic,
                site,
                strong: true,
                cta: (step.at.cta as u8, order.cta),
                invariant: false,
            };
            let region = match spot.target {
                Target::Buffer(buffer) => self.memory.region_mut(buffer),
                Target::Shared(rank) => cluster.ctas[rank].shared.region_mut(),
            };
            let offset = usize::try_from(spot.offset).unwrap_or(usize::MAX);
            // Only atom.add.f32 on global memory flushes (PTX ISA, "atom").
            let flush = matches!(spot.target, Target::Buffer(_));
            let (old, fault) = region.update(offset, size, &by, |old| {
                let new = atomic::combine(*op, *format, flush, old as u64, value, compare.unwrap_or(0));
                debug_assert!(new.is_some(), "decoding has let {op:?} on {format:?} pass");
                u128::from(new.unwrap_or(old as u64))
            });
            if let Some(to) = to {
                self.warp(step.at).set(*to, step.mask, &[old as u64; LANES]);
            }
            if let Some(fault) = fault {
                self.report(step, spot, size, Problem::Fault(fault));
            }
            self.take_in(step, lane, spot, *order);
        }
        Flow::Next
    }
}
