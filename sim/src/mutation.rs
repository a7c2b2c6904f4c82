//! Broken kernels, made from right ones: each has one mistake that a compiler could make.
//!
//! A mutant that nothing catches shows that the simulator, or the comparison of the results, misses that mistake, or
//! that the kernel does not need what was changed. So running all mutants of a kernel tests the simulator and the
//! tolerance, and finds the barriers that a kernel could do without.
//!
//! | concern | mistakes |
//! |---|---|
//! | `synchronization` | what orders threads and copies is missing, weaker, or counts wrong |
//! | `exchange` | lanes of a warp exchange with the wrong lane, or without one |
//! | `addresses` | an access is beside its place, or is promised more alignment than it has |
//! | `control` | the wrong threads do something, or something too often |
//! | `arithmetic` | the wrong thing is computed |

mod addresses;
mod arithmetic;
mod context;
mod control;
mod exchange;
mod synchronization;

use std::fmt;

use crate::program::{Instruction, Kernel, Pc, Register, Site};
use context::{Context, FRESH_REGISTERS};

/// The kinds of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Concern {
    /// The order of threads and copies.
    Synchronization,
    /// Exchange between the lanes of a warp.
    Exchange,
    /// The addresses of accesses.
    Addresses,
    /// Which threads do what, and how often.
    Control,
    /// The values that are computed.
    Arithmetic,
}

impl Concern {
    /// All of them.
    pub const ALL: [Concern; 5] = [
        Concern::Synchronization,
        Concern::Exchange,
        Concern::Addresses,
        Concern::Control,
        Concern::Arithmetic,
    ];

    /// Its name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Synchronization => "synchronization",
            Self::Exchange => "exchange",
            Self::Addresses => "addresses",
            Self::Control => "control",
            Self::Arithmetic => "arithmetic",
        }
    }
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One change to a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// The instruction that is changed.
    pub pc: Pc,
    /// The instruction's site.
    pub site: Site,
    /// The kind of mistake.
    pub concern: Concern,
    /// What is done to it, as a verb phrase.
    pub what: &'static str,
    /// The instructions that replace it.
    code: Vec<Instruction>,
}

/// A replacement for an instruction.
struct Variant {
    what: &'static str,
    code: Vec<Instruction>,
}

impl Variant {
    fn new(what: &'static str, code: Vec<Instruction>) -> Self {
        Self { what, code }
    }

    /// One instruction in place of another.
    fn other(what: &'static str, instruction: Instruction) -> Self {
        Self::new(what, vec![instruction])
    }

    /// Nothing in place of an instruction.
    fn dropped(what: &'static str) -> Self {
        Self::new(what, Vec::new())
    }
}

impl Mutation {
    /// The kernel with the change.
    pub fn apply(&self, kernel: &Kernel) -> Kernel {
        let mut mutant = kernel.clone();
        let pc = self.pc as usize;
        let Some(site) = mutant.sites.get(pc).copied() else {
            return mutant;
        };
        mutant.registers += FRESH_REGISTERS;
        mutant.code.splice(pc..=pc, self.code.iter().cloned());
        mutant
            .sites
            .splice(pc..=pc, std::iter::repeat_n(site, self.code.len()));
        for instruction in &mut mutant.code {
            for edge in instruction.edges_mut() {
                if edge.target > self.pc {
                    edge.target = edge.target - 1 + self.code.len() as Pc;
                }
            }
        }
        mutant
    }
}

/// All mutations of a kernel, in the order of its code. An instruction whose result nobody reads, such as the rest of a
/// vector of which one element is used, is left alone: code generation drops it.
pub fn mutations(kernel: &Kernel, sites: &[Site]) -> Vec<Mutation> {
    let context = Context::new(kernel);
    let mut found = Vec::new();
    for (pc, instruction) in kernel.code.iter().enumerate() {
        if context.is_dead(instruction) {
            continue;
        }
        let site = kernel.sites.get(pc).and_then(|site| sites.get(*site as usize));
        for concern in Concern::ALL {
            let variants = match concern {
                Concern::Synchronization => synchronization::variants(&context, instruction),
                Concern::Exchange => exchange::variants(&context, instruction),
                Concern::Addresses => addresses::variants(&context, instruction),
                Concern::Control => control::variants(&context, instruction),
                Concern::Arithmetic => arithmetic::variants(&context, instruction),
            };
            found.extend(variants.into_iter().map(|variant| Mutation {
                pc: pc as Pc,
                site: site.cloned().unwrap_or_default(),
                concern,
                what: variant.what,
                code: variant.code,
            }));
        }
    }
    found
}

/// The instruction with a change.
fn with(instruction: &Instruction, change: impl FnOnce(&mut Instruction)) -> Instruction {
    let mut changed = instruction.clone();
    change(&mut changed);
    changed
}

/// The instructions `ahead`, followed by the one that reads their result.
fn after(mut ahead: Vec<Instruction>, instruction: Instruction) -> Vec<Instruction> {
    ahead.push(instruction);
    ahead
}

/// A register, and the instructions that compute its value.
struct Value {
    code: Vec<Instruction>,
    register: Register,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Edge, IntegerOp};

    /// A loop around a barrier, whose exit lies behind it.
    fn kernel() -> Kernel {
        let edge = |target| Edge {
            target,
            moves: Vec::new(),
        };
        let code = vec![
            Instruction::Constant { to: 0, value: 1 },
            Instruction::WarpBarrier { mask: 0 },
            Instruction::Integer {
                op: IntegerOp::Add,
                bits: 32,
                to: 1,
                a: 0,
                b: 0,
            },
            Instruction::ConditionalBranch {
                condition: 0,
                yes: edge(1),
                no: edge(4),
            },
            Instruction::Return,
        ];
        Kernel {
            registers: 2,
            sites: vec![0; code.len()],
            code,
            ..Kernel::default()
        }
    }

    fn targets(kernel: &Kernel) -> Vec<Pc> {
        let edges = kernel.code.iter().flat_map(Instruction::edges);
        edges.map(|edge| edge.target).collect()
    }

    #[test]
    fn edges_follow_their_blocks() {
        let kernel = kernel();
        let mutation = |code| Mutation {
            pc: 1,
            site: Site::default(),
            concern: Concern::Synchronization,
            what: "",
            code,
        };
        let dropped = mutation(Vec::new()).apply(&kernel);
        assert_eq!((targets(&dropped), dropped.sites.len()), (vec![1, 3], 4));
        let barrier = kernel.code[1].clone();
        let doubled = mutation(vec![barrier.clone(), barrier]).apply(&kernel);
        assert_eq!((targets(&doubled), doubled.sites.len()), (vec![1, 5], 6));
    }

    #[test]
    fn what_nobody_reads_is_left_alone() {
        let mut kernel = kernel();
        let mutated = |kernel: &Kernel| mutations(kernel, &[]).iter().any(|mutation| mutation.pc == 2);
        assert!(!mutated(&kernel));
        kernel.code[1] = Instruction::WarpBarrier { mask: 1 };
        assert!(mutated(&kernel));
    }
}
