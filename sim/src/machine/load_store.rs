//! Loads and stores, lane by lane.

use super::access::{Spot, Target};
use super::cluster::Cluster;
use super::report::Problem;
use super::step::{Flow, Step};
use super::warp::{LANES, Warp, lanes};
use super::{At, Machine};
use crate::address::{self, Place};
use crate::memory::{Fault, Region, WIDEST};
use crate::program::{Instruction, MemoryOrder, Register, Space};
use crate::race::{Accessor, Event, Proxy};

/// A transfer between a lane's registers and memory: some components, the first at the lowest address.
#[derive(Clone, Copy, Debug)]
struct Transfer<'a> {
    registers: &'a [Register],
    /// Bytes of each component.
    bytes: usize,
    order: MemoryOrder,
    invariant: bool,
    writes: bool,
}

impl Transfer<'_> {
    fn size(&self) -> usize {
        self.bytes * self.registers.len()
    }

    /// Moves at most [`WIDEST`] bytes; returns what is wrong with the access.
    fn perform(
        &self,
        region: &mut Region,
        warp: &mut Warp,
        lane: usize,
        offset: usize,
        by: &Accessor,
    ) -> Option<Fault> {
        let bits = 8 * self.bytes;
        let component = |value: u128| value & (u128::MAX >> (128 - bits));
        if self.writes {
            let components = self.registers.iter().enumerate();
            let value = components.fold(0, |value, (index, register)| {
                value | component(u128::from(warp.lane(*register, lane))) << (index * bits)
            });
            return region.store(offset, self.size(), value, by);
        }
        let (value, fault) = region.load(offset, self.size(), by);
        for (index, register) in self.registers.iter().enumerate() {
            warp.registers[*register as usize][lane] = component(value >> (index * bits)) as u64;
        }
        fault
    }
}

impl Machine<'_> {
    /// Executes a load or a store.
    pub(super) fn load_or_store(&mut self, step: Step) -> Flow {
        let kernel = self.kernel;
        let (transfer, space, address, align, guard) = match &kernel.code[step.pc as usize] {
            Instruction::Load {
                space,
                order,
                invariant,
                to,
                bytes,
                address,
                align,
                guard,
            } => {
                let transfer = Transfer {
                    registers: to,
                    bytes: usize::from(*bytes),
                    order: *order,
                    invariant: *invariant,
                    writes: false,
                };
                (transfer, *space, *address, *align, *guard)
            }
            Instruction::Store {
                space,
                order,
                from,
                bytes,
                address,
                align,
                guard,
            } => {
                let transfer = Transfer {
                    registers: from,
                    bytes: usize::from(*bytes),
                    order: *order,
                    invariant: false,
                    writes: true,
                };
                (transfer, *space, *address, *align, *guard)
            }
            // A prefetch changes nothing, and one of memory that does not exist is dropped.
            _ => return Flow::Next,
        };
        let Transfer { order, writes, .. } = transfer;
        let mask = self.guarded(step, guard);
        let addresses = self.warp(step.at).registers[address as usize];
        if self.options.traffic {
            self.count_traffic(step, space, writes, mask, &addresses, transfer.size() as u32);
        }
        for lane in lanes(mask) {
            let step = Step {
                mask: 1 << lane,
                ..step
            };
            let Some(spot) = self.aligned_spot(step, space, addresses[lane], transfer.size(), align as usize)
            else {
                continue;
            };
            let event = match order.strong {
                true => self.strong_event(step, lane),
                false => self.event(step.at, lane),
            };
            if order.strong && writes {
                self.pass_on(step, lane, spot, order, event, true);
            }
            // A wider access (256 bits on sm_100) is made in parts of [`WIDEST`] bytes.
            let mut offset = spot.offset;
            for registers in transfer.registers.chunks((WIDEST / transfer.bytes).max(1)) {
                let part = Transfer {
                    registers,
                    ..transfer
                };
                self.transfer(step, lane, Spot { offset, ..spot }, &part, event);
                offset += part.size() as i64;
            }
            if order.acquire || (order.strong && !writes) {
                self.take_in(step, lane, spot, order);
            }
        }
        Flow::Next
    }

    fn transfer(&mut self, step: Step, lane: usize, spot: Spot, transfer: &Transfer, event: Event) {
        let (size, site) = (transfer.size(), self.site(step));
        let index = self.thread_index(step.at, lane);
        let mut problem = self.precheck(step, index, spot, size, transfer.writes);
        if let Target::Buffer(buffer) = spot.target
            && problem.is_none()
            && transfer.invariant
            && self.launch.programmatic
            && self.memory.pending(buffer)
        {
            problem = Some(Problem::InvariantAcrossGridDependency);
        }
        if let Some(problem) = problem {
            self.report(step, spot, size, problem);
            if transfer.writes || problem == Problem::Fault(Fault::OutOfBounds) {
                return;
            }
        }
        let Ok(offset) = usize::try_from(spot.offset) else {
            self.report(step, spot, size, Problem::Fault(Fault::OutOfBounds));
            return;
        };
        self.note_if_visit(step, spot, event);
        let Cluster { threads, ctas, .. } = &mut self.clusters[step.at.cluster];
        let thread = &threads[index];
        let (here, warp) = (step.at.cta, step.at.warp);
        let by = Accessor {
            event,
            issuer: thread.agent,
            clock: &thread.knowledge.seen,
            proxy: Proxy::Generic,
            site,
            strong: transfer.order.strong,
            cta: (here as u8, transfer.order.cta),
            invariant: transfer.invariant,
        };
        let fault = match spot.target {
            Target::Buffer(buffer) => {
                let region = self.memory.region_mut(buffer);
                transfer.perform(region, &mut ctas[here].warps[warp], lane, offset, &by)
            }
            Target::Shared(rank) if rank == here => {
                let cta = &mut ctas[here];
                transfer.perform(cta.shared.region_mut(), &mut cta.warps[warp], lane, offset, &by)
            }
            Target::Shared(rank) => ctas
                .get_disjoint_mut([rank, here])
                .ok()
                .and_then(|[there, here]| {
                    transfer.perform(
                        there.shared.region_mut(),
                        &mut here.warps[warp],
                        lane,
                        offset,
                        &by,
                    )
                }),
        };
        if let Some(fault) = fault {
            self.report(step, spot, size, Problem::Fault(fault));
        }
    }

    /// The event that a thread's accesses belong to now.
    fn event(&self, at: At, lane: usize) -> Event {
        self.clusters[at.cluster].threads[self.thread_index(at, lane)].event()
    }

    pub(super) fn count_traffic(
        &mut self,
        step: Step,
        space: Space,
        writes: bool,
        mask: u32,
        addresses: &[u64; LANES],
        bytes: u32,
    ) {
        let is_shared = match space {
            Space::Shared | Space::Cluster => true,
            Space::Global => false,
            _ => {
                let lane = mask.trailing_zeros() as usize;
                lane < LANES && matches!(address::generic(addresses[lane]), Place::Shared { .. })
            }
        };
        let site = self.site(step);
        match is_shared {
            true => self.traffic.count_shared(site, mask, addresses, bytes),
            false => self.traffic.count_global(site, writes, mask, addresses, bytes),
        }
    }
}
