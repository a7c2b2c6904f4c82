//! Mistakes in where accesses go: offsets of layouts, strides, and alignment that vectors promise.

use norma_targets::ACCESS_BYTES;

use super::context::Context;
use super::{Variant, after, with};
use crate::program::{Instruction, IntegerOp, Register, SpecialRegister};

pub(super) fn variants(context: &Context, instruction: &Instruction) -> Vec<Variant> {
    match instruction {
        Instruction::Address { to, scale, .. } => {
            let beside = |what, by: i64| {
                let one = context.value(1, 64);
                let mut code = vec![instruction.clone()];
                code.extend(one.code);
                code.push(Instruction::Address {
                    to: *to,
                    a: *to,
                    b: one.register,
                    bits: 64,
                    scale: by,
                });
                Variant::new(what, code)
            };
            // Off by one element.
            let mut variants = vec![
                beside("an element further", *scale),
                beside("an element nearer", -scale),
            ];
            // Off by one vector.
            if scale.abs() < ACCESS_BYTES {
                variants.push(beside("a vector further", ACCESS_BYTES));
                variants.push(beside("a vector nearer", -ACCESS_BYTES));
            }
            // A stride in elements where bytes are meant, or of another type.
            let stride = with(instruction, |address| {
                if let Instruction::Address { scale, .. } = address {
                    *scale *= 2;
                }
            });
            variants.push(Variant::other("double the stride", stride));
            variants
        }
        Instruction::Load { align, .. } | Instruction::Store { align, .. } => {
            let promised = i64::from(*align);
            let bytes = bytes(instruction);
            let mut variants = Vec::new();
            if promised < ACCESS_BYTES {
                // A vector that the address has no alignment for.
                let wider = with(instruction, |access| {
                    if let Instruction::Load { align, .. } | Instruction::Store { align, .. } = access {
                        *align = bytes.max(*align) * 2;
                    }
                });
                variants.push(Variant::other("promise twice the alignment", wider));
            }
            variants
        }
        Instruction::Special { register, to } => {
            // One register read in place of another.
            let other = match register {
                SpecialRegister::ThreadId(axis) => SpecialRegister::CtaId(*axis),
                SpecialRegister::CtaId(axis) => SpecialRegister::ThreadId(*axis),
                SpecialRegister::LaneId => SpecialRegister::WarpId,
                SpecialRegister::WarpId => SpecialRegister::LaneId,
                SpecialRegister::ClusterCtaRank => SpecialRegister::CtaId(0),
                _ => return Vec::new(),
            };
            let what = match register {
                SpecialRegister::ThreadId(_) => "read %ctaid in place of %tid",
                SpecialRegister::CtaId(_) => "read %tid in place of %ctaid",
                SpecialRegister::LaneId => "read %warpid in place of %laneid",
                SpecialRegister::WarpId => "read %laneid in place of %warpid",
                _ => "read %ctaid in place of the rank",
            };
            vec![Variant::other(
                what,
                Instruction::Special {
                    register: other,
                    to: *to,
                },
            )]
        }
        Instruction::Integer {
            op: IntegerOp::And,
            bits,
            b,
            ..
        } => smaller_mask(context, instruction, *b, *bits),
        Instruction::Integer { bits, b, .. } => off_by_one(context, instruction, *b, *bits),
        _ => Vec::new(),
    }
}

/// The bytes of an access, or 1.
fn bytes(access: &Instruction) -> u32 {
    match access {
        Instruction::Load { to, bytes, .. } => to.len() as u32 * u32::from(*bytes),
        Instruction::Store { from, bytes, .. } => from.len() as u32 * u32::from(*bytes),
        _ => 1,
    }
}

/// A mask without its lowest bit, as of a wrong power of two.
fn smaller_mask(context: &Context, instruction: &Instruction, operand: Register, bits: u8) -> Vec<Variant> {
    let Some(mask) = context.constant(operand).filter(|mask| bits > 1 && *mask != 0) else {
        return Vec::new();
    };
    let smaller = context.value(mask & (mask - 1), bits);
    let changed = with(instruction, |integer| {
        if let Instruction::Integer { b, .. } = integer {
            *b = smaller.register;
        }
    });
    vec![Variant::new(
        "a bit less in the mask",
        after(smaller.code, changed),
    )]
}

/// A constant of an index computation that is off by one.
fn off_by_one(context: &Context, instruction: &Instruction, operand: Register, bits: u8) -> Vec<Variant> {
    if bits == 1 || context.constant(operand).is_none() {
        return Vec::new();
    }
    [
        ("one more than the constant", 1),
        ("one less than the constant", -1),
    ]
    .into_iter()
    .map(|(what, by)| {
        let other = context.more(operand, by, bits);
        let changed = with(instruction, |integer| {
            if let Instruction::Integer { b, .. } = integer {
                *b = other.register;
            }
        });
        Variant::new(what, after(other.code, changed))
    })
    .collect()
}
