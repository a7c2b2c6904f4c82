//! Undefined values, which nothing has set: where they come from, where they flow, and where one is used.
//!
//! An undefined value may be computed with and handed on; what depends on it is undefined too. It is a fault once it
//! reaches memory, an address, other code or other threads' progress. Few kernels have one at all, so only registers
//! that may hold one are tracked: [`Flows`] finds the instructions concerned, once for each kernel.

use super::Machine;
use super::step::Turn;
use super::warp::{LANES, Warp, lanes};
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

    /// Records which results of an instruction, executed by the lanes of `mask`, are undefined. Must be called ahead of
    /// its execution, as an operand may lie in the register of the result.
    pub fn follow_undefined(&mut self, instruction: &Instruction, mask: u32, site: SiteId) {
        let undefined = match instruction {
            Instruction::Undefined { .. } => Undefined {
                lanes: mask,
                origin: site,
            },
            // A loaded value is defined: storing an undefined one is reported as a fault.
            Instruction::Load { .. } | Instruction::Atomic { .. } => Undefined::default(),
            Instruction::Select {
                condition, yes, no, ..
            } => {
                let taken = lanes(mask)
                    .filter(|lane| self.lane(*condition, *lane) != 0)
                    .fold(0, |taken, lane| taken | 1u32 << lane);
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
                    lanes(defined)
                        .filter(|lane| self.lane(mask, *lane) == 0)
                        .fold(0, |cleared, lane| cleared | 1u32 << lane)
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
                    lanes: lanes(mask)
                        .filter(|lane| shuffled[*lane] != 0)
                        .fold(0, |lanes, lane| lanes | 1 << lane),
                    origin: from.origin,
                }
            }
            Instruction::Vote { value, .. } | Instruction::WarpReduce { value, .. } => {
                let any = self.undefined_of(&[*value], mask);
                Undefined {
                    lanes: if any.lanes == 0 { 0 } else { mask },
                    ..any
                }
            }
            other => self.undefined_of(&other.reads(), mask),
        };
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
    /// Reports an undefined value that reaches more than registers through an instruction, and records which of its
    /// results are undefined.
    pub(super) fn check_undefined(&mut self, turn: Turn) {
        let kernel = self.kernel;
        let instruction = &kernel.code[turn.pc as usize];
        let guard = instruction.guard();
        let predicate: Vec<Register> = guard.iter().map(|guard| guard.register).collect();
        let mask = self.guarded(turn, guard);
        let site = self.site(turn);
        let warp = self.warp(turn.at);
        let unguarded = warp.undefined_of(&predicate, turn.mask);
        let observed = warp.undefined_of(&instruction.observes(), mask);
        warp.follow_undefined(instruction, mask, site);
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
        let turn = Turn {
            mask: found.lanes & found.lanes.wrapping_neg(),
            ..turn
        };
        self.find(FindingKind::UndefinedValue, turn, None, message.to_owned(), notes);
    }
}
