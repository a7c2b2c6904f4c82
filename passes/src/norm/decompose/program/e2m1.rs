//! 4-bit floats, e2m1: a sign bit, two bits of exponent with bias 1, and one bit of mantissa (OCP Microscaling Formats specification 1.0,
//! section 5.3.3). The codes 0 to 7 are 0, 0.5, 1, 1.5, 2, 3, 4 and 6; adding 8 to a code negates its number.
//!
//! Conversions use arithmetic on f32 and on its bits only, which every target has.

use melior::ir::{Value, r#type::IntegerType};
use norma_dialects::norm::ReduceKind;

use super::Program;
use crate::mlir::{
    comparison::{IntegerPredicate, compare_integers},
    pass::PassError,
};

/// The largest number.
pub(in crate::norm::decompose) const LARGEST: f32 = 6.0;
/// Bits of a code.
const BITS: i64 = 4;
/// The sign bit of a code.
const SIGN: i64 = 8;
/// The magnitude bits of a code.
const MAGNITUDE: i64 = 7;
/// The distance from the sign bit of a code to that of f32, in bits.
const SIGN_SHIFT: i64 = 28;

/// Bits of f32's mantissa.
const F32_MANTISSA_BITS: i64 = 23;
/// The bits of the f32 number 1.
const F32_ONE: i64 = 127 << F32_MANTISSA_BITS;
/// 1.5 * 2^23: adding it to a small number rounds the number to an integer, which the low bits of the sum then hold.
const ROUNDING: f32 = 12_582_912.0;

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The code of an f32, as an i32: that of the nearest number, ties to even, saturated to a magnitude of 6; NaN becomes 6.
    ///
    /// Neighbouring numbers differ by 1/2 up to 2, by 1 up to 4, and by 2 beyond. The code of a magnitude `m` is therefore `2 m`, `m + 2`
    /// or `m / 2 + 4`, rounded to an integer: the sum of `2 min(m, 2)`, of the part of `m` between 2 and 4, and of half of the part above
    /// 4. At most one of these three is not an integer, so at most one of the additions to [`ROUNDING`] rounds.
    pub(in crate::norm::decompose) fn e2m1(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let number = |number: f64| self.constant(number);
        let at_least = |value, least: f64| self.op("arith.maxnumf", &[value, number(least)]);
        let at_most = |value, most: f64| self.op("arith.minnumf", &[value, number(most)]);
        let largest = f64::from(LARGEST);
        // The order matters: the first op replaces NaN, and its sign with it.
        let within = at_least(at_most(value, largest), -largest);
        let magnitude = self.op("math.absf", &[within]);

        // The terms of the upper two parts below, `min(max(m, 2), 4)` and `max(m, 4) / 2`, are too large by 2 each, hence the 4 that is
        // subtracted here.
        let rounding = number(f64::from(ROUNDING) - 4.0);
        let below_2 = self.op("math.fma", &[at_most(magnitude, 2.0), number(2.0), rounding]);
        let below_4 = self.op("arith.addf", &[below_2, at_least(at_most(magnitude, 4.0), 2.0)]);
        let rounded = self.op("math.fma", &[at_least(magnitude, 4.0), number(0.5), below_4]);

        let bits_of = |value| self.b.value("arith.bitcast", &[value], self.i32());
        let code = self.bits("arith.subi", bits_of(rounded), i64::from(ROUNDING.to_bits()));
        let sign = self.bits("arith.shrui", bits_of(within), SIGN_SHIFT);
        let sign = self.bits("arith.andi", sign, SIGN);
        self.b.value("arith.ori", &[code, sign], self.i32())
    }

    /// The f32 of the code in the low bits of an i32; the other bits are ignored.
    pub(in crate::norm::decompose) fn float_of_e2m1(&self, code: Value<'c, 'a>) -> Value<'c, 'a> {
        let i32 = self.i32();
        let magnitude = self.bits("arith.andi", code, MAGNITUDE);
        let is = |number: i64| {
            let number = self.b.integer(i32, number);
            compare_integers(&self.b, IntegerPredicate::Equal, magnitude, number)
        };
        // Exponent and mantissa are laid out in a code as in f32, but for the bias and for the codes of 0 and 0.5, which have no implicit
        // leading 1.
        let shifted = self.bits("arith.shli", magnitude, F32_MANTISSA_BITS - 1);
        let half = F32_ONE - (1 << F32_MANTISSA_BITS);
        let normal = self.bits("arith.addi", shifted, half);
        let select = |condition, chosen: i64, other| {
            let chosen = self.b.integer(i32, chosen);
            self.b.value("arith.select", &[condition, chosen, other], i32)
        };
        let bits = select(is(0), 0, select(is(1), half, normal));
        let sign = self.bits("arith.shli", self.bits("arith.andi", code, SIGN), SIGN_SHIFT);
        let signed = self.b.value("arith.ori", &[bits, sign], i32);
        self.b.value("arith.bitcast", &[signed], self.float)
    }

    /// Packs two codes, an i32 that varies over a dim of two points, into an i8: the first code is in the low bits.
    pub(in crate::norm::decompose) fn pair_of_codes(
        &self,
        code: Value<'c, 'a>,
        of_pair: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let shift = self.shift_within_pair(of_pair);
        let placed = self.b.value("arith.shli", &[code, shift], self.i32());
        let pair = self.reduce(ReduceKind::Or, placed, &[of_pair])?;
        let i8 = IntegerType::new(self.b.context(), 8).into();
        Ok(self.b.value("arith.trunci", &[pair], i8))
    }

    /// Unpacks from an i8 the code at a point of a dim of two points, into the low bits of an i32.
    pub(in crate::norm::decompose) fn code_of_pair(
        &self,
        pair: Value<'c, 'a>,
        of_pair: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let bits = self.b.value("arith.extui", &[pair], self.i32());
        let shift = self.shift_within_pair(of_pair);
        self.b.value("arith.shrui", &[bits, shift], self.i32())
    }

    fn shift_within_pair(&self, of_pair: Value<'c, 'a>) -> Value<'c, 'a> {
        let place = self.b.value("arith.index_cast", &[of_pair], self.i32());
        self.bits("arith.muli", place, BITS)
    }
}
