//! Mistakes in what is computed: lowerings that pick the wrong instruction, operand or rounding.

use super::context::Context;
use super::{Variant, after, with};
use crate::program::{
    Conversion, FloatOp, FloatPredicate, Format, Instruction, IntegerOp, Register, Rounding,
};

pub(super) fn variants(context: &Context, instruction: &Instruction) -> Vec<Variant> {
    match instruction {
        Instruction::Float { op, format, a, b, .. } => {
            let mut variants: Vec<Variant> = other_float(*op)
                .into_iter()
                .map(|(what, other)| {
                    let changed = with(instruction, |float| {
                        if let Instruction::Float { op, .. } = float {
                            *op = other;
                        }
                    });
                    Variant::other(what, changed)
                })
                .collect();
            for (operand, is_left) in [(*a, true), (*b, false)] {
                if a == b && is_left {
                    continue;
                }
                variants.extend(float_constant(
                    context,
                    instruction,
                    operand,
                    *format,
                    |float, to| {
                        if let Instruction::Float { a, b, .. } = float {
                            *(if is_left { a } else { b }) = to;
                        }
                    },
                ));
            }
            variants
        }
        Instruction::FusedMultiplyAdd { .. } => {
            // Operands in the order of another instruction.
            let swapped = with(instruction, |fma| {
                if let Instruction::FusedMultiplyAdd { a, c, .. } = fma {
                    std::mem::swap(a, c);
                }
            });
            vec![Variant::other("swap a factor and the addend", swapped)]
        }
        Instruction::Convert { .. } => convert(instruction),
        Instruction::CompareFloat { predicate, .. } => {
            let Some(other) = other_comparison(*predicate) else {
                return Vec::new();
            };
            let changed = with(instruction, |compare| {
                if let Instruction::CompareFloat { predicate, .. } = compare {
                    *predicate = other;
                }
            });
            vec![Variant::other("compare the other way round", changed)]
        }
        Instruction::Integer { op, .. } => {
            let other = match op {
                IntegerOp::Add => IntegerOp::Sub,
                IntegerOp::Sub => IntegerOp::Add,
                IntegerOp::MaxSigned => IntegerOp::MinSigned,
                IntegerOp::MinSigned => IntegerOp::MaxSigned,
                IntegerOp::MaxUnsigned => IntegerOp::MinUnsigned,
                IntegerOp::MinUnsigned => IntegerOp::MaxUnsigned,
                IntegerOp::And => IntegerOp::Or,
                IntegerOp::Or => IntegerOp::And,
                IntegerOp::DivUnsigned => IntegerOp::RemUnsigned,
                IntegerOp::RemUnsigned => IntegerOp::DivUnsigned,
                IntegerOp::DivSigned => IntegerOp::RemSigned,
                IntegerOp::RemSigned => IntegerOp::DivSigned,
                _ => return Vec::new(),
            };
            let changed = with(instruction, |integer| {
                if let Instruction::Integer { op, .. } = integer {
                    *op = other;
                }
            });
            vec![Variant::other("compute the opposite", changed)]
        }
        _ => Vec::new(),
    }
}

/// What a lowering could pick in place of a float operation.
fn other_float(op: FloatOp) -> Vec<(&'static str, FloatOp)> {
    // The combination of another reduction.
    let opposite = "compute the opposite";
    // NaN that wins, or loses, against the definition.
    let nan = "treat NaN the other way";
    match op {
        FloatOp::Add => vec![(opposite, FloatOp::Sub)],
        FloatOp::Sub => vec![(opposite, FloatOp::Add)],
        FloatOp::Mul => vec![("add in place of multiplying", FloatOp::Add)],
        FloatOp::Div => vec![("multiply in place of dividing", FloatOp::Mul)],
        FloatOp::MaxNum => vec![(opposite, FloatOp::MinNum), (nan, FloatOp::Maximum)],
        FloatOp::MinNum => vec![(opposite, FloatOp::MaxNum), (nan, FloatOp::Minimum)],
        FloatOp::Maximum => vec![(opposite, FloatOp::Minimum), (nan, FloatOp::MaxNum)],
        FloatOp::Minimum => vec![(opposite, FloatOp::Maximum), (nan, FloatOp::MinNum)],
        FloatOp::Abs => vec![("negate in place of the magnitude", FloatOp::Neg)],
        _ => Vec::new(),
    }
}

fn other_comparison(predicate: FloatPredicate) -> Option<FloatPredicate> {
    use FloatPredicate::{Oeq, Oge, Ogt, Ole, Olt, One, Ord, Ueq, Uge, Ugt, Ule, Ult, Une, Uno};
    Some(match predicate {
        Ogt => Olt,
        Olt => Ogt,
        Oge => Ole,
        Ole => Oge,
        Ugt => Ult,
        Ult => Ugt,
        Uge => Ule,
        Ule => Uge,
        Oeq => Une,
        Une => Oeq,
        Ueq => One,
        One => Ueq,
        Ord => Uno,
        Uno => Ord,
        FloatPredicate::False | FloatPredicate::True => return None,
    })
}

fn convert(instruction: &Instruction) -> Vec<Variant> {
    let Instruction::Convert { conversion, .. } = instruction else {
        return Vec::new();
    };
    let (what, other) = match *conversion {
        // A narrowing that cuts off bits.
        Conversion::Float {
            from,
            to,
            rounding: Rounding::NearestEven,
            saturate,
            relu,
        } if to.bits() < from.bits() => (
            "round towards zero",
            Conversion::Float {
                from,
                to,
                rounding: Rounding::Zero,
                saturate,
                relu,
            },
        ),
        // An index without its sign.
        Conversion::SignExtend { from, .. } => ("widen without the sign", Conversion::ZeroExtend { from }),
        _ => return Vec::new(),
    };
    let changed = with(instruction, |convert| {
        if let Instruction::Convert { conversion, .. } = convert {
            *conversion = other;
        }
    });
    vec![Variant::other(what, changed)]
}

/// A constant that was computed wrong, or is of another reduction: an epsilon or a neutral element that is not there,
/// a count that is twice as much.
fn float_constant(
    context: &Context,
    instruction: &Instruction,
    operand: Register,
    format: Format,
    set: impl Fn(&mut Instruction, Register),
) -> Vec<Variant> {
    let Some(pattern) = context.constant(operand).filter(|_| format == Format::F32) else {
        return Vec::new();
    };
    let number = f32::from_bits(pattern as u32);
    let mut others = Vec::new();
    if number != 0.0 {
        others.push(("zero in place of the constant", 0.0));
    }
    if number.is_finite() && number != 0.0 {
        others.push(("twice the constant", 2.0 * number));
    }
    others
        .into_iter()
        .map(|(what, other): (_, f32)| {
            let value = context.value(u64::from(other.to_bits()), 32);
            let changed = with(instruction, |float| set(float, value.register));
            Variant::new(what, after(value.code, changed))
        })
        .collect()
}
