//! Mistakes in exchanges between the lanes of a warp: the expansion of reductions picks distances and masks.

use super::context::Context;
use super::{Variant, after, with};
use crate::program::{Instruction, ShuffleKind, WarpReduceOp};

pub(super) fn variants(context: &Context, instruction: &Instruction) -> Vec<Variant> {
    match instruction {
        Instruction::Shuffle { .. } => shuffle(context, instruction),
        Instruction::WarpReduce { op, mask, .. } => {
            let other = match op {
                WarpReduceOp::MinSigned => WarpReduceOp::MaxSigned,
                WarpReduceOp::MaxSigned => WarpReduceOp::MinSigned,
                WarpReduceOp::MinUnsigned => WarpReduceOp::MaxUnsigned,
                WarpReduceOp::MaxUnsigned => WarpReduceOp::MinUnsigned,
                WarpReduceOp::And => WarpReduceOp::Or,
                WarpReduceOp::Or => WarpReduceOp::And,
                WarpReduceOp::Add => WarpReduceOp::Xor,
                WarpReduceOp::Xor => WarpReduceOp::Add,
                WarpReduceOp::MinNum => WarpReduceOp::MaxNum,
                WarpReduceOp::MaxNum => WarpReduceOp::MinNum,
                WarpReduceOp::Minimum => WarpReduceOp::Maximum,
                WarpReduceOp::Maximum => WarpReduceOp::Minimum,
            };
            // The combination of another reduction.
            let combined = with(instruction, |reduce| {
                if let Instruction::WarpReduce { op, .. } = reduce {
                    *op = other;
                }
            });
            let mut variants = vec![Variant::other("reduce by another operation", combined)];
            variants.extend(without_a_lane(context, instruction, *mask));
            variants
        }
        Instruction::Vote { mask, .. } => without_a_lane(context, instruction, *mask).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The mask of a warp that is not full.
fn without_a_lane(context: &Context, instruction: &Instruction, mask: u32) -> Option<Variant> {
    let lanes = context.constant(mask)? as u32;
    if lanes.count_ones() < 2 {
        return None;
    }
    let fewer = context.value(u64::from(lanes & !(1 << (31 - lanes.leading_zeros()))), 32);
    let smaller = with(instruction, |exchange| match exchange {
        Instruction::Shuffle { mask, .. }
        | Instruction::Vote { mask, .. }
        | Instruction::WarpReduce { mask, .. } => *mask = fewer.register,
        _ => {}
    });
    Some(Variant::new(
        "leave the last lane out of the mask",
        after(fewer.code, smaller),
    ))
}

fn shuffle(context: &Context, instruction: &Instruction) -> Vec<Variant> {
    let Instruction::Shuffle {
        kind,
        mask,
        offset,
        clamp,
        value,
        to,
        ..
    } = instruction
    else {
        return Vec::new();
    };
    let mut variants: Vec<Variant> = without_a_lane(context, instruction, *mask).into_iter().collect();
    let offset_of = |what, distance: u64| {
        let other = context.value(distance, 32);
        let moved = with(instruction, |shuffle| {
            if let Instruction::Shuffle { offset, .. } = shuffle {
                *offset = other.register;
            }
        });
        Variant::new(what, after(other.code, moved))
    };
    // A tree that skips a step, or goes one twice.
    if let Some(distance) = context.constant(*offset) {
        variants.push(offset_of("halve the distance", distance / 2));
        if distance * 2 <= 16 {
            variants.push(offset_of("double the distance", distance * 2));
        }
    }
    // Segments that keep lanes apart which must exchange: the clamp holds the segments' mask in bits 8 to 12 (PTX ISA,
    // "shfl.sync").
    let distance = context
        .constant(*offset)
        .filter(|distance| distance.is_power_of_two());
    if let (ShuffleKind::Butterfly | ShuffleKind::Down, Some(distance), Some(bits)) =
        (kind, distance, context.constant(*clamp))
    {
        let segment = context.value(bits | (0x1f & !(distance - 1)) << 8, 32);
        let apart = with(instruction, |shuffle| {
            if let Instruction::Shuffle { clamp, .. } = shuffle {
                *clamp = segment.register;
            }
        });
        variants.push(Variant::new(
            "exchange in smaller segments",
            after(segment.code, apart),
        ));
    }
    // A step of the tree that is not there.
    variants.push(Variant::other(
        "keep the lane's own value",
        Instruction::Copy {
            to: *to,
            from: *value,
        },
    ));
    variants
}
