//! Exponentials of f64, for which there is no instruction: a whole power of 2 times a polynomial.

use std::f64::consts::{LN_2, LOG2_E};

use melior::ir::Value;

use super::emitter::Emitter;

/// The natural logarithm of 2 as the sum of two f64. The last 32 bits of the first are clear, so that its product with a whole
/// number of up to 32 bits is exact.
const LN_2_HIGH: f64 = f64::from_bits(LN_2.to_bits() & !0xffff_ffff);
/// The second, which errs by at most 2^-74.
const LN_2_LOW: f64 = 4.749_325_039_031_672_6e-7;

/// `e^x` by its Taylor series: for |x| <= ln(2) / 2 the next term is below 2^-57.
const EXP: [f64; 14] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40320.0,
    1.0 / 362880.0,
    1.0 / 3628800.0,
    1.0 / 39916800.0,
    1.0 / 479001600.0,
    1.0 / 6227020800.0,
];

/// The limit of the exponent of 2, beyond which the result overflows, or is 0.
const LARGEST: f64 = 1100.0;

impl<'c: 'a, 'a> Emitter<'_, 'c, 'a> {
    /// e to the power of an f64.
    pub(super) fn exp_of_f64(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let x = self.clamped(x, LARGEST * LN_2);
        let whole = self.nearest_whole(self.scaled(x, LOG2_E));
        let rest = self.fma(whole, self.constant(-LN_2_HIGH), x);
        let rest = self.fma(whole, self.constant(-LN_2_LOW), rest);
        self.times_power_of_two(self.polynomial(rest, &EXP), self.whole(whole, LARGEST))
    }

    /// 2 to the power of an f64.
    pub(super) fn exp2_of_f64(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let x = self.clamped(x, LARGEST);
        let whole = self.nearest_whole(x);
        let rest = self.scaled(self.subtract(x, whole), LN_2);
        self.times_power_of_two(self.polynomial(rest, &EXP), self.whole(whole, LARGEST))
    }
}
