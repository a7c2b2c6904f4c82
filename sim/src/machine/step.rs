//! One warp's turn: picks one of its groups, and executes instructions until the group must stop.

use super::compute::{Environment, compute};
use super::schedule::Landing;
use super::warp::{Group, State, Wait, lanes, lanes_where};
use super::{At, Machine};
use crate::finding::FindingKind;
use crate::program::{Edge, Instruction, Pc};

/// A group of threads at an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub at: At,
    pub pc: Pc,
    /// The threads that execute it.
    pub mask: u32,
}

/// What happens to a group after an instruction.
#[derive(Clone, Debug)]
pub(super) enum Flow {
    /// It goes on with the next one.
    Next,
    /// It stays at the instruction, and executes it again once the wait may be over.
    Wait(Wait),
    /// It goes on with the next one once the wait is over.
    WaitBehind(Wait),
    /// The lanes of the mask go on with the next one, the others wait at this one.
    Split(u32, Wait),
    /// Its lanes go to the blocks that the edges lead to.
    Branch(Vec<(u32, Pc)>),
    /// Its threads have ended.
    End,
}

impl Machine<'_> {
    /// Runs a ready warp for its share of instructions.
    pub(super) fn run_warp(&mut self, at: At) {
        // Now and then a group is picked at random, so that a polling group does not starve the one it waits for.
        let scatter =
            self.schedule.scatter || (self.warp(at).groups.len() > 1 && self.schedule.choices.once_in(16));
        let chance = if scatter { self.schedule.choices.next() } else { 0 };
        let warp = self.warp(at);
        let chosen = if scatter {
            warp.nth_ready(chance)
        } else {
            warp.first_ready()
        };
        let Some(index) = chosen else { return };
        let mut index = warp.merge(index);
        let mut share = self.schedule.quantum;
        while share > 0 {
            if !self.run_straight(at, index, &mut share) {
                return;
            }
            let Group { pc, mask, .. } = self.warp(at).groups[index];
            share = share.saturating_sub(1);
            let mask = self.part_with_others(at, index, self.lanes_at_once(Step { at, pc, mask }));
            let flow = self.execute_with_undefined(Step { at, pc, mask });
            if self.schedule.landing == Landing::Eager {
                self.land_all(at.cluster);
            }
            if self.findings.is_over() {
                return;
            }
            let warp = self.warp(at);
            match flow {
                Flow::Next => warp.groups[index].pc += 1,
                Flow::Wait(wait) => {
                    let needed = match wait {
                        Wait::Lanes(needed) => Some(needed),
                        _ => None,
                    };
                    warp.groups[index].state = State::Waiting(wait);
                    if needed.is_some_and(|needed| warp.lanes_waiting_at(pc) & needed == needed) {
                        index = warp.merge(index);
                        continue;
                    }
                    return;
                }
                Flow::WaitBehind(wait) => {
                    let group = &mut warp.groups[index];
                    // This very arrival may have ended the wait.
                    if group.state == State::Ready {
                        group.pc += 1;
                        group.state = State::Waiting(wait);
                    }
                    return;
                }
                Flow::Split(go, wait) => {
                    let stay = mask & !go;
                    warp.groups[index] = Group {
                        pc: pc + 1,
                        mask: go,
                        state: State::Ready,
                    };
                    warp.groups.push(Group {
                        pc,
                        mask: stay,
                        state: State::Waiting(wait),
                    });
                }
                Flow::Branch(targets) => {
                    warp.groups.swap_remove(index);
                    for (mask, pc) in targets {
                        warp.groups.push(Group {
                            pc,
                            mask,
                            state: State::Ready,
                        });
                    }
                    index = warp.groups.len() - 1;
                    index = warp.merge(index);
                    // After lanes diverge or reconverge, another group may be at the smallest pc.
                    if warp.groups.len() > 1 {
                        return;
                    }
                }
                Flow::End => {
                    warp.exited |= mask;
                    warp.groups.swap_remove(index);
                    self.end_threads(at, mask);
                    return;
                }
            }
        }
    }

    /// Leaves the lanes of a group that are not in `mask` at its instruction, as a group of their own; returns `mask`.
    fn part_with_others(&mut self, at: At, index: usize, mask: u32) -> u32 {
        let warp = self.warp(at);
        let others = warp.groups[index].mask & !mask;
        if others != 0 {
            warp.groups[index].mask = mask;
            warp.groups.push(Group {
                pc: warp.groups[index].pc,
                mask: others,
                state: State::Ready,
            });
        }
        mask
    }

    /// Executes instructions that access nothing but the group's own registers. Returns false if that uses up the
    /// share, or if the CTA has exceeded its instruction limit. Counts these instructions, and the one that it stopped
    /// at.
    fn run_straight(&mut self, at: At, index: usize, share: &mut u32) -> bool {
        let environment = self.environment(at);
        let kernel = self.kernel;
        let cta = &mut self.clusters[at.cluster].ctas[at.cta];
        let warp = &mut cta.warps[at.warp];
        let Group { pc: first, mask, .. } = warp.groups[index];
        let mut pc = first;
        let limit = first.saturating_add(*share);
        while pc < limit {
            let instruction = &kernel.code[pc as usize];
            let undefined = self.flows.concerns(pc).then(|| {
                let site = kernel.sites.get(pc as usize).copied().unwrap_or_default();
                warp.undefined_results(instruction, mask, site)
            });
            if !compute(instruction, &mut warp.registers, mask, &environment) {
                break;
            }
            if let Some(undefined) = undefined {
                warp.set_results_undefined(instruction, mask, undefined);
            }
            pc += 1;
        }
        warp.groups[index].pc = pc;
        *share -= pc - first;
        let count = pc - first + u32::from(pc < limit);
        cta.warp_instructions += u64::from(count);
        self.warp_instructions += u64::from(count);
        self.thread_instructions += u64::from(count) * u64::from(mask.count_ones());
        if cta.warp_instructions > self.options.instruction_limit {
            let step = Step { at, pc, mask };
            let message = format!(
                "is still executed after {} instructions of its CTA",
                self.options.instruction_limit
            );
            self.find(FindingKind::Endless, step, None, message, Vec::new());
            self.findings.stop();
            return false;
        }
        pc < limit
    }

    fn environment(&self, at: At) -> Environment {
        let cluster = &self.clusters[at.cluster];
        let cta = &cluster.ctas[at.cta];
        Environment {
            block: self.launch.block,
            grid: self.launch.grid,
            cluster: self.launch.cluster,
            cta: cta.place,
            rank: cta.rank,
            warp: at.warp as u32,
            multiprocessors: self.options.target.part.sms,
            multiprocessor: (cluster.id % u64::from(self.options.target.part.sms)) as u32,
            dynamic_shared_bytes: self.launch.shared_bytes,
            clock: cta.warp_instructions,
            approximation: self.options.approximation,
        }
    }

    /// Executes one instruction that accesses more than the group's own registers.
    pub(super) fn execute(&mut self, step: Step) -> Flow {
        let kernel = self.kernel;
        match &kernel.code[step.pc as usize] {
            Instruction::Load { .. } | Instruction::Store { .. } | Instruction::Prefetch { .. } => {
                self.load_or_store(step)
            }
            Instruction::Atomic { .. } => self.atomic(step),
            Instruction::Shuffle { .. }
            | Instruction::Vote { .. }
            | Instruction::Elect { .. }
            | Instruction::WarpReduce { .. }
            | Instruction::WarpBarrier { .. } => self.exchange(step),
            Instruction::Barrier {
                kind,
                id,
                threads,
                aligned,
            } => self.cta_barrier(step, *kind, *id, *threads, *aligned),
            Instruction::ClusterArrive { release, aligned } => self.cluster_arrive(step, *release, *aligned),
            Instruction::ClusterWait { acquire, aligned } => self.cluster_wait(step, *acquire, *aligned),
            Instruction::Mbarrier { .. } => self.mbarrier(step),
            Instruction::MbarrierWait { .. } => self.mbarrier_wait(step),
            Instruction::CopyAsync { .. }
            | Instruction::CopyAsyncCommit
            | Instruction::CopyAsyncWait { .. }
            | Instruction::CopyAsyncArrive { .. }
            | Instruction::BulkCopy { .. }
            | Instruction::TensorCopy { .. }
            | Instruction::BulkCommit
            | Instruction::BulkWait { .. }
            | Instruction::StoreAsync { .. } => self.copy(step),
            Instruction::Fence(fence) => self.fence(step, *fence),
            Instruction::GridDependencyWait => self.grid_dependency_wait(step),
            Instruction::GridDependencyLaunch => Flow::Next,
            Instruction::SetMaxRegisters { registers, increase } => {
                self.set_max_registers(step, *registers, *increase)
            }
            Instruction::Branch(edge) => self.branch(step, &[(step.mask, edge)]),
            Instruction::ConditionalBranch { condition, yes, no } => {
                let taken = self.lanes_where(step, |warp, lane| warp.lane(*condition, lane) != 0);
                self.branch(step, &[(taken, yes), (step.mask & !taken, no)])
            }
            Instruction::Switch {
                value,
                cases,
                default,
            } => {
                let mut rest = step.mask;
                let mut ways = Vec::with_capacity(cases.len() + 1);
                for (case, edge) in cases {
                    let taken = self.lanes_where(step, |warp, lane| warp.lane(*value, lane) == *case) & rest;
                    rest &= !taken;
                    ways.push((taken, edge));
                }
                ways.push((rest, default));
                self.branch(step, &ways)
            }
            Instruction::Return => Flow::End,
            Instruction::Trap => {
                let message = "is reached".to_owned();
                self.find(FindingKind::Trap, step, None, message, Vec::new());
                self.findings.stop();
                Flow::End
            }
            pure => {
                debug_assert!(false, "{pure:?} is left to compute");
                Flow::Next
            }
        }
    }

    /// The lanes of a turn for which `holds` is true.
    pub(super) fn lanes_where(&self, step: Step, holds: impl Fn(&super::warp::Warp, usize) -> bool) -> u32 {
        let warp = &self.clusters[step.at.cluster].ctas[step.at.cta].warps[step.at.warp];
        lanes_where(step.mask, |lane| holds(warp, lane))
    }

    fn branch(&mut self, step: Step, ways: &[(u32, &Edge)]) -> Flow {
        let warp = self.warp(step.at);
        let mut targets: Vec<(u32, Pc)> = Vec::with_capacity(ways.len());
        for (mask, edge) in ways.iter().filter(|(mask, _)| *mask != 0) {
            let values: Vec<_> = edge
                .moves
                .iter()
                .map(|(_, from)| warp.registers[*from as usize])
                .collect();
            if !warp.undefined.is_empty() {
                warp.follow_edge(edge, *mask);
            }
            for ((to, _), value) in edge.moves.iter().zip(&values) {
                warp.set(*to, *mask, value);
            }
            match targets.iter_mut().find(|(_, pc)| *pc == edge.target) {
                Some((other, _)) => *other |= mask,
                None => targets.push((*mask, edge.target)),
            }
        }
        Flow::Branch(targets)
    }

    pub(super) fn warp(&mut self, at: At) -> &mut super::warp::Warp {
        &mut self.clusters[at.cluster].ctas[at.cta].warps[at.warp]
    }

    /// The indices in their cluster of the threads of a turn, lowest lane first.
    pub(super) fn threads_of(&self, step: Step) -> Vec<usize> {
        lanes(step.mask)
            .map(|lane| self.thread_index(step.at, lane))
            .collect()
    }

    /// The index in its cluster of the thread in a lane.
    pub(super) fn thread_index(&self, at: At, lane: usize) -> usize {
        at.cta * self.block_threads() as usize + at.warp * super::warp::LANES + lane
    }
}
