//! Sine and cosine of f32: the argument minus a multiple of pi/2, then a polynomial of the rest.
//!
//! The multiple n is at most 2^17. pi/2 is the sum of three f32 (Cody and Waite, *Software Manual for the Elementary
//! Functions*, 1980). The first difference is exact, as its lowest bit is 2^-23 and it is below 1. The three parts differ from
//! pi/2 by 1.1e-23, which n makes at most 2e-18. The rest r, |r| <= pi/4, is rounded twice by half an ulp, so that the absolute
//! error of the result is no more than 2^-24 or so, and the result errs by a few ulp where it is not near 0.

use std::f64::consts::FRAC_2_PI;

use melior::ir::Value;

use super::emitter::Emitter;
use crate::mlir::comparison::{IntegerPredicate, Predicate, compare_integers};

/// pi/2 in three parts, each an f32.
const HALF_PI: [f64; 3] = [1.5707963705062866, -4.371138828673793e-8, -1.7151245100058819e-15];

/// `(sin(r) / r - 1) / r^2` in `r^2` by its Taylor series: up to pi/4 the next term is below 2^-28.
const SINE: [f64; 4] = [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0];

/// `cos(r)` in `r^2` by its Taylor series: up to pi/4 the next term is below 2^-32.
const COSINE: [f64; 6] = [
    1.0,
    -1.0 / 2.0,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40320.0,
    -1.0 / 3628800.0,
];

impl<'c: 'a, 'a> Emitter<'_, 'c, 'a> {
    /// The sine of `x` plus `quarters` quarters of a turn.
    pub(super) fn sine(&self, x: Value<'c, 'a>, quarters: i64) -> Value<'c, 'a> {
        let nearest = self.nearest_whole(self.scaled(x, FRAC_2_PI));
        // -0 becomes +0, so that the differences below leave an argument of -0 as it is.
        let turns = self.add(nearest, self.constant(0.0));
        let rest = HALF_PI
            .iter()
            .fold(x, |rest, part| self.fma(turns, self.constant(-part), rest));
        // Beyond the range of the reduction the result is still between -1 and 1; for an infinity it is NaN.
        let rest = self.clamped(rest, 1.0);
        let square = self.multiply(rest, rest);
        let sine = self.fma(self.multiply(rest, square), self.polynomial(square, &SINE), rest);
        let cosine = self.polynomial(square, &COSINE);
        let quarter = self.integer_op("arith.addi", &[self.whole(turns, 1e6), self.integer(quarters)]);
        let is_odd = self.has_bit(quarter, 1);
        let value = self.select(is_odd, cosine, sine);
        let is_negative = self.has_bit(quarter, 2);
        self.select(is_negative, self.op("arith.negf", &[value]), value)
    }

    fn has_bit(&self, number: Value<'c, 'a>, bit: i64) -> Value<'c, 'a> {
        let masked = self.integer_op("arith.andi", &[number, self.integer(bit)]);
        compare_integers(self.b, IntegerPredicate::NotEqual, masked, self.integer(0))
    }

    /// Whether `x` is a whole number, and whether it is an odd one. An infinity counts as whole and not odd.
    pub(super) fn is_odd(&self, x: Value<'c, 'a>) -> (Value<'c, 'a>, Value<'c, 'a>) {
        let is_whole = self.compare(Predicate::Equal, self.op("llvm.intr.trunc", &[x]), x);
        let half = self.scaled(x, 0.5);
        let is_halved = self.compare(Predicate::NotEqual, self.op("llvm.intr.trunc", &[half]), half);
        let is_odd = self
            .b
            .value("arith.andi", &[is_whole, is_halved], self.integer_type(1));
        (is_whole, is_odd)
    }
}
