//! Functions of one f32 that take a few instructions: a polynomial near 0, where the formula by the special function unit would
//! suffer from cancellation, and elsewhere that formula. Both are computed and one is selected, as a branch would split the
//! warp.

use std::f64::consts::{LN_2, LOG2_E};

use melior::ir::Value;

use super::emitter::Emitter;
use crate::mlir::comparison::Predicate;

/// `(e^x - 1 - x) / x^2` by its Taylor series: for |x| < 1/2 the next term is below 2^-26 of `e^x - 1`.
const EXP_M1: [f64; 7] = [
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40320.0,
];

/// `(artanh(s) / s - 1) / s^2` in `s^2` by its Taylor series: for s^2 < 0.054 the next term is below 2^-28.
const ARTANH: [f64; 6] = [1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0];

/// `erf(x) / x` in `x^2` on [0, 1], interpolated at Chebyshev points: off by at most 1.3e-9.
const ERF_NEAR_0: [f64; 7] = [
    1.12837916585,
    -0.376126266667,
    0.112835947152,
    -0.0268542120106,
    0.00518908742343,
    -0.000801686428717,
    7.87587506269e-5,
];

/// `-log2(1 - erf(x))` on [1, 4], interpolated at Chebyshev points: off by at most 2.4e-8, which at 1, where it matters most,
/// is 2.6e-9 of the result.
const ERF_TAIL: [f64; 9] = [
    -0.00046186157667,
    1.63058217149,
    0.911532311289,
    0.158811989771,
    -0.03811764189,
    0.00686664596893,
    -0.000861008516515,
    6.64477097807e-5,
    -2.36191022702e-6,
];

impl<'c: 'a, 'a> Emitter<'_, 'c, 'a> {
    /// `x + x^2 p(x)` below 1/2; from there on the subtraction of 1 loses little.
    pub(super) fn exp_m1(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let square = self.multiply(x, x);
        let near = self.fma(square, self.polynomial(x, &EXP_M1), x);
        let far = self.add(self.exp(x), self.constant(-1.0));
        self.near_0(x, 0.5, near, far)
    }

    /// `2 artanh(x / (2 + x))` where that is small; elsewhere the logarithm of `1 + x`, which is at least 0.43 from 0, so that
    /// an absolute error is a relative one.
    pub(super) fn log1p(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let s = self.op("arith.divf", &[x, self.add(x, self.constant(2.0))]);
        let square = self.multiply(s, s);
        let double = self.add(s, s);
        let near = self.fma(
            self.multiply(double, square),
            self.polynomial(square, &ARTANH),
            double,
        );
        let far = self.scaled(self.log2(self.add(x, self.constant(1.0))), LN_2);
        // x is between -0.35 and 0.6, so that s is between -0.212 and 0.231.
        let middle = self.add(x, self.constant(-0.125));
        self.near_0(middle, 0.475, near, far)
    }

    /// `1 - 2 / (exp(2x) + 1)`: an overflow of exp gives 1 and an underflow -1, as they should be.
    pub(super) fn tanh(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let one = self.constant(1.0);
        let exp = self.exp2(self.scaled(x, 2.0 * LOG2_E));
        let denominator = self.add(exp, one);
        let reciprocal = self.special("rcp.approx", denominator);
        self.fma(reciprocal, self.constant(-2.0), one)
    }

    /// `x p(x^2)` up to 1; beyond it `1 - 2^-q(|x|)`, with x's sign. From 4 on the result is 1 in f32.
    pub(super) fn erf(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let near = self.multiply(x, self.polynomial(self.multiply(x, x), &ERF_NEAR_0));
        let magnitude = self.magnitude(x);
        let bounded = self.op("arith.minimumf", &[magnitude, self.constant(4.0)]);
        let exponent = self.op("arith.negf", &[self.polynomial(bounded, &ERF_TAIL)]);
        let tail = self.subtract(self.constant(1.0), self.exp2(exponent));
        let far = self.op("llvm.intr.copysign", &[tail, x]);
        self.near_0(x, 1.0, near, far)
    }

    /// Rounds to the nearest whole number, halves away from 0: truncates, and goes one further where at least a half was cut
    /// off. No sum rounds.
    pub(super) fn round(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let cut = self.op("llvm.intr.trunc", &[x]);
        let rest = self.magnitude(self.subtract(x, cut));
        let is_half = self.compare(Predicate::AtLeast, rest, self.constant(0.5));
        let one = self.op("llvm.intr.copysign", &[self.constant(1.0), x]);
        self.select(is_half, self.add(cut, one), cut)
    }

    /// `near` where |x| is below the limit, else, and for NaN, `far`.
    fn near_0(&self, x: Value<'c, 'a>, limit: f64, near: Value<'c, 'a>, far: Value<'c, 'a>) -> Value<'c, 'a> {
        let is_near = self.compare(Predicate::Less, self.magnitude(x), self.constant(limit));
        self.select(is_near, near, far)
    }
}
