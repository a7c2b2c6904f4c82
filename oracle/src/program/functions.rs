//! The functions behind the scalar ops: one for every op of the table in `norma_bundle::scalar_op`.

use std::cmp::Ordering;
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, LOG2_E};

use norma_bundle::ScalarOp;

use crate::scaled::Scaled;

/// How an op is evaluated.
#[derive(Clone, Copy)]
pub(super) enum Function {
    /// A smooth function of one float, or one whose corners do not matter.
    Unary(fn(Scaled) -> Scaled),
    /// A step function of one float, with whole numbers as values.
    Step(fn(f64) -> f64),
    /// A function of two floats.
    Binary(fn(Scaled, Scaled) -> Scaled),
    /// A function of three floats.
    Ternary(fn(Scaled, Scaled, Scaled) -> Scaled),
    /// A function of one integer, sign-extended, and its width in bits.
    Count(fn(i64, u32) -> i64),
    /// A function of two integers, sign-extended, and their width in bits; `None` where it is undefined.
    Integer(fn(i64, i64, u32) -> Option<i64>, Error),
    /// A comparison, by its predicate.
    Compare,
    /// The choice of one of two values.
    Select,
    /// A conversion of a float to another type of float.
    FloatToFloat,
    /// A conversion of a float to an integer, signed or not.
    FloatToInteger { signed: bool },
    /// A conversion of an integer, signed or not, to a float.
    IntegerToFloat { signed: bool },
    /// A conversion of an integer, signed or not, to another type of integer.
    IntegerToInteger { signed: bool },
    /// A reinterpretation of the bits as another type.
    Bits,
}

/// How errors of the operands of an integer function propagate to its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Error {
    /// The errors of both operands add.
    Sum,
    /// Each operand's error is multiplied by the other operand.
    Product,
    /// The larger of both errors.
    Larger,
    /// The result may be anything.
    Lost,
}

pub(super) fn of(op: ScalarOp) -> Function {
    use Function::{Binary, Compare, Integer, Select, Step, Ternary, Unary};
    match op {
        ScalarOp::AddF => Binary(|a, b| a + b),
        ScalarOp::SubF => Binary(|a, b| a - b),
        ScalarOp::MulF => Binary(|a, b| a * b),
        ScalarOp::DivF => Binary(|a, b| a / b),
        ScalarOp::NegF => Unary(|x| -x),
        ScalarOp::MaximumF => Binary(Scaled::maximum),
        ScalarOp::MinimumF => Binary(Scaled::minimum),
        ScalarOp::MaxNumF => Binary(Scaled::maximum_number),
        ScalarOp::MinNumF => Binary(Scaled::minimum_number),
        ScalarOp::AddI => Integer(|a, b, _| Some(a.wrapping_add(b)), Error::Sum),
        ScalarOp::SubI => Integer(|a, b, _| Some(a.wrapping_sub(b)), Error::Sum),
        ScalarOp::MulI => Integer(|a, b, _| Some(a.wrapping_mul(b)), Error::Product),
        ScalarOp::DivSI => Integer(|a, b, bits| divisible(a, b, bits).then(|| a / b), Error::Lost),
        ScalarOp::DivUI => Integer(
            |a, b, bits| unsigned_division(a, b, bits, |a, b| a / b),
            Error::Lost,
        ),
        ScalarOp::CeilDivSI => Integer(
            |a, b, bits| divisible(a, b, bits).then(|| a / b + i64::from(a % b != 0 && (a < 0) == (b < 0))),
            Error::Lost,
        ),
        ScalarOp::CeilDivUI => Integer(
            |a, b, bits| unsigned_division(a, b, bits, u64::div_ceil),
            Error::Lost,
        ),
        ScalarOp::FloorDivSI => Integer(
            |a, b, bits| divisible(a, b, bits).then(|| a / b - i64::from(a % b != 0 && (a < 0) != (b < 0))),
            Error::Lost,
        ),
        ScalarOp::RemSI => Integer(|a, b, bits| divisible(a, b, bits).then(|| a % b), Error::Lost),
        ScalarOp::RemUI => Integer(
            |a, b, bits| unsigned_division(a, b, bits, |a, b| a % b),
            Error::Lost,
        ),
        ScalarOp::MinSI => Integer(|a, b, _| Some(a.min(b)), Error::Larger),
        ScalarOp::MaxSI => Integer(|a, b, _| Some(a.max(b)), Error::Larger),
        // Sign extension keeps the order of unsigned numbers too.
        ScalarOp::MinUI => Integer(|a, b, _| Some((a as u64).min(b as u64) as i64), Error::Lost),
        ScalarOp::MaxUI => Integer(|a, b, _| Some((a as u64).max(b as u64) as i64), Error::Lost),
        ScalarOp::AndI => Integer(|a, b, _| Some(a & b), Error::Lost),
        ScalarOp::OrI => Integer(|a, b, _| Some(a | b), Error::Lost),
        ScalarOp::XOrI => Integer(|a, b, _| Some(a ^ b), Error::Lost),
        ScalarOp::ShLI => Integer(|a, b, bits| amount(b, bits).map(|b| a << b), Error::Lost),
        ScalarOp::ShRSI => Integer(|a, b, bits| amount(b, bits).map(|b| a >> b), Error::Lost),
        ScalarOp::ShRUI => Integer(
            |a, b, bits| amount(b, bits).map(|b| (unsigned(a, bits) >> b) as i64),
            Error::Lost,
        ),
        ScalarOp::CmpF | ScalarOp::CmpI => Compare,
        ScalarOp::Select => Select,
        ScalarOp::ExtF | ScalarOp::TruncF => Function::FloatToFloat,
        ScalarOp::FPToSI => Function::FloatToInteger { signed: true },
        ScalarOp::FPToUI => Function::FloatToInteger { signed: false },
        ScalarOp::SIToFP => Function::IntegerToFloat { signed: true },
        ScalarOp::UIToFP => Function::IntegerToFloat { signed: false },
        ScalarOp::ExtSI | ScalarOp::TruncI | ScalarOp::IndexCast => {
            Function::IntegerToInteger { signed: true }
        }
        ScalarOp::ExtUI | ScalarOp::IndexCastUI => Function::IntegerToInteger { signed: false },
        ScalarOp::Bitcast => Function::Bits,
        ScalarOp::AbsF => Unary(|x| x.through(x.value.abs(), 1.0)),
        ScalarOp::CopySign => Binary(|a, b| a.through(a.value.copysign(b.value), 1.0)),
        ScalarOp::Fma => Ternary(Scaled::multiply_add),
        ScalarOp::ClampF => Ternary(|x, low, high| x.minimum(high).maximum(low)),
        ScalarOp::Floor => Step(f64::floor),
        ScalarOp::Ceil => Step(f64::ceil),
        ScalarOp::Trunc => Step(f64::trunc),
        ScalarOp::RoundEven => Step(f64::round_ties_even),
        ScalarOp::Round => Step(f64::round),
        ScalarOp::AbsI => Function::Count(|a, _| a.wrapping_abs()),
        ScalarOp::Ctlz => {
            Function::Count(|a, bits| i64::from(unsigned(a, bits).leading_zeros()) - i64::from(64 - bits))
        }
        ScalarOp::Cttz => Function::Count(|a, bits| i64::from(a.trailing_zeros().min(bits))),
        ScalarOp::CtPop => Function::Count(|a, bits| i64::from(unsigned(a, bits).count_ones())),
        ScalarOp::Sqrt => Unary(Scaled::sqrt),
        ScalarOp::Rsqrt => Unary(Scaled::rsqrt),
        ScalarOp::Exp => Unary(Scaled::exp),
        ScalarOp::Exp2 => Unary(|x| x.through(x.value.exp2(), x.value.exp2() * LN_2)),
        ScalarOp::ExpM1 => Unary(|x| x.rescaled().through(x.value.exp_m1(), x.value.exp())),
        ScalarOp::Log => Unary(|x| x.through(x.value.ln(), 1.0 / x.value)),
        ScalarOp::Log2 => Unary(|x| x.through(x.value.log2(), LOG2_E / x.value)),
        ScalarOp::Log10 => Unary(|x| x.through(x.value.log10(), 1.0 / (LN_10 * x.value))),
        ScalarOp::Log1p => Unary(|x| x.through(x.value.ln_1p(), 1.0 / (1.0 + x.value))),
        ScalarOp::Tanh => Unary(|x| x.through(x.value.tanh(), 1.0 - x.value.tanh().powi(2))),
        ScalarOp::Erf => Unary(|x| {
            let slope = FRAC_2_SQRT_PI * (-x.value * x.value).exp();
            x.through(libm::erf(x.value), slope)
        }),
        ScalarOp::Sin => Unary(|x| periodic(x, x.value.sin(), x.value.cos())),
        ScalarOp::Cos => Unary(|x| periodic(x, x.value.cos(), x.value.sin())),
        ScalarOp::PowF => Binary(Scaled::power),
    }
}

/// Beyond this magnitude a kernel's sine and cosine may be any number from -1 to 1: its argument reduction reaches no further.
const LARGEST_ANGLE: f64 = (1 << 17) as f64;

fn periodic(x: Scaled, value: f64, slope: f64) -> Scaled {
    let found = x.through(value, slope);
    match x.value.abs() > LARGEST_ANGLE && x.value.is_finite() {
        // At this scale even the smallest tolerance, 4 ulp, is 2.
        true => Scaled {
            scale: (1u64 << 22) as f64,
            ..found
        },
        false => found,
    }
}

/// The low bits of a number, as unsigned.
pub(super) fn unsigned(value: i64, bits: u32) -> u64 {
    value as u64 & (u64::MAX >> (64 - bits))
}

/// Whether a signed division is defined: not by zero, and not of the smallest number by -1.
fn divisible(a: i64, b: i64, bits: u32) -> bool {
    b != 0 && !(b == -1 && a == i64::MIN >> (64 - bits))
}

fn unsigned_division(a: i64, b: i64, bits: u32, divide: fn(u64, u64) -> u64) -> Option<i64> {
    let (a, b) = (unsigned(a, bits), unsigned(b, bits));
    (b != 0).then(|| divide(a, b) as i64)
}

/// The shift amount; `None` if it is the width or more.
fn amount(b: i64, bits: u32) -> Option<u64> {
    let b = unsigned(b, bits);
    (b < u64::from(bits)).then_some(b)
}

/// The test of an `arith.cmpf` predicate on the order of the operands, which is `None` if one of them is NaN; the predicates
/// that start with `u` hold then. `None` for an unknown predicate.
pub(super) fn float_predicate(predicate: &str) -> Option<fn(Option<Ordering>) -> bool> {
    use Ordering::{Equal, Greater, Less};
    Some(match predicate {
        "false" => |_| false,
        "oeq" => |order| order == Some(Equal),
        "ogt" => |order| order == Some(Greater),
        "oge" => |order| matches!(order, Some(Greater | Equal)),
        "olt" => |order| order == Some(Less),
        "ole" => |order| matches!(order, Some(Less | Equal)),
        "one" => |order| matches!(order, Some(Less | Greater)),
        "ord" => |order| order.is_some(),
        "ueq" => |order| matches!(order, None | Some(Equal)),
        "ugt" => |order| matches!(order, None | Some(Greater)),
        "uge" => |order| matches!(order, None | Some(Greater | Equal)),
        "ult" => |order| matches!(order, None | Some(Less)),
        "ule" => |order| matches!(order, None | Some(Less | Equal)),
        "une" => |order| order != Some(Equal),
        "uno" => |order| order.is_none(),
        "true" => |_| true,
        _ => return None,
    })
}

/// The test of an `arith.cmpi` predicate; `None` for an unknown one.
pub(super) fn integer_predicate(predicate: &str) -> Option<fn(i64, i64) -> bool> {
    Some(match predicate {
        "eq" => |a, b| a == b,
        "ne" => |a, b| a != b,
        "slt" => |a, b| a < b,
        "sle" => |a, b| a <= b,
        "sgt" => |a, b| a > b,
        "sge" => |a, b| a >= b,
        "ult" => |a, b| (a as u64) < b as u64,
        "ule" => |a, b| a as u64 <= b as u64,
        "ugt" => |a, b| a as u64 > b as u64,
        "uge" => |a, b| a as u64 >= b as u64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use norma_bundle::derivative::{Derivative, Partial, Relation};
    use norma_bundle::scalar_op::Form;

    use super::*;

    fn unary(op: ScalarOp, x: Scaled) -> Scaled {
        match of(op) {
            Function::Unary(function) => function(x),
            _ => unreachable!("{op:?} is no smooth function"),
        }
    }

    /// The scale of a function's result is the operand's scale times the derivative, as a difference quotient confirms.
    #[test]
    fn slopes_are_those_of_the_functions() {
        let smooth = norma_bundle::scalar_op::TABLE.iter().map(|row| row.op);
        let smooth: Vec<ScalarOp> = smooth
            .filter(|op| matches!(of(*op), Function::Unary(_)))
            .collect();
        assert!(smooth.len() > 14);
        for op in smooth {
            let (x, step) = (0.7, 1e-6);
            let at = |x| unary(op, Scaled::exact(x)).value;
            let slope = (at(x + step) - at(x - step)) / (2.0 * step);
            let scale = unary(op, Scaled { value: x, scale: 1e6 }).scale;
            assert!(
                (scale / (slope.abs() * 1e6) - 1.0).abs() < 1e-6,
                "{op:?}: {scale} for {slope}"
            );
        }
    }

    fn float(op: ScalarOp, operands: &[f64]) -> f64 {
        let exact = |index: usize| Scaled::exact(operands[index]);
        match of(op) {
            Function::Unary(function) => function(exact(0)).value,
            Function::Binary(function) => function(exact(0), exact(1)).value,
            Function::Ternary(function) => function(exact(0), exact(1), exact(2)).value,
            _ => unreachable!("{op:?} is no function of floats alone"),
        }
    }

    /// Evaluates a partial derivative of the table.
    fn evaluate(partial: &Partial, operands: &[f64], result: f64) -> f64 {
        let at = |partial: &Partial| evaluate(partial, operands, result);
        let truth = |holds: bool| f64::from(u8::from(holds));
        match partial {
            Partial::Number(number) => *number,
            Partial::Operand(index) => operands[*index],
            Partial::Result => result,
            Partial::Negated(a) => -at(a),
            Partial::Sum(a, b) => at(a) + at(b),
            Partial::Difference(a, b) => at(a) - at(b),
            Partial::Product(a, b) => at(a) * at(b),
            Partial::Quotient(a, b) => at(a) / at(b),
            Partial::Call(op, of) => float(*op, &of.iter().map(at).collect::<Vec<_>>()),
            Partial::Holds(relation, a, b) => truth(match relation {
                Relation::Greater => at(a) > at(b),
                Relation::AtLeast => at(a) >= at(b),
                Relation::Equal => at(a) == at(b),
                Relation::Unordered => at(a).is_nan() || at(b).is_nan(),
            }),
            Partial::Is(index, wanted) => truth((operands[*index] != 0.0) == *wanted),
        }
    }

    #[test]
    fn derivatives_of_the_table_are_those_of_the_functions() {
        let points = [
            [0.7, 1.3, 2.1],
            [1.3, 0.7, 0.9],
            [0.2, 0.7, 0.9],
            [-0.7, 1.3, 2.1],
        ];
        let mut compared = 0;
        for row in norma_bundle::scalar_op::TABLE {
            let (Derivative::Partial(partials), Form::Same(count)) = (row.derivative, row.form) else {
                continue;
            };
            assert_eq!(partials.len(), count, "{}", row.name);
            for point in points {
                let operands = &point[..count];
                let result = float(row.op, operands);
                for (index, partial) in partials.iter().enumerate().filter(|_| result.is_finite()) {
                    let moved = |step: f64| {
                        let mut operands = operands.to_vec();
                        operands[index] += step;
                        float(row.op, &operands)
                    };
                    let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    let found = evaluate(partial, operands, result);
                    if slope.is_finite() {
                        assert!(
                            (found - slope).abs() < 1e-6,
                            "{} at {operands:?}: {found} for {slope}",
                            row.name
                        );
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 100, "{compared}");
    }

    #[test]
    fn at_a_corner_derivatives_share() {
        let at = |op: ScalarOp, operands: &[f64]| -> Vec<f64> {
            let Derivative::Partial(partials) = op.row().derivative else {
                unreachable!("{op:?} has derivatives")
            };
            let result = float(op, operands);
            partials
                .iter()
                .map(|partial| evaluate(partial, operands, result))
                .collect()
        };
        assert_eq!(at(ScalarOp::MaximumF, &[1.0, 1.0]), [0.5, 0.5]);
        assert_eq!(at(ScalarOp::MinNumF, &[f64::NAN, 1.0]), [0.0, 1.0]);
        assert_eq!(at(ScalarOp::AbsF, &[0.0]), [0.0]);
        assert_eq!(at(ScalarOp::ClampF, &[2.0, 1.0, 2.0]), [1.0, 0.0, 0.0]);
        assert!(at(ScalarOp::Sqrt, &[0.0])[0].is_finite());
    }

    #[test]
    fn derivatives_of_powers_and_quotients_are_finite_where_pytorchs_are() {
        let at = |op: ScalarOp, operands: [f64; 2]| -> [f64; 2] {
            let Derivative::Partial([a, b]) = op.row().derivative else {
                unreachable!("{op:?} has two derivatives")
            };
            let result = float(op, &operands);
            [a, b].map(|partial| evaluate(partial, &operands, result))
        };
        let infinity = f64::INFINITY;
        for (operands, expected) in [
            ([0.0, 2.0], [0.0, 0.0]),
            ([0.0, 1.0], [1.0, 0.0]),
            ([0.0, 0.5], [infinity, 0.0]),
            ([-0.0, 2.0], [0.0, 0.0]),
            ([0.0, 0.0], [0.0, 0.0]),
            ([0.0, -1.0], [-infinity, -infinity]),
            ([3.0, 0.0], [0.0, 3f64.ln()]),
        ] {
            assert_eq!(at(ScalarOp::PowF, operands), expected, "{operands:?}");
        }
        assert!(at(ScalarOp::PowF, [-2.0, 2.0])[1].is_nan());
        // b * b is infinite in the first, and 0 in the second.
        for (operands, expected) in [([1e200, 1e160], -1e-120), ([1e-200, 1e-170], -1e140)] {
            let found = at(ScalarOp::DivF, operands)[1];
            assert!((found / expected - 1.0).abs() < 1e-12, "{operands:?}: {found}");
        }
    }

    fn integer(op: ScalarOp, a: i64, b: i64, bits: u32) -> Option<i64> {
        match of(op) {
            Function::Integer(function, _) => function(a, b, bits),
            _ => unreachable!("{op:?} is no function of integers"),
        }
    }

    #[test]
    fn divisions_round_as_their_names_say() {
        for (op, expected) in [
            (ScalarOp::DivSI, -3),
            (ScalarOp::FloorDivSI, -4),
            (ScalarOp::CeilDivSI, -3),
            (ScalarOp::RemSI, -1),
        ] {
            assert_eq!(integer(op, -7, 2, 8), Some(expected), "{op:?}");
            assert_eq!(integer(op, -7, 0, 8), None, "{op:?}");
            assert_eq!(integer(op, -128, -1, 8), None, "{op:?}");
        }
        assert_eq!(integer(ScalarOp::DivUI, -1, 2, 8), Some(127));
        assert_eq!(integer(ScalarOp::CeilDivUI, 7, 2, 32), Some(4));
        assert_eq!(integer(ScalarOp::RemUI, -1, 10, 8), Some(5));
    }

    #[test]
    fn shifts_by_the_width_are_undefined() {
        assert_eq!(integer(ScalarOp::ShLI, 1, 8, 8), None);
        assert_eq!(integer(ScalarOp::ShRUI, -1, 1, 8), Some(127));
        assert_eq!(integer(ScalarOp::ShRSI, -2, 1, 8), Some(-1));
        assert_eq!(integer(ScalarOp::ShRSI, -2, -1, 64), None);
    }

    #[test]
    fn bits_are_counted_within_the_width() {
        let count = |op, a, bits| match of(op) {
            Function::Count(function) => function(a, bits),
            _ => unreachable!("{op:?} counts nothing"),
        };
        assert_eq!(count(ScalarOp::Ctlz, 0, 8), 8);
        assert_eq!(count(ScalarOp::Ctlz, 1, 32), 31);
        assert_eq!(count(ScalarOp::Ctlz, -1, 8), 0);
        assert_eq!(count(ScalarOp::Cttz, 0, 8), 8);
        assert_eq!(count(ScalarOp::CtPop, -1, 8), 8);
    }

    #[test]
    fn unsigned_integers_compare_as_such() {
        assert_eq!(integer(ScalarOp::MaxUI, -1, 1, 32), Some(-1));
        assert!(integer_predicate("ugt").unwrap()(-1, 1));
    }
}
