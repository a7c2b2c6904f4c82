//! Powers of two as scales: E8M0, a biased exponent of 8 bits, and the f32 that it stands for. All of it is arithmetic of bits, and
//! exact.

use melior::ir::{Type, Value, ValueLike, r#type::IntegerType};

use super::Program;
use crate::mlir::{
    comparison::{IntegerPredicate, compare_integers},
    types,
};

/// Bits of f32's mantissa.
const MANTISSA_BITS: i64 = 23;
/// All of them set.
const MANTISSA: i64 = (1 << MANTISSA_BITS) - 1;
/// The biased exponent of infinities and NaN, and E8M0's NaN.
const NO_NUMBER: i64 = 255;
/// 2^-127, whose biased exponent is 0: no normal f32.
const LEAST: i64 = 1 << (MANTISSA_BITS - 1);

/// Which power of two stands for a quotient.
#[derive(Clone, Copy)]
pub(in crate::norm::decompose) enum Rounding {
    /// The least that is no smaller.
    Up,
    /// The quotient of the largest that dividend and divisor reach (OCP Microscaling Formats specification 1.0, section 6.3).
    Down,
}

/// Whether scales that are stored in that type are powers of two: f8E8M0FNU, or its bits.
pub(in crate::norm::decompose) fn is_power_of_two(stored: Type<'_>) -> bool {
    !types::is_float(stored) || stored.to_string() == "f8E8M0FNU"
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The type of f32's bits.
    pub(super) fn i32(&self) -> Type<'c> {
        IntegerType::new(self.b.context(), 32).into()
    }

    /// An `arith` op on i32, of which the second operand is a number.
    pub(super) fn bits(&self, name: &str, lhs: Value<'c, 'a>, rhs: i64) -> Value<'c, 'a> {
        let rhs = self.b.integer(self.i32(), rhs);
        self.b.value(name, &[lhs, rhs], self.i32())
    }

    /// The biased exponent, an i32, of the power of two that stands for `value / divisor`, 2^-126 at the least; 255 where
    /// `value`, which is an f32 and not negative, is no finite number. The divisor is a normal f32.
    pub(in crate::norm::decompose) fn exponent_of_quotient(
        &self,
        value: Value<'c, 'a>,
        divisor: f32,
        rounding: Rounding,
    ) -> Value<'c, 'a> {
        let divisor = i64::from(divisor.to_bits());
        let exponent = (divisor >> MANTISSA_BITS) - 127;
        let bits = self.b.value("arith.bitcast", &[value], self.i32());
        let rounded = match rounding {
            // The sum carries into the exponent where the value's mantissa exceeds the divisor's.
            Rounding::Up => self.bits("arith.addi", bits, MANTISSA - (divisor & MANTISSA)),
            Rounding::Down => bits,
        };
        let quotient = self.bits(
            "arith.subi",
            self.bits("arith.shrui", rounded, MANTISSA_BITS),
            exponent,
        );
        let normal = self.bits("arith.maxsi", quotient, 1);
        let no_number = self.b.integer(self.i32(), NO_NUMBER);
        self.b.value(
            "arith.select",
            &[self.is_finite(value), normal, no_number],
            self.i32(),
        )
    }

    /// The power of two of a biased exponent, an i32; NaN for 255.
    pub(in crate::norm::decompose) fn power_of_exponent(&self, exponent: Value<'c, 'a>) -> Value<'c, 'a> {
        let is = |number: i64| {
            let number = self.b.integer(self.i32(), number);
            compare_integers(&self.b, IntegerPredicate::Equal, exponent, number)
        };
        let least = self.b.integer(self.i32(), LEAST);
        let shifted = self.bits("arith.shli", exponent, MANTISSA_BITS);
        let bits = self.b.value("arith.select", &[is(0), least, shifted], self.i32());
        let power = self.b.value("arith.bitcast", &[bits], self.float);
        self.select(is(NO_NUMBER), self.constant(f64::NAN), power)
    }

    /// The biased exponent in the 8 bits of E8M0, as `stored`, which is that type or i8.
    pub(in crate::norm::decompose) fn e8m0(
        &self,
        exponent: Value<'c, 'a>,
        stored: Type<'c>,
    ) -> Value<'c, 'a> {
        let i8 = IntegerType::new(self.b.context(), 8).into();
        let bits = self.b.value("arith.trunci", &[exponent], i8);
        match types::is_float(stored) {
            true => self.b.value("arith.bitcast", &[bits], stored),
            false => bits,
        }
    }

    /// The biased exponent, as an i32, that E8M0 has, or i8 as its bits.
    pub(in crate::norm::decompose) fn exponent_of_e8m0(&self, stored: Value<'c, 'a>) -> Value<'c, 'a> {
        let i8 = IntegerType::new(self.b.context(), 8).into();
        let bits = match types::is_float(stored.r#type()) {
            true => self.b.value("arith.bitcast", &[stored], i8),
            false => stored,
        };
        self.b.value("arith.extui", &[bits], self.i32())
    }
}
