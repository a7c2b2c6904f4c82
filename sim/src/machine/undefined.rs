//! Undefined values, which nothing has set: where they come from, where they flow, and where one is used.
//!
//! An undefined value may be computed with and handed on; what depends on it is undefined too. It is a fault once it
//! reaches memory, an address, other code or other threads' progress. Few kernels have one at all, so only registers
//! that may hold one are tracked: [`Flows`] finds the instructions concerned, once for each kernel.

use super::Machine;
use super::step::{Flow, Step};
use super::warp::{LANES, Warp, lanes_where};
use crate::finding::FindingKind;
use crate::program::{Edge, Instruction, IntegerOp, Kernel, Register, SiteId};
use crate::warp_exchange;

/// The instructions of a kernel that an undefined value may reach.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    /// By instruction; empty where the kernel has no undefined value.
    concerned: Vec<bool>,
}

/// The lanes of a register that hold no defined value, and the instruction that this came from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undefined {
    pub lanes: u32,
    pub origin: SiteId,
}

impl Flows {
    /// Propagates the undefined values of a kernel to a fixed point, for any order of its instructions.
    pub fn of(kernel: &Kernel) -> Self {
        let is_source = |instruction: &Instruction| matches!(instruction, Instruction::Undefined { .. });
        if !kernel.code.iter().any(is_source) {
            return Self::default();
        }
        let mut reached = vec![false; kernel.registers as usize];
        let is_reached = |reached: &[bool], register: Register| reached[register as usize];
        loop {
            let before = reached.iter().filter(|reached| **reached).count();
            for instruction in &kernel.code {
                for (to, from) in instruction.edges().iter().flat_map(|edge| &edge.moves) {
                    reached[*to as usize] |= is_reached(&reached, *from);
                }
                let flows = match instruction {
                    Instruction::Undefined { .. } => true,
                    // A loaded value is defined, as storing an undefined one is a fault; lanes that do not take part
                    // keep what they have.
                    Instruction::Load { .. } | Instruction::Atomic { .. } => false,
                    other => other.reads().iter().any(|from| is_reached(&reached, *from)),
                };
                if flows {
                    instruction
                        .writes()
                        .iter()
                        .for_each(|to| reached[*to as usize] = true);
                }
            }
            if reached.iter().filter(|reached| **reached).count() == before {
                break;
            }
        }
        let concerns = |instruction: &Instruction| {
            let registers = instruction.reads().into_iter().chain(instruction.writes());
            let moved = instruction.edges().into_iter().flat_map(|edge| &edge.moves);
            registers
                .chain(moved.map(|(to, _)| *to))
                .any(|register| is_reached(&reached, register))
        };
        Self {
            concerned: kernel.code.iter().map(concerns).collect(),
        }
    }

    /// Whether an undefined value may reach any instruction.
    pub fn any(&self) -> bool {
        !self.concerned.is_empty()
    }

    /// Whether an undefined value may reach that instruction.
    #[inline]
    pub fn concerns(&self, pc: u32) -> bool {
        self.concerned.get(pc as usize).copied().unwrap_or(false)
    }
}

impl Warp {
    fn undefined_of(&self, registers: &[Register], mask: u32) -> Undefined {
        let found = registers
            .iter()
            .map(|register| self.undefined[*register as usize])
            .filter(|undefined| undefined.lanes & mask != 0);
        found.fold(Undefined::default(), |all, one| Undefined {
            lanes: all.lanes | one.lanes & mask,
            origin: if all.lanes == 0 { one.origin } else { all.origin },
        })
    }

    fn set_undefined(&mut self, to: Register, mask: u32, undefined: Undefined) {
        let to = &mut self.undefined[to as usize];
        let kept = to.lanes & !mask;
        let new = undefined.lanes & mask;
        *to = Undefined {
            lanes: kept | new,
            origin: if new == 0 { to.origin } else { undefined.origin },
        };
    }

    /// The lanes of `mask` in which the results of an instruction would be undefined. Must be called ahead of its
    /// execution, as an operand may lie in the register of the result.
    pub fn undefined_results(&self, instruction: &Instruction, mask: u32, site: SiteId) -> Undefined {
        match instruction {
            Instruction::Undefined { .. } => Undefined {
                lanes: mask,
                origin: site,
            },
            // A loaded value is defined: storing an undefined one is reported as a fault.
            Instruction::Load { .. } | Instruction::Atomic { .. } => Undefined::default(),
            Instruction::Select {
                condition, yes, no, ..
            } => {
                let taken = lanes_where(mask, |lane| self.lane(*condition, lane) != 0);
                let [condition, yes, no] = [
                    self.undefined_of(&[*condition], mask),
                    self.undefined_of(&[*yes], taken),
                    self.undefined_of(&[*no], mask & !taken),
                ];
                let found = [condition, yes, no].into_iter().find(|one| one.lanes != 0);
                Undefined {
                    lanes: condition.lanes | yes.lanes | no.lanes,
                    origin: found.unwrap_or_default().origin,
                }
            }
            Instruction::Integer {
                op: IntegerOp::And,
                a,
                b,
                ..
            } => {
                let clears = |mask: Register| {
                    let defined = !self.undefined[mask as usize].lanes;
                    lanes_where(defined, |lane| self.lane(mask, lane) == 0)
                };
                let cleared = clears(*a) | clears(*b);
                self.undefined_of(&[*a, *b], mask & !cleared)
            }
            Instruction::Shuffle {
                kind,
                value,
                offset,
                clamp,
                ..
            } => {
                let from = self.undefined[*value as usize];
                let bits = std::array::from_fn(|lane| u64::from(from.lanes >> lane & 1));
                let [offsets, clamps] = [*offset, *clamp].map(|register| self.registers[register as usize]);
                let mut shuffled = [0; LANES];
                warp_exchange::shuffle(*kind, mask, &mut shuffled, &bits, &offsets, &clamps);
                Undefined {
                    lanes: lanes_where(mask, |lane| shuffled[lane] != 0),
                    origin: from.origin,
                }
            }
            Instruction::Vote {
                mask: named, value, ..
            }
            | Instruction::WarpReduce {
                mask: named, value, ..
            } => {
                // A lane's result depends on the values of all lanes that its mask names.
                let from = self.undefined_of(&[*value], mask);
                Undefined {
                    lanes: lanes_where(mask, |lane| from.lanes & self.lane(*named, lane) as u32 != 0),
                    ..from
                }
            }
            other => self.undefined_of(&other.reads(), mask),
        }
    }

    /// Records in which of the lanes of `mask`, which have executed an instruction, its results are undefined.
    pub fn set_results_undefined(&mut self, instruction: &Instruction, mask: u32, undefined: Undefined) {
        for to in instruction.writes() {
            self.set_undefined(to, mask, undefined);
        }
    }

    /// Passes undefined values on along an edge.
    pub fn follow_edge(&mut self, edge: &Edge, mask: u32) {
        let moved: Vec<Undefined> = edge
            .moves
            .iter()
            .map(|(_, from)| self.undefined[*from as usize])
            .collect();
        for ((to, _), undefined) in edge.moves.iter().zip(moved) {
            self.set_undefined(*to, mask, undefined);
        }
    }
}

impl Machine<'_> {
    /// Executes an instruction as [`Self::execute`] does, and records which of its results are undefined in the lanes
    /// that have executed it; those that wait execute it later.
    pub(super) fn execute_with_undefined(&mut self, step: Step) -> Flow {
        if !self.flows.concerns(step.pc) {
            return self.execute(step);
        }
        self.check_undefined(step);
        let kernel = self.kernel;
        let instruction = &kernel.code[step.pc as usize];
        let mask = self.guarded(step, instruction.guard());
        let site = self.site(step);
        let undefined = self.warp(step.at).undefined_results(instruction, mask, site);
        let flow = self.execute(step);
        let done = match &flow {
            Flow::Wait(_) => 0,
            Flow::Split(done, _) => *done,
            Flow::Next | Flow::WaitBehind(_) | Flow::Branch(_) | Flow::End => step.mask,
        };
        let warp = self.warp(step.at);
        warp.set_results_undefined(instruction, mask & done, undefined);
        flow
    }

    /// Reports an undefined value that reaches more than registers through an instruction.
    fn check_undefined(&mut self, step: Step) {
        let kernel = self.kernel;
        let instruction = &kernel.code[step.pc as usize];
        let guard = instruction.guard();
        let predicate: Vec<Register> = guard.iter().map(|guard| guard.register).collect();
        let mask = self.guarded(step, guard);
        let warp = self.warp(step.at);
        let unguarded = warp.undefined_of(&predicate, step.mask);
        let observed = warp.undefined_of(&instruction.observes(), mask);
        let found = if unguarded.lanes != 0 { unguarded } else { observed };
        if found.lanes == 0 {
            return;
        }
        let message = match instruction {
            _ if unguarded.lanes != 0 => "is guarded by a predicate that nothing has set",
            Instruction::Store { .. } => "stores what depends on a value that nothing has set",
            Instruction::ConditionalBranch { .. } | Instruction::Switch { .. } => {
                "branches on a value that nothing has set"
            }
            _ => "depends on a value that nothing has set",
        };
        let notes = vec![self.note(found.origin, "leaves it undefined")];
        let step = Step {
            mask: found.lanes & found.lanes.wrapping_neg(),
            ..step
        };
        self.find(FindingKind::UndefinedValue, step, None, message.to_owned(), notes);
    }
}
