//! A warp: registers of 32 lanes, and where each of its threads is.
//!
//! Diverged threads of a warp form groups, each with its own program counter ([`Group`]), which may run in any order.
//! Groups that come to the same instruction at a block's start reconverge. Hardware with independent thread scheduling
//! may do all of this. An instruction that needs threads of the warp to be together waits for them.

use super::undefined::Undefined;
pub(crate) use crate::arithmetic::{LANES, Lanes, lanes, lanes_where};
use crate::program::{Pc, Register, SiteId};

/// Threads of a warp that share a program counter.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub pc: Pc,
    pub mask: u32,
    pub state: State,
}

/// Whether a group can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Waiting(Wait),
}

/// What a group waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Lanes of its warp to come to the same instruction.
    Lanes(u32),
    /// A barrier of the CTA at which it has arrived.
    Barrier(u32),
    /// The cluster's barrier, whose given generation must end.
    Cluster(u64),
    /// A phase of an mbarrier: tested again when any mbarrier changes its phase.
    Mbarrier,
    /// Copies of its own threads.
    Copies,
    /// Registers that other warps give back.
    Registers,
}

/// A warp.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    pub registers: Vec<Lanes>,
    /// The undefined lanes of each register; empty where the kernel has no undefined value.
    pub undefined: Vec<Undefined>,
    pub groups: Vec<Group>,
    /// Lanes that have a thread.
    pub launched: u32,
    /// Lanes that have ended.
    pub exited: u32,
    /// Registers per thread that it holds (`setmaxnreg`).
    pub register_count: u32,
    /// The instructions that changed that count.
    pub register_changes: Vec<SiteId>,
}

impl Warp {
    pub fn new(registers: u32, launched: u32, register_count: u32) -> Self {
        Self {
            registers: vec![[0; LANES]; registers as usize],
            undefined: Vec::new(),
            groups: vec![Group {
                pc: 0,
                mask: launched,
                state: State::Ready,
            }],
            launched,
            exited: 0,
            register_count,
            register_changes: Vec::new(),
        }
    }

    /// Lanes that have not ended.
    pub fn live(&self) -> u32 {
        self.launched & !self.exited
    }

    pub fn is_ready(&self) -> bool {
        self.groups.iter().any(|group| group.state == State::Ready)
    }

    /// The ready group at the smallest pc. Running it first lets groups reconverge.
    pub fn first_ready(&self) -> Option<usize> {
        let ready = self
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.state == State::Ready);
        ready.min_by_key(|(_, group)| group.pc).map(|(index, _)| index)
    }

    /// The ready group number `n`, cyclically.
    pub fn nth_ready(&self, n: u64) -> Option<usize> {
        let ready = || {
            self.groups
                .iter()
                .enumerate()
                .filter(|(_, group)| group.state == State::Ready)
        };
        let count = ready().count() as u64;
        ready().nth((n % count.max(1)) as usize).map(|(index, _)| index)
    }

    /// Merges group `index` with the groups at its instruction that are ready, or that wait there for lanes; returns
    /// the index of the result.
    pub fn merge(&mut self, index: usize) -> usize {
        if self.groups.len() == 1 {
            return index;
        }
        let pc = self.groups[index].pc;
        let joins = |group: &Group| {
            group.pc == pc && matches!(group.state, State::Ready | State::Waiting(Wait::Lanes(_)))
        };
        let mask = self
            .groups
            .iter()
            .filter(|group| joins(group))
            .fold(0, |mask, group| mask | group.mask);
        if mask == self.groups[index].mask {
            self.groups[index].state = State::Ready;
            return index;
        }
        self.groups.retain(|group| !joins(group));
        self.groups.push(Group {
            pc,
            mask,
            state: State::Ready,
        });
        self.groups.len() - 1
    }

    /// Lanes that wait for other lanes at an instruction.
    pub fn lanes_waiting_at(&self, pc: Pc) -> u32 {
        let waits = |group: &&Group| group.pc == pc && matches!(group.state, State::Waiting(Wait::Lanes(_)));
        self.groups
            .iter()
            .filter(waits)
            .fold(0, |mask, group| mask | group.mask)
    }

    /// Lets groups that wait for something try again.
    pub fn wake(&mut self, waits: impl Fn(&Wait) -> bool) {
        for group in &mut self.groups {
            if matches!(&group.state, State::Waiting(wait) if waits(wait)) {
                group.state = State::Ready;
            }
        }
    }

    /// The value of a register in a lane.
    pub fn lane(&self, register: Register, lane: usize) -> u64 {
        self.registers[register as usize][lane]
    }

    /// Sets a register in the lanes of `mask`.
    pub fn set(&mut self, register: Register, mask: u32, values: &Lanes) {
        let to = &mut self.registers[register as usize];
        if mask == u32::MAX {
            *to = *values;
            return;
        }
        for lane in lanes(mask) {
            to[lane] = values[lane];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_at_one_instruction_become_one() {
        let mut warp = Warp::new(1, u32::MAX, 0);
        warp.groups = vec![
            Group {
                pc: 4,
                mask: 1,
                state: State::Ready,
            },
            Group {
                pc: 4,
                mask: 2,
                state: State::Waiting(Wait::Lanes(3)),
            },
            Group {
                pc: 4,
                mask: 4,
                state: State::Waiting(Wait::Mbarrier),
            },
            Group {
                pc: 9,
                mask: 8,
                state: State::Ready,
            },
        ];
        let merged = warp.merge(0);
        assert_eq!((warp.groups[merged].mask, warp.groups.len()), (3, 3));
        assert_eq!(warp.first_ready(), Some(merged));
    }
}
