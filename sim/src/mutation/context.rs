//! The facts about a kernel that mutations use, and the operands that they make.

use std::collections::{HashMap, HashSet};

use super::Value;
use crate::program::{Instruction, IntegerOp, Kernel, Register};

/// Registers that a mutant has besides those of its kernel.
pub(super) const FRESH_REGISTERS: u32 = 2;

/// Facts about the kernel that is mutated.
pub(super) struct Context {
    /// Values of registers that hold one constant throughout.
    constants: HashMap<Register, u64>,
    /// Registers that some instruction reads.
    read: HashSet<Register>,
    /// The first register that the kernel does not have.
    pub fresh: Register,
    /// Threads of a CTA, if the kernel was compiled for a certain number.
    pub threads: Option<u32>,
}

impl Context {
    pub fn new(kernel: &Kernel) -> Self {
        let constants = kernel.code.iter().filter_map(|instruction| match instruction {
            // Constants are values of their own in SSA form: no edge writes to them.
            Instruction::Constant { to, value } => Some((*to, *value)),
            _ => None,
        });
        Self {
            constants: constants.collect(),
            read: kernel.code.iter().flat_map(Instruction::reads).collect(),
            fresh: kernel.registers,
            threads: kernel.required_block.map(|block| block.iter().product()),
        }
    }

    /// Whether an instruction does nothing but compute a result that nobody reads.
    pub fn is_dead(&self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::Copy { to, .. }
            | Instruction::Select { to, .. }
            | Instruction::Integer { to, .. }
            | Instruction::Address { to, .. }
            | Instruction::CompareInteger { to, .. }
            | Instruction::Float { to, .. }
            | Instruction::FusedMultiplyAdd { to, .. }
            | Instruction::CompareFloat { to, .. }
            | Instruction::Approximate { to, .. }
            | Instruction::Convert { to, .. }
            | Instruction::Special { to, .. } => !self.read.contains(to),
            _ => false,
        }
    }

    /// The constant that a register holds.
    pub fn constant(&self, register: Register) -> Option<u64> {
        self.constants.get(&register).copied()
    }

    /// A constant of so many bits.
    pub fn value(&self, value: u64, bits: u8) -> Value {
        let mask = u64::MAX >> (64 - u32::from(bits.clamp(1, 64)));
        Value {
            code: vec![Instruction::Constant {
                to: self.fresh,
                value: value & mask,
            }],
            register: self.fresh,
        }
    }

    /// A register's value plus `by`, in so many bits.
    pub fn more(&self, register: Register, by: i64, bits: u8) -> Value {
        if let Some(constant) = self.constant(register) {
            return self.value(constant.wrapping_add_signed(by), bits);
        }
        let mut value = self.value(by as u64, bits);
        let to = self.fresh + 1;
        value.code.push(Instruction::Integer {
            op: IntegerOp::Add,
            bits,
            to,
            a: register,
            b: value.register,
        });
        value.register = to;
        value
    }

    /// The other one of two parities, 0 and 1.
    pub fn flipped(&self, parity: Register) -> Value {
        let mut value = self.value(1, 32);
        let to = self.fresh + 1;
        value.code.push(Instruction::Integer {
            op: IntegerOp::Xor,
            bits: 32,
            to,
            a: parity,
            b: value.register,
        });
        value.register = to;
        value
    }
}
