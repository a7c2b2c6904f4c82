//! Loads, stores and atomics, lane by lane.

use super::cluster::{AgentKey, Cluster};
use super::report::Problem;
use super::step::{Flow, Turn};
use super::warp::{LANES, lanes};
use super::{At, Machine};
use crate::address::{self, BUFFER_BITS, Place};
use crate::finding::FindingKind;
use crate::memory::{BufferAccess, Fault, Region, WIDEST, atomic};
use crate::program::{Guard, Instruction, Space};
use crate::race::{Accessor, Event, Proxy};

/// Memory that an address was found to be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A global buffer.
    Buffer(usize),
    /// Shared memory of a CTA of the cluster, by its rank.
    Shared(usize),
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub target: Target,
    /// Bytes from the start of it; negative if before.
    pub offset: i64,
}

impl Machine<'_> {
    /// The lanes that take part in a guarded instruction.
    pub(super) fn guarded(&self, turn: Turn, guard: Option<Guard>) -> u32 {
        match guard {
            None => turn.mask,
            Some(Guard { register, negated }) => {
                self.lanes_where(turn, |warp, lane| (warp.lane(register, lane) & 1 != 0) != negated)
            }
        }
    }

    /// What memory an address is of; an error says why it is of none.
    pub(super) fn locate_address(&self, at: At, space: Space, address: u64) -> Result<Spot, String> {
        let place = match space {
            Space::Global | Space::Constant => address::global(address),
            Space::Shared | Space::Cluster => address::shared(address),
            Space::Generic => address::generic(address),
            Space::Parameter | Space::Local => Place::Nowhere,
        };
        match place {
            Place::Global { buffer, offset } if buffer < self.memory.len() => Ok(Spot {
                target: Target::Buffer(buffer),
                offset: offset.wrapping_sub(
                    self.memory
                        .address(buffer)
                        .wrapping_sub((buffer as u64 + 1) << BUFFER_BITS) as i64,
                ),
            }),
            Place::Shared { rank, offset } => {
                let rank = rank.map_or(at.cta, |rank| rank as usize);
                if rank >= self.clusters[at.cluster].ctas.len() {
                    return Err(format!(
                        "names CTA {rank} of a cluster of {}",
                        self.clusters[at.cluster].ctas.len()
                    ));
                }
                if space == Space::Shared && rank != at.cta {
                    return Err("takes an address of another CTA for one of its own shared memory".to_owned());
                }
                Ok(Spot {
                    target: Target::Shared(rank),
                    offset: offset as i64,
                })
            }
            _ => Err(format!(
                "uses address {address:#x}, which is of no memory that it may access"
            )),
        }
    }

    /// Executes a load, a store or a prefetch.
    pub(super) fn access(&mut self, turn: Turn) -> Flow {
        let kernel = self.kernel;
        let instruction = &kernel.code[turn.pc as usize];
        let (space, order, invariant, registers, bytes, address, align, guard, writes) = match instruction {
            Instruction::Load {
                space,
                order,
                invariant,
                to,
                bytes,
                address,
                align,
                guard,
            } => (
                *space, *order, *invariant, to, *bytes, *address, *align, *guard, false,
            ),
            Instruction::Store {
                space,
                order,
                from,
                bytes,
                address,
                align,
                guard,
            } => (
                *space, *order, false, from, *bytes, *address, *align, *guard, true,
            ),
            _ => return Flow::Next,
        };
        let mask = self.guarded(turn, guard);
        let (bytes, count) = (usize::from(bytes), registers.len());
        let size = bytes * count;
        let addresses = self.warp(turn.at).registers[address as usize];
        if self.options.traffic {
            self.count_traffic(turn, space, mask, &addresses, size as u32);
        }
        for lane in lanes(mask) {
            let turn = Turn {
                mask: 1 << lane,
                ..turn
            };
            let spot = match self.locate_address(turn.at, space, addresses[lane]) {
                Ok(spot) => spot,
                Err(message) => {
                    self.find(FindingKind::OutOfBounds, turn, None, message, Vec::new());
                    continue;
                }
            };
            if !addresses[lane].is_multiple_of(u64::from(align.max(1))) {
                let message = format!("needs an address that is a multiple of {align} bytes");
                self.find_at(FindingKind::Misaligned, turn, spot, size, message, Vec::new());
            }
            let event = match order.strong {
                true => self.strong_event(turn, lane),
                false => self.event(turn.at, lane),
            };
            if order.strong && writes {
                self.pass_on(turn, lane, spot, order, event);
            }
            // The widest access of a lane is split where the instruction moves more (256 bits on sm_100).
            let per_part = (WIDEST / bytes).min(count);
            for first in (0..count).step_by(per_part) {
                let components = first..(first + per_part).min(count);
                let part = Spot {
                    offset: spot.offset + (first * bytes) as i64,
                    ..spot
                };
                self.access_part(
                    turn,
                    lane,
                    part,
                    &registers[components],
                    bytes,
                    (event, order.strong),
                    invariant,
                    writes,
                );
            }
            if order.acquire || (order.strong && !writes) {
                self.take_in(turn, lane, spot, order);
            }
        }
        Flow::Next
    }

    #[allow(clippy::too_many_arguments, reason = "an access is described by as much")]
    fn access_part(
        &mut self,
        turn: Turn,
        lane: usize,
        spot: Spot,
        registers: &[u32],
        bytes: usize,
        (event, strong): (Event, bool),
        invariant: bool,
        writes: bool,
    ) {
        let size = bytes * registers.len();
        let component = |index: usize| index * 8 * bytes;
        let wide = |value: u128| value & (u128::MAX >> (128 - 8 * bytes));
        let site = self.site(turn);
        let access =
            move |region: &mut Region, warp: &mut super::warp::Warp, offset: usize, by: &Accessor| {
                if writes {
                    let value = registers.iter().enumerate().fold(0, |value, (index, register)| {
                        value | wide(u128::from(warp.lane(*register, lane))) << component(index)
                    });
                    region.store(offset, size, value, by)
                } else {
                    let (value, fault) = region.load(offset, size, by);
                    for (index, register) in registers.iter().enumerate() {
                        warp.registers[*register as usize][lane] = wide(value >> component(index)) as u64;
                    }
                    fault
                }
            };
        let index = self.thread_index(turn.at, lane);
        if let Some(problem) = self.precheck(turn, index, spot, size, writes) {
            self.report(turn, spot, size, problem);
            if writes || problem == Problem::Fault(Fault::OutOfBounds) {
                return;
            }
        }
        let Ok(offset) = usize::try_from(spot.offset) else {
            self.report(turn, spot, size, Problem::Fault(Fault::OutOfBounds));
            return;
        };
        let Cluster { threads, ctas, .. } = &mut self.clusters[turn.at.cluster];
        let thread = &threads[index];
        let by = Accessor {
            event,
            issuer: thread.agent,
            clock: &thread.knowledge.seen,
            proxy: Proxy::Generic,
            site,
            strong,
            invariant,
        };
        let fault = match spot.target {
            Target::Buffer(buffer) => access(
                self.memory.region_mut(buffer),
                &mut ctas[turn.at.cta].warps[turn.at.warp],
                offset,
                &by,
            ),
            Target::Shared(rank) if rank == turn.at.cta => {
                let cta = &mut ctas[rank];
                access(cta.shared.region_mut(), &mut cta.warps[turn.at.warp], offset, &by)
            }
            Target::Shared(rank) => match ctas.get_disjoint_mut([rank, turn.at.cta]) {
                Ok([there, here]) => access(
                    there.shared.region_mut(),
                    &mut here.warps[turn.at.warp],
                    offset,
                    &by,
                ),
                Err(_) => None,
            },
        };
        if let Some(fault) = fault {
            self.report(turn, spot, size, Problem::Fault(fault));
        }
    }

    /// What is wrong with an access for reasons other than what is in memory.
    pub(super) fn precheck(
        &mut self,
        turn: Turn,
        thread: usize,
        spot: Spot,
        bytes: usize,
        writes: bool,
    ) -> Option<Problem> {
        if let Target::Shared(rank) = spot.target
            && !self.clusters[turn.at.cluster].ctas[rank]
                .shared
                .contains(spot.offset, bytes)
        {
            return Some(Problem::Fault(Fault::OutOfBounds));
        }
        match spot.target {
            Target::Buffer(buffer) => {
                if writes && self.memory.access(buffer) == BufferAccess::Input {
                    return Some(Problem::WriteToInput);
                }
                if !self.launch.programmatic || !(writes || self.memory.pending(buffer)) {
                    return None;
                }
                let cluster = &mut self.clusters[turn.at.cluster];
                let waited = cluster.event(AgentKey::Predecessors, 1);
                let knows = cluster.threads[thread].knowledge.seen.knows(waited);
                (!knows).then_some(Problem::BeforeGridDependency { writes })
            }
            Target::Shared(rank) if rank != turn.at.cta => {
                let cluster = &self.clusters[turn.at.cluster];
                if !cluster.threads[thread].cluster_started {
                    return Some(Problem::BeforeClusterStart);
                }
                cluster.ctas[rank].has_exited().then_some(Problem::AfterExit)
            }
            Target::Shared(_) => None,
        }
    }

    /// Executes an atomic operation.
    pub(super) fn atomic(&mut self, turn: Turn) -> Flow {
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
        } = &kernel.code[turn.pc as usize]
        else {
            return Flow::Next;
        };
        let size = atomic::bytes(*format);
        let site = self.site(turn);
        let mut group: Vec<usize> = lanes(self.guarded(turn, *guard)).collect();
        // The lanes of one instruction are performed in any order.
        if group.len() > 1 && self.schedule.scatter {
            let start = self.schedule.choices.below(group.len() as u64) as usize;
            group.rotate_left(start);
        }
        let addresses = self.warp(turn.at).registers[*address as usize];
        for lane in group {
            let turn = Turn {
                mask: 1 << lane,
                ..turn
            };
            let spot = match self.locate_address(turn.at, *space, addresses[lane]) {
                Ok(spot) => spot,
                Err(message) => {
                    self.find(FindingKind::OutOfBounds, turn, None, message, Vec::new());
                    continue;
                }
            };
            if !addresses[lane].is_multiple_of(size as u64) {
                let message = format!("needs an address that is a multiple of {size} bytes");
                self.find_at(FindingKind::Misaligned, turn, spot, size, message, Vec::new());
            }
            let index = self.thread_index(turn.at, lane);
            if let Some(problem) = self.precheck(turn, index, spot, size, true) {
                self.report(turn, spot, size, problem);
                continue;
            }
            let event = self.strong_event(turn, lane);
            self.pass_on(turn, lane, spot, *order, event);
            let warp = self.warp(turn.at);
            let (value, compare) = (
                warp.lane(*operand, lane),
                expected.map(|register| warp.lane(register, lane)),
            );
            let cluster = &mut self.clusters[turn.at.cluster];
            let thread = &cluster.threads[index];
            let by = Accessor {
                event,
                issuer: thread.agent,
                clock: &thread.knowledge.seen,
                proxy: Proxy::Generic,
                site,
                strong: true,
                invariant: false,
            };
            let region = match spot.target {
                Target::Buffer(buffer) => self.memory.region_mut(buffer),
                Target::Shared(rank) => cluster.ctas[rank].shared.region_mut(),
            };
            let offset = usize::try_from(spot.offset).unwrap_or(usize::MAX);
            // Only atom.add.f32 on global memory flushes (PTX ISA, "atom").
            let flush = matches!(spot.target, Target::Buffer(_));
            let mut is_known = true;
            let (old, fault) = region.update(offset, size, &by, |old| {
                let new = atomic::combine(*op, *format, flush, old as u64, value, compare.unwrap_or(0));
                is_known = new.is_some();
                u128::from(new.unwrap_or(old as u64))
            });
            if !is_known {
                let message = format!("has no operation {op:?} on {format:?}");
                self.find(FindingKind::Trap, turn, None, message, Vec::new());
            }
            if let Some(to) = to {
                self.warp(turn.at).set(*to, turn.mask, &[old as u64; LANES]);
            }
            if let Some(fault) = fault {
                self.report(turn, spot, size, Problem::Fault(fault));
            }
            self.take_in(turn, lane, spot, *order);
        }
        Flow::Next
    }

    /// The event of a thread's accesses now.
    fn event(&self, at: At, lane: usize) -> Event {
        self.clusters[at.cluster].threads[self.thread_index(at, lane)].event()
    }

    fn count_traffic(&mut self, turn: Turn, space: Space, mask: u32, addresses: &[u64; LANES], bytes: u32) {
        let is_shared = match space {
            Space::Shared | Space::Cluster => true,
            Space::Global => false,
            _ => {
                let lane = mask.trailing_zeros() as usize;
                lane < LANES && matches!(address::generic(addresses[lane]), Place::Shared { .. })
            }
        };
        let site = self.site(turn);
        match is_shared {
            true => self.traffic.count_shared(site, mask, addresses, bytes),
            false => self.traffic.count_global(site, mask, addresses, bytes),
        }
    }
}
