//! Floats of 4 bits, e2m1: a sign, two bits of an exponent that is biased by 1, and one of a mantissa (OCP Microscaling Formats
//! specification 1.0, section 5.3.3). The codes 0 to 7 are 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and 8 more is the negative.
//!
//! All of it is arithmetic of f32 and of its bits, which every target has.

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
/// The bit of a code that is its sign.
const SIGN: i64 = 8;
/// The bits of a code that are its magnitude.
const MAGNITUDE: i64 = 7;
/// By how many bits f32's sign lies above a code's.
const SIGN_SHIFT: i64 = 28;

/// Bits of f32's mantissa.
const F32_MANTISSA_BITS: i64 = 23;
/// The bits of 1 in f32.
const F32_ONE: i64 = 127 << F32_MANTISSA_BITS;
/// 1.5 * 2^23: sums with small numbers are rounded to whole ones, which their lowest bits count.
const ROUNDING: f32 = 12_582_912.0;

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The code of an f32, as an i32: the nearest number, ties to even, at most 6 in magnitude, and 6 of NaN.
    ///
    /// Codes are apart by 1/2 up to 2, by 1 up to 4, and by 2 beyond, so that the code of a magnitude `m` is `2 m`, `m + 2` or
    /// `m / 2 + 4`, rounded to a whole number. It is the sum of `2 min(m, 2)`, of what lies between 2 and 4, and of half of what lies
    /// above 4. At most one of these is no whole number, so that of the sums with [`ROUNDING`] at most one is rounded.
    pub(in crate::norm::decompose) fn e2m1(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let number = |number: f64| self.constant(number);
        let at_least = |value, least: f64| self.op("arith.maxnumf", &[value, number(least)]);
        let at_most = |value, most: f64| self.op("arith.minnumf", &[value, number(most)]);
        let largest = f64::from(LARGEST);
        // The order matters: the first takes NaN away, and its sign with it.
        let within = at_least(at_most(value, largest), -largest);
        let magnitude = self.op("math.absf", &[within]);

        // Where the magnitude is below them, the parts from 2 and from 4 on add 2 each.
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

    /// The f32 of the code in the low bits of an i32, whatever the others are.
    pub(in crate::norm::decompose) fn float_of_e2m1(&self, code: Value<'c, 'a>) -> Value<'c, 'a> {
        let i32 = self.i32();
        let magnitude = self.bits("arith.andi", code, MAGNITUDE);
        let is = |number: i64| {
            let number = self.b.integer(i32, number);
            compare_integers(&self.b, IntegerPredicate::Equal, magnitude, number)
        };
        // Exponent and mantissa lie in a code as in f32, but for the bias, and for the codes of 0 and 0.5, which have no leading 1.
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

    /// The i8 of two codes, i32 that vary over a dim of two points: the first has the low bits.
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

    /// The code in an i8 at a point of a dim of two, in the low bits of an i32.
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
