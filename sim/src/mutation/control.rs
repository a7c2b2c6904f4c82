//! Mistakes in which threads do what: guards of a row's tail, of rows past the last, of the one thread that writes.

use super::context::Context;
use super::{Variant, after, with};
use crate::program::{Guard, Instruction, IntegerPredicate};

pub(super) fn variants(context: &Context, instruction: &Instruction) -> Vec<Variant> {
    if let Some(guard) = instruction.guard() {
        // A tail that is not masked.
        let all = with(instruction, |access| set_guard(access, None));
        // The else branch.
        let others = Guard {
            negated: !guard.negated,
            ..guard
        };
        let inverted = with(instruction, |access| set_guard(access, Some(others)));
        return vec![
            Variant::other("drop the guard", all),
            Variant::other("invert the guard", inverted),
        ];
    }
    match instruction {
        Instruction::ConditionalBranch { condition, yes, no } => vec![
            Variant::other(
                "invert the branch",
                Instruction::ConditionalBranch {
                    condition: *condition,
                    yes: no.clone(),
                    no: yes.clone(),
                },
            ),
            // A guard folded away.
            Variant::other("always take the branch", Instruction::Branch(yes.clone())),
        ],
        Instruction::Select {
            to,
            condition,
            yes,
            no,
        } => vec![Variant::other(
            "swap the arms",
            Instruction::Select {
                to: *to,
                condition: *condition,
                yes: *no,
                no: *yes,
            },
        )],
        Instruction::CompareInteger {
            predicate, bits, b, ..
        } => {
            // A bound that is included, or not.
            let other = edge(*predicate);
            let changed = with(instruction, |compare| {
                if let Instruction::CompareInteger { predicate, .. } = compare {
                    *predicate = other;
                }
            });
            let mut variants = vec![Variant::other("include or exclude the bound", changed)];
            if context.constant(*b).is_none() || *bits == 1 {
                return variants;
            }
            // A bound that is off by one.
            for (what, by) in [("one more than the bound", 1), ("one less than the bound", -1)] {
                let bound = context.more(*b, by, *bits);
                let changed = with(instruction, |compare| {
                    if let Instruction::CompareInteger { b, .. } = compare {
                        *b = bound.register;
                    }
                });
                variants.push(Variant::new(what, after(bound.code, changed)));
            }
            variants
        }
        _ => Vec::new(),
    }
}

fn edge(predicate: IntegerPredicate) -> IntegerPredicate {
    match predicate {
        IntegerPredicate::Eq => IntegerPredicate::Ne,
        IntegerPredicate::Ne => IntegerPredicate::Eq,
        IntegerPredicate::Slt => IntegerPredicate::Sle,
        IntegerPredicate::Sle => IntegerPredicate::Slt,
        IntegerPredicate::Sgt => IntegerPredicate::Sge,
        IntegerPredicate::Sge => IntegerPredicate::Sgt,
        IntegerPredicate::Ult => IntegerPredicate::Ule,
        IntegerPredicate::Ule => IntegerPredicate::Ult,
        IntegerPredicate::Ugt => IntegerPredicate::Uge,
        IntegerPredicate::Uge => IntegerPredicate::Ugt,
    }
}

fn set_guard(instruction: &mut Instruction, to: Option<Guard>) {
    match instruction {
        Instruction::Load { guard, .. }
        | Instruction::Store { guard, .. }
        | Instruction::Atomic { guard, .. }
        | Instruction::Mbarrier { guard, .. }
        | Instruction::CopyAsync { guard, .. }
        | Instruction::BulkCopy { guard, .. }
        | Instruction::TensorCopy { guard, .. }
        | Instruction::StoreAsync { guard, .. } => *guard = to,
        _ => {}
    }
}
