//! The approximate functions of the special function unit.
//!
//! The exact value is computed in f64. [`Approximation::Exact`] rounds it to f32; [`Approximation::Adversarial`] takes
//! the f32 furthest from it that the documented error allows, above or below as a hash of function and operands says,
//! so that equal operands give equal results, as on hardware. Special operands give what the tables of the PTX ISA
//! say, and nothing else is promised: not even that the square root of 4 is 2.
//!
//! f64 functions come from `libm` rather than from the platform, so that results are the same everywhere.

use norma_bundle::Element;

use super::lanes::{Lanes, lanes};
use super::{format, nan};
use crate::options::Approximation;
use crate::program::{ApproximateFunction, Format};
use crate::splitmix;

/// [`crate::program::Instruction::Approximate`].
pub fn approximate(
    function: ApproximateFunction,
    flush: bool,
    approximation: Approximation,
    mask: u32,
    to: &mut Lanes,
    a: &Lanes,
    b: &Lanes,
) {
    let below = if flush {
        format::smallest_normal(Format::F32)
    } else {
        0
    };
    let flushed = |bits| format::flush_below(below, 1 << 31, bits);
    for lane in lanes(mask) {
        let (x, y) = (flushed(a[lane]) as u32, flushed(b[lane]) as u32);
        let err = match approximation {
            Approximation::Exact => None,
            Approximation::Adversarial => Some(upwards(function, x, y)),
        };
        let result = evaluate(function, f32::from_bits(x), f32::from_bits(y), err);
        let bits = if result.is_nan() {
            nan::CANONICAL_32
        } else {
            result.to_bits()
        };
        to[lane] = flushed(u64::from(bits));
    }
}

/// Whether the result errs upwards.
fn upwards(function: ApproximateFunction, a: u32, b: u32) -> bool {
    let operands = u64::from(a) << 32 | u64::from(b).rotate_left(7) ^ (function as u64) << 16;
    splitmix::mix(operands) & 1 == 1
}

/// The largest error that the PTX ISA (version 8.8, "Floating Point Instructions") documents for a result.
#[derive(Clone, Copy)]
enum Bound {
    /// Units in the last place of the result.
    Ulps(f64),
    /// Relative to the exact value.
    Relative(f64),
    /// Absolute.
    Absolute(f64),
}

fn evaluate(function: ApproximateFunction, a: f32, b: f32, err: Option<bool>) -> f32 {
    use std::f64::consts::PI;
    let x = f64::from(a);
    let two_to = |exponent: f64| libm::exp2(exponent);
    match function {
        ApproximateFunction::Divide => divide(a, b, err),
        // div.full: "the maximum ulp error is 2 across the full range of inputs".
        ApproximateFunction::DivideFull => near(x / f64::from(b), Bound::Ulps(2.0), err),
        // rcp: "the maximum ulp error is 1 across the full range of inputs".
        ApproximateFunction::Reciprocal => near(1.0 / x, Bound::Ulps(1.0), err),
        // sqrt: "the maximum relative error over the entire positive finite floating-point range is 2^-23"; the square
        // root of -0 is -0.
        ApproximateFunction::SquareRoot => near(x.sqrt(), Bound::Relative(two_to(-23.0)), err),
        // rsqrt: likewise 2^-22.9; of -0 it is -infinity.
        ApproximateFunction::ReciprocalSquareRoot => {
            near(1.0 / x.sqrt(), Bound::Relative(two_to(-22.9)), err)
        }
        // ex2: "the maximum ulp error is 2 ulp from correctly rounded result"; of both zeros it is 1.
        ApproximateFunction::Exp2 if x == 0.0 => 1.0,
        ApproximateFunction::Exp2 => near(libm::exp2(x), Bound::Ulps(2.0), err),
        // lg2: "the maximum absolute error is 2^-22 when the input operand is in the range (0.5, 2). For positive
        // finite inputs outside of this interval, maximum relative error is 2^-22".
        ApproximateFunction::Log2 => {
            let bound = if x > 0.5 && x < 2.0 {
                Bound::Absolute
            } else {
                Bound::Relative
            };
            near(libm::log2(x), bound(two_to(-22.0)), err)
        }
        // sin: of a zero it is that zero, as tanh is.
        ApproximateFunction::Sin | ApproximateFunction::Tanh if x == 0.0 => a,
        ApproximateFunction::Cos if x == 0.0 => 1.0,
        // sin, cos: 2^-20.5 within [-2 pi, 2 pi], 2^-14.7 within [-100 pi, 100 pi], "only best effort" beyond.
        ApproximateFunction::Sin | ApproximateFunction::Cos => {
            let bound = if x.abs() <= 2.0 * PI { -20.5 } else { -14.7 };
            let exact = if function == ApproximateFunction::Sin {
                libm::sin(x)
            } else {
                libm::cos(x)
            };
            near(exact, Bound::Absolute(two_to(bound)), err).clamp(-1.0, 1.0)
        }
        // tanh: "the maximum relative error over the entire floating point range is 2^-11"; "subnormal inputs gets
        // passed through".
        ApproximateFunction::Tanh if a.is_subnormal() => a,
        ApproximateFunction::Tanh if a.is_infinite() => a.signum(),
        ApproximateFunction::Tanh => {
            near(libm::tanh(x), Bound::Relative(two_to(-11.0)), err).clamp(-1.0, 1.0)
        }
    }
}

/// div.approx: "computed as d = a * (1/b). For |b| in [2^-126, 2^126], the maximum ulp error is 2. For 2^126 < |b| < 2^128, if
/// a is infinity, div.approx.f32 returns NaN, otherwise it returns a sign-preserving zero."
fn divide(a: f32, b: f32, err: Option<bool>) -> f32 {
    let limit = f32::from_bits((126 + 127) << 23);
    if b.is_finite() && b.abs() > limit {
        return a * 0f32.copysign(b);
    }
    // Subnormal divisors are outside of the documented range, but hardware divides by them, too.
    near(f64::from(a) / f64::from(b), Bound::Ulps(2.0), err)
}

/// The f32 nearest to `exact`, or with `err` the one furthest up or down within the bound. Zeros from underflow,
/// infinities and NaN have no error, and no error makes a finite result infinite.
fn near(exact: f64, bound: Bound, err: Option<bool>) -> f32 {
    let rounded = exact as f32;
    let Some(up) = err else { return rounded };
    let allowed = match bound {
        _ if !rounded.is_finite() => return rounded,
        Bound::Absolute(error) => error,
        _ if rounded == 0.0 => return rounded,
        Bound::Ulps(ulps) => ulps * Element::F32.ulp(f64::from(rounded)),
        Bound::Relative(error) => error * exact.abs(),
    };
    let within = |x: &f32| x.is_finite() && (f64::from(*x) - exact).abs() <= allowed;
    let furthest = (if up { exact + allowed } else { exact - allowed }) as f32;
    let nearer = if up {
        furthest.next_down()
    } else {
        furthest.next_up()
    };
    [furthest, nearer].into_iter().find(within).unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use super::super::lanes::LANES;
    use super::*;
    use ApproximateFunction::*;
    use proptest::prelude::*;

    fn once(function: ApproximateFunction, approximation: Approximation, flush: bool, a: f32, b: f32) -> f32 {
        let (a, b) = (u64::from(a.to_bits()), u64::from(b.to_bits()));
        let mut to = [0; LANES];
        approximate(
            function,
            flush,
            approximation,
            1,
            &mut to,
            &[a; LANES],
            &[b; LANES],
        );
        f32::from_bits(to[0] as u32)
    }

    #[test]
    fn special_operands_give_the_results_of_the_tables() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for (function, table) in [
            (Reciprocal, [-0.0, -inf, inf, 0.0]),
            (SquareRoot, [nan, -0.0, 0.0, inf]),
            (ReciprocalSquareRoot, [nan, -inf, inf, 0.0]),
            (Sin, [nan, -0.0, 0.0, nan]),
            (Cos, [nan, 1.0, 1.0, nan]),
            (Log2, [nan, -inf, -inf, inf]),
            (Exp2, [0.0, 1.0, 1.0, inf]),
            (Tanh, [-1.0, -0.0, 0.0, 1.0]),
        ] {
            for approximation in [Approximation::Exact, Approximation::Adversarial] {
                for (operand, expected) in [-inf, -0.0, 0.0, inf].into_iter().zip(table) {
                    let got = once(function, approximation, false, operand, operand);
                    let same = got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan());
                    assert!(same, "{function:?}({operand}) is {got}, expected {expected}");
                }
                let got = once(function, approximation, false, nan, nan);
                assert_eq!(got.to_bits(), nan::CANONICAL_32, "{function:?}");
            }
        }
        for function in [SquareRoot, ReciprocalSquareRoot, Log2] {
            assert!(once(function, Approximation::Adversarial, false, -2.0, 0.0).is_nan());
        }
    }

    #[test]
    fn division_by_large_divisors_is_as_documented() {
        let large = 2f32.powi(127);
        let once = |a, b| once(Divide, Approximation::Adversarial, false, a, b);
        assert_eq!(once(-large, large).to_bits(), (-0f32).to_bits());
        assert!(once(f32::INFINITY, large).is_nan());
        assert_eq!(once(1.0, f32::INFINITY), 0.0);
        assert_eq!(once(1.0, -0.0), f32::NEG_INFINITY);
        assert!(once(0.0, 0.0).is_nan());
    }

    #[test]
    fn full_division_takes_divisors_of_any_magnitude() {
        let large = 2f32.powi(127);
        for approximation in [Approximation::Exact, Approximation::Adversarial] {
            let once = |a, b| once(DivideFull, approximation, false, a, b);
            assert!((once(-large, large) + 1.0).abs() <= 2.0 * f32::EPSILON);
            assert!((once(f32::MAX, f32::MAX) - 1.0).abs() <= 2.0 * f32::EPSILON);
            assert_eq!(once(f32::INFINITY, large), f32::INFINITY);
            assert_eq!(once(1.0, f32::INFINITY), 0.0);
            assert!(once(0.0, 0.0).is_nan());
        }
    }

    #[test]
    fn flushed_operands_are_zeros() {
        let subnormal = f32::from_bits(0x8000_0001);
        assert_eq!(
            once(ReciprocalSquareRoot, Approximation::Exact, true, subnormal, 0.0),
            f32::NEG_INFINITY
        );
        assert!(once(ReciprocalSquareRoot, Approximation::Exact, false, subnormal, 0.0).is_nan());
        assert_eq!(once(Exp2, Approximation::Exact, true, -140.0, 0.0), 0.0);
        assert!(once(Exp2, Approximation::Exact, false, -140.0, 0.0) > 0.0);
    }

    #[test]
    fn adversarial_results_err_both_ways_by_most_of_the_bound() {
        let mut errors = [0.0f64; 2];
        for step in 0..1000 {
            let x = 1.0 + step as f32 / 500.0;
            let exact = 1.0 / f64::from(x).sqrt();
            let got = f64::from(once(ReciprocalSquareRoot, Approximation::Adversarial, true, x, x));
            let error = (got - exact) / exact;
            errors[usize::from(error > 0.0)] = errors[usize::from(error > 0.0)].max(error.abs());
        }
        let bound = 2f64.powf(-22.9);
        for error in errors {
            assert!(error <= bound && error > 0.9 * bound, "{error:e}");
        }
    }

    proptest! {
        #[test]
        fn errors_stay_within_the_documented_bounds(x in 1e-30f32..1e30, angle in -600f32..600.0, y in 1e-7f32..1e7) {
            let adversarial = |function, a: f32| {
                f64::from(once(function, Approximation::Adversarial, false, a, y))
            };
            let relative = |got: f64, exact: f64| ((got - exact) / exact).abs();
            let wide = f64::from(x);
            prop_assert!(relative(adversarial(SquareRoot, x), wide.sqrt()) <= 2f64.powi(-23));
            prop_assert!(relative(adversarial(ReciprocalSquareRoot, x), wide.sqrt().recip()) <= 2f64.powf(-22.9));
            prop_assert!(relative(adversarial(Reciprocal, x), wide.recip()) <= 2f64.powi(-23));
            for divide in [Divide, DivideFull] {
                prop_assert!(relative(adversarial(divide, x), wide / f64::from(y)) <= 2f64.powi(-22));
            }
            if !(0.5..2.0).contains(&x) {
                prop_assert!(relative(adversarial(Log2, x), wide.log2()) <= 2f64.powi(-22) * (1.0 + 1e-9));
            }
            prop_assert!(relative(adversarial(Exp2, angle / 6.0), (f64::from(angle) / 6.0).exp2()) < 1e-4);
            prop_assert!((adversarial(Sin, angle) - f64::from(angle).sin()).abs() <= 2f64.powf(-14.7));
            prop_assert!((adversarial(Cos, angle) - f64::from(angle).cos()).abs() <= 2f64.powf(-14.7));
            prop_assert!(relative(adversarial(Tanh, angle), f64::from(angle).tanh()) <= 2f64.powi(-11));
        }

        #[test]
        fn exact_results_are_correctly_rounded(x in 1e-30f32..1e30) {
            prop_assert_eq!(once(SquareRoot, Approximation::Exact, false, x, x), x.sqrt());
            prop_assert_eq!(once(Reciprocal, Approximation::Exact, false, x, x), 1.0 / x);
        }
    }
}
