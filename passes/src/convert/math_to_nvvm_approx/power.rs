//! `powf` of f32: 2 to the exponent times the base's logarithm, which is held in two f32.
//!
//! A relative error of the logarithm becomes one of up to 128 times as much in the result, so that 24 bits would leave 17. With
//! the base as 2^e m, sqrt(1/2) <= m < sqrt(2), log2(m) = 2 log2(e) artanh(s), s = (m - 1) / (m + 1), whose leading terms are
//! computed with their rounding errors (Dekker, "A floating-point technique for extending the available precision", Numerische
//! Mathematik 18, 1971); about 2^-30 of the logarithm is left as error, and `ex2.approx` adds its 2 ulp. Special operands give
//! what C's `pow` does (C17, F.10.4.4); a base below the normal range counts as 0.

use std::f64::consts::{LN_2, LOG2_E};

use melior::ir::Value;

use super::emitter::Emitter;
use crate::mlir::comparison::Predicate;

/// `(artanh(s) / s - 1) / s^2` in `s^2` by its Taylor series: for s^2 < 0.03 the next term is below 2^-34.
const ARTANH: [f64; 5] = [1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0];

/// sqrt(1/2), as bits.
const ROOT_OF_HALF: i64 = 0x3f35_04f3;

/// Beyond this the result overflows, or is 0, whatever the mantissas are.
const LARGEST_EXPONENT: f64 = 160.0;

/// A number as the sum of two, the second below an ulp of the first.
struct Pair<'c, 'a> {
    high: Value<'c, 'a>,
    low: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Emitter<'_, 'c, 'a> {
    /// `base` to the power of `exponent`.
    pub(super) fn power(&self, base: Value<'c, 'a>, exponent: Value<'c, 'a>) -> Value<'c, 'a> {
        let magnitude = self.magnitude(base);
        let (zero, one) = (self.constant(0.0), self.constant(1.0));
        let infinity = self.constant(f64::INFINITY);
        let logarithm = self.logarithm(magnitude);
        let is_zero = self.compare(
            Predicate::Less,
            magnitude,
            self.constant(f64::from(f32::MIN_POSITIVE)),
        );
        let is_infinite = self.compare(Predicate::Equal, magnitude, infinity);
        let high = self.select(is_infinite, infinity, logarithm.high);
        let high = self.select(is_zero, self.constant(f64::NEG_INFINITY), high);
        let product = self.multiply(exponent, high);
        let error = self.fma(exponent, high, self.op("arith.negf", &[product]));
        let error = self.fma(exponent, logarithm.low, error);
        // 1 to any power is 1, though infinity times 0 is NaN.
        let is_one = self.compare(Predicate::Equal, magnitude, one);
        let product = self.select(is_one, zero, product);
        let is_moderate = self.compare(
            Predicate::Less,
            self.magnitude(product),
            self.constant(LARGEST_EXPONENT),
        );
        let is_exact = self.compare(Predicate::Equal, product, zero);
        let error = self.select(is_moderate, error, zero);
        let error = self.select(is_exact, zero, error);
        let result = self.exp2_of_pair(Pair {
            high: self.clamped(product, LARGEST_EXPONENT),
            low: error,
        });
        self.with_sign(base, exponent, result)
    }

    /// The logarithm to base 2 of a positive normal number; unspecified for others.
    fn logarithm(&self, x: Value<'c, 'a>) -> Pair<'c, 'a> {
        let bits = self.bits(x);
        let above = self.integer_op("arith.subi", &[bits, self.integer(ROOT_OF_HALF)]);
        let exponent = self.integer_op("arith.shrsi", &[above, self.integer(23)]);
        let shifted = self.integer_op("arith.shli", &[exponent, self.integer(23)]);
        let mantissa = self.of_bits(self.integer_op("arith.subi", &[bits, shifted]));
        let exponent = self.op("arith.sitofp", &[exponent]);

        // s = (m - 1) / (m + 1) and its rounding error; m - 1 is exact, m + 1 is `sum` and `lost`.
        let one = self.constant(1.0);
        let difference = self.subtract(mantissa, one);
        let sum = self.add(mantissa, one);
        let lost = self.subtract(mantissa, self.subtract(sum, one));
        let reciprocal = self.special("rcp.approx", sum);
        let s = self.multiply(difference, reciprocal);
        let minus_s = self.op("arith.negf", &[s]);
        let residual = self.fma(minus_s, lost, self.fma(minus_s, sum, difference));
        let s_low = self.multiply(residual, reciprocal);

        let square = self.multiply(s, s);
        let series = self.multiply(square, self.polynomial(square, &ARTANH));
        let rest = self.fma(s, series, s_low);
        let factor = f64::from((2.0 * LOG2_E) as f32);
        let (factor_high, factor_low) = (self.constant(factor), self.constant(2.0 * LOG2_E - factor));
        let high = self.multiply(factor_high, s);
        let low = self.fma(factor_high, s, self.op("arith.negf", &[high]));
        let low = self.fma(factor_low, s, low);
        let low = self.fma(factor_high, rest, low);

        // The exponent is 0 or greater in magnitude than `high`, so that the rounding error of their sum is computed exactly.
        // Then `low` is made small again.
        let total = self.add(exponent, high);
        let low = self.add(self.add(self.subtract(exponent, total), high), low);
        let high = self.add(total, low);
        let low = self.subtract(low, self.subtract(high, total));
        Pair { high, low }
    }

    /// 2 to the power of a sum, of which `high` is within [`LARGEST_EXPONENT`], or NaN.
    fn exp2_of_pair(&self, x: Pair<'c, 'a>) -> Value<'c, 'a> {
        let whole = self.nearest_whole(x.high);
        let fraction = self.subtract(x.high, whole);
        let power = self.exp2(fraction);
        let power = self.fma(power, self.scaled(x.low, LN_2), power);
        self.times_power_of_two(power, self.whole(whole, LARGEST_EXPONENT))
    }

    /// Handles signs and special operands: the base's sign for an odd exponent, NaN for a negative base and an exponent that is
    /// not whole, and 1 for an exponent of 0 or a base of 1.
    fn with_sign(
        &self,
        base: Value<'c, 'a>,
        exponent: Value<'c, 'a>,
        result: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let (zero, one) = (self.constant(0.0), self.constant(1.0));
        let nan = self.constant(f64::NAN);
        let (is_whole, is_odd) = self.is_odd(exponent);
        let result = self.select(is_odd, self.op("llvm.intr.copysign", &[result, base]), result);
        let truth = self.integer_type(1);
        // -0 and minus infinity have a power for every exponent.
        let is_negative = self.compare(Predicate::Less, base, zero);
        let is_finite = self.compare(
            Predicate::Less,
            self.magnitude(base),
            self.constant(f64::INFINITY),
        );
        let is_broken = self
            .b
            .value("arith.xori", &[is_whole, self.b.integer(truth, 1)], truth);
        let has_none = self.b.value("arith.andi", &[is_negative, is_finite], truth);
        let has_none = self.b.value("arith.andi", &[has_none, is_broken], truth);
        let is_nan = self.compare(Predicate::Unordered, base, exponent);
        let has_none = self.b.value("arith.ori", &[has_none, is_nan], truth);
        let result = self.select(has_none, nan, result);
        let is_one = self.b.value(
            "arith.ori",
            &[
                self.compare(Predicate::Equal, exponent, zero),
                self.compare(Predicate::Equal, base, one),
            ],
            truth,
        );
        self.select(is_one, one, result)
    }
}
