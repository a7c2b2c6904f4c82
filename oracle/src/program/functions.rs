//! The functions behind the names of `arith` and `math` ops.

use std::cmp::Ordering;
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, LOG2_E};

use crate::scaled::Scaled;

/// A function of one float.
pub(super) type Unary = fn(Scaled) -> Scaled;
/// A function of two floats.
pub(super) type Binary = fn(Scaled, Scaled) -> Scaled;
/// A function of two integers, sign-extended from their type; `None` for a division by zero.
pub(super) type Integer = fn(i64, i64) -> Option<i64>;

/// The ops that are told by the kinds of their operands and results, not by a table here.
const CONVERSIONS_AND_CHOICES: [&str; 15] = [
    "arith.extf",
    "arith.truncf",
    "arith.fptosi",
    "arith.fptoui",
    "arith.sitofp",
    "arith.uitofp",
    "arith.extsi",
    "arith.extui",
    "arith.trunci",
    "arith.index_cast",
    "arith.index_castui",
    "arith.cmpf",
    "arith.cmpi",
    "arith.select",
    "math.fma",
];

/// Whether some operands exist that the operation would take.
pub(super) fn is_known(name: &str) -> bool {
    unary(name).is_some()
        || binary(name).is_some()
        || integer(name).is_some()
        || CONVERSIONS_AND_CHOICES.contains(&name)
}

/// Kernels take `tanh` and logarithms from approximations whose error is absolute, about 2 ulp at 1 (the table of
/// `convert-math-to-nvvm-approx` in `passes/Passes.td`): results near 0 err at that scale.
fn absolute(x: Scaled) -> Scaled {
    Scaled {
        scale: x.scale.max(1.0),
        ..x
    }
}

/// `ex2.approx.ftz` gives 0 where the result is below the smallest normal f32: the least that `tolerance.rs` allows, 4 ulp,
/// must cover that.
fn flushed(x: Scaled) -> Scaled {
    const SCALE: f64 = f32::MIN_POSITIVE as f64 * (1u64 << 21) as f64;
    Scaled {
        scale: x.scale.max(SCALE),
        ..x
    }
}

pub(super) fn unary(name: &str) -> Option<Unary> {
    Some(match name {
        "arith.negf" => |x| -x,
        "math.absf" => |x| x.through(x.value.abs(), 1.0),
        "math.sqrt" => |x| x.through(x.value.sqrt(), 0.5 / x.value.sqrt()),
        "math.rsqrt" => Scaled::rsqrt,
        "math.cbrt" => |x| x.through(x.value.cbrt(), 1.0 / (3.0 * x.value.cbrt().powi(2))),
        "math.exp" => |x| flushed(x.through(x.value.exp(), x.value.exp())),
        "math.exp2" => |x| flushed(x.through(x.value.exp2(), x.value.exp2() * LN_2)),
        "math.expm1" => |x| x.through(x.value.exp_m1(), x.value.exp()),
        "math.log" => |x| absolute(x.through(x.value.ln(), 1.0 / x.value)),
        "math.log2" => |x| absolute(x.through(x.value.log2(), LOG2_E / x.value)),
        "math.log10" => |x| absolute(x.through(x.value.log10(), 1.0 / (LN_10 * x.value))),
        "math.log1p" => |x| x.through(x.value.ln_1p(), 1.0 / (1.0 + x.value)),
        "math.tanh" => |x| absolute(x.through(x.value.tanh(), 1.0 - x.value.tanh().powi(2))),
        "math.erf" => |x| {
            let slope = FRAC_2_SQRT_PI * (-x.value * x.value).exp();
            x.through(libm::erf(x.value), slope)
        },
        "math.sin" => |x| x.through(x.value.sin(), x.value.cos()),
        "math.cos" => |x| x.through(x.value.cos(), x.value.sin()),
        // Steps: which side of one a computed value falls on is taken as it falls.
        "math.floor" => |x| x.through(x.value.floor(), 0.0),
        "math.ceil" => |x| x.through(x.value.ceil(), 0.0),
        "math.trunc" => |x| x.through(x.value.trunc(), 0.0),
        "math.round" => |x| x.through(x.value.round(), 0.0),
        "math.roundeven" => |x| x.through(x.value.round_ties_even(), 0.0),
        _ => return None,
    })
}

pub(super) fn binary(name: &str) -> Option<Binary> {
    Some(match name {
        "arith.addf" => |a, b| a + b,
        "arith.subf" => |a, b| a - b,
        "arith.mulf" => |a, b| a * b,
        "arith.divf" => |a, b| a / b,
        "arith.remf" => |a, b| a.through(a.value % b.value, 1.0),
        "arith.maximumf" => Scaled::maximum,
        "arith.minimumf" => Scaled::minimum,
        "arith.maxnumf" => Scaled::maximum_number,
        "arith.minnumf" => Scaled::minimum_number,
        "math.powf" => Scaled::power,
        "math.copysign" => |a, b| a.through(a.value.copysign(b.value), 1.0),
        _ => return None,
    })
}

pub(super) fn integer(name: &str) -> Option<Integer> {
    Some(match name {
        "arith.addi" => |a, b| Some(a.wrapping_add(b)),
        "arith.subi" => |a, b| Some(a.wrapping_sub(b)),
        "arith.muli" => |a, b| Some(a.wrapping_mul(b)),
        "arith.divsi" => |a, b| (b != 0).then(|| a.wrapping_div(b)),
        "arith.remsi" => |a, b| (b != 0).then(|| a.wrapping_rem(b)),
        "arith.minsi" => |a, b| Some(a.min(b)),
        "arith.maxsi" => |a, b| Some(a.max(b)),
        // Sign extension keeps the order of unsigned numbers too.
        "arith.minui" => |a, b| Some((a as u64).min(b as u64) as i64),
        "arith.maxui" => |a, b| Some((a as u64).max(b as u64) as i64),
        "arith.andi" => |a, b| Some(a & b),
        "arith.ori" => |a, b| Some(a | b),
        "arith.xori" => |a, b| Some(a ^ b),
        _ => return None,
    })
}

/// Whether `arith.cmpf`'s predicate holds for an order; `None` is that of operands of which one is NaN, which satisfies
/// the predicates that start with `u`.
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

/// Whether `arith.cmpi`'s predicate holds.
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
    use norma_bundle::Element;

    use super::*;
    use crate::tolerance::{tolerance, within};

    fn at(name: &str, x: f64) -> f64 {
        unary(name).unwrap()(Scaled::exact(x)).value
    }

    /// The scale that a value of scale 1 gets near `x` is the derivative there, by a difference quotient.
    #[test]
    fn slopes_are_those_of_the_functions() {
        let smooth = [
            "arith.negf",
            "math.absf",
            "math.sqrt",
            "math.rsqrt",
            "math.cbrt",
            "math.exp",
            "math.exp2",
            "math.expm1",
            "math.log",
            "math.log2",
            "math.log10",
            "math.log1p",
            "math.tanh",
            "math.erf",
            "math.sin",
            "math.cos",
        ];
        for name in smooth {
            let (x, step) = (0.7, 1e-6);
            let slope = (at(name, x + step) - at(name, x - step)) / (2.0 * step);
            let wide = Scaled { value: x, scale: 1e6 };
            let scale = unary(name).unwrap()(wide).scale;
            assert!(
                (scale / (slope.abs() * 1e6) - 1.0).abs() < 1e-6,
                "{name}: {scale} for {slope}"
            );
        }
    }

    #[test]
    fn approximations_with_an_absolute_error_have_the_scale_of_1() {
        for (name, x) in [("math.tanh", 1e-4), ("math.log10", 1.0 + 1e-4)] {
            assert_eq!(unary(name).unwrap()(Scaled::exact(x)).scale, 1.0, "{name}");
        }
        assert!(unary("math.exp").unwrap()(Scaled::exact(-30.0)).scale < 1e-10);
    }

    #[test]
    fn exponentials_may_be_flushed_to_zero() {
        let tiny = unary("math.exp").unwrap()(Scaled::exact(-90.0));
        let allowed = tolerance(Element::F32, tiny.value, tiny.scale, 4.0);
        assert!(within(Element::F32, 0.0, tiny.value, allowed));
        let normal = unary("math.exp").unwrap()(Scaled::exact(-70.0));
        let allowed = tolerance(Element::F32, normal.value, normal.scale, 4.0);
        assert!(!within(Element::F32, 0.0, normal.value, allowed));
    }

    #[test]
    fn rounding_goes_to_whole_numbers() {
        assert_eq!(at("math.roundeven", 2.5), 2.0);
        assert_eq!(at("math.round", 2.5), 3.0);
        assert_eq!(at("math.floor", -0.5), -1.0);
        assert_eq!(
            binary("arith.remf").unwrap()(Scaled::exact(-7.0), Scaled::exact(3.0)).value,
            -1.0
        );
    }

    #[test]
    fn unsigned_integers_compare_as_such() {
        assert_eq!(integer("arith.maxui").unwrap()(-1, 1), Some(-1));
        assert!(integer_predicate("ugt").unwrap()(-1, 1));
        assert_eq!(integer("arith.remsi").unwrap()(1, 0), None);
    }
}
