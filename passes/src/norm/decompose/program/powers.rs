//! Powers of two as scales: E8M0, a biased exponent of 8 bits, and the f32 that it stands for. All of this is exact integer arithmetic on
//! bits.

use melior::ir::{Type, Value, ValueLike, r#type::IntegerType};

use super::Program;
use crate::mlir::{
    comparison::{IntegerPredicate, compare_integers},
    types,
};

/// Bits of f32's mantissa.
const MANTISSA_BITS: i64 = 23;
/// A mask of f32's mantissa.
const MANTISSA: i64 = (1 << MANTISSA_BITS) - 1;
/// The biased exponent of infinities and NaN, and E8M0's NaN.
const NO_NUMBER: i64 = 255;
/// The bits of 2^-127, whose biased exponent is 0: a subnormal f32.
const LEAST: i64 = 1 << (MANTISSA_BITS - 1);

/// How a quotient is rounded to a power of two.
#[derive(Clone, Copy)]
pub(in crate::norm::decompose) enum Rounding {
    /// To the least power of two that is no smaller.
    Up,
    /// To the quotient of the largest powers of two that do not exceed dividend and divisor (OCP Microscaling Formats specification 1.0,
    /// section 6.3).
    Down,
}

/// Whether scales of this stored type are powers of two: f8E8M0FNU, or an integer that holds its bits.
pub(in crate::norm::decompose) fn is_power_of_two(stored: Type<'_>) -> bool {
    !types::is_float(stored) || stored.to_string() == "f8E8M0FNU"
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The integer type of f32's bits.
    pub(super) fn i32(&self) -> Type<'c> {
        IntegerType::new(self.b.context(), 32).into()
    }

    /// Builds an `arith` op on an i32 and a constant.
    pub(super) fn bits(&self, name: &str, lhs: Value<'c, 'a>, rhs: i64) -> Value<'c, 'a> {
        let rhs = self.b.integer(self.i32(), rhs);
        self.b.value(name, &[lhs, rhs], self.i32())
    }

    /// The biased exponent, an i32, of `value / divisor` rounded to a power of two, which is 2^-126 at the least; 255 if `value` is not
    /// finite. `value` is an f32 and the divisor a normal one; a negative value, as the largest magnitude of no elements is, counts as 0.
    pub(in crate::norm::decompose) fn exponent_of_quotient(
        &self,
        value: Value<'c, 'a>,
        divisor: f32,
        rounding: Rounding,
    ) -> Value<'c, 'a> {
        let divisor = i64::from(divisor.to_bits());
        let exponent = (divisor >> MANTISSA_BITS) - 127;
        let value = self
            .b
            .value("arith.maximumf", &[value, self.constant(0.0)], self.float);
        let bits = self.b.value("arith.bitcast", &[value], self.i32());
        let rounded = match rounding {
            // The sum carries into the exponent if the value's mantissa exceeds the divisor's.
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

    /// The power of two with a biased exponent, an i32; NaN for 255.
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

    /// Stores a biased exponent in the 8 bits of E8M0, as the type `stored`, which is f8E8M0FNU or i8.
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

    /// Loads the biased exponent of an f8E8M0FNU, or of an i8 that holds its bits, as an i32.
    pub(in crate::norm::decompose) fn exponent_of_e8m0(&self, stored: Value<'c, 'a>) -> Value<'c, 'a> {
        let i8 = IntegerType::new(self.b.context(), 8).into();
        let bits = match types::is_float(stored.r#type()) {
            true => self.b.value("arith.bitcast", &[stored], i8),
            false => stored,
        };
        self.b.value("arith.extui", &[bits], self.i32())
    }
}
