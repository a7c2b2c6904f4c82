//! Powers of two as scales: E8M0, a biased exponent of 8 bits, and the f32 that it stands for. All of it is arithmetic of bits, and
//! exact.

use melior::ir::{Type, Value, r#type::IntegerType};

use super::Program;
use crate::mlir::comparison::{IntegerPredicate, compare_integers};

/// Bits of f32's mantissa.
const MANTISSA_BITS: i64 = 23;
/// All of them set.
const MANTISSA: i64 = (1 << MANTISSA_BITS) - 1;
/// The biased exponent of infinities and NaN, and E8M0's NaN.
const NO_NUMBER: i64 = 255;
/// 2^-127, whose biased exponent is 0: no normal f32.
const LEAST: i64 = 1 << (MANTISSA_BITS - 1);

impl<'c: 'a, 'a> Program<'c, 'a> {
    fn i32(&self) -> Type<'c> {
        IntegerType::new(self.b.context(), 32).into()
    }

    fn bits(&self, name: &str, lhs: Value<'c, 'a>, rhs: i64) -> Value<'c, 'a> {
        let rhs = self.b.integer(self.i32(), rhs);
        self.b.value(name, &[lhs, rhs], self.i32())
    }

    /// The biased exponent, an i32, of the least power of two that is `value / divisor` or more, 2^-126 at the least; 255 where
    /// `value`, which is an f32 and not negative, is no finite number. The divisor is a finite f32.
    pub(in crate::norm::decompose) fn exponent_of_quotient(
        &self,
        value: Value<'c, 'a>,
        divisor: f32,
    ) -> Value<'c, 'a> {
        let divisor = i64::from(divisor.to_bits());
        let exponent = (divisor >> MANTISSA_BITS) - 127;
        let bits = self.b.value("arith.bitcast", &[value], self.i32());
        // The sum carries into the exponent where the value's mantissa exceeds the divisor's.
        let rounded = self.bits("arith.addi", bits, MANTISSA - (divisor & MANTISSA));
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

    /// The biased exponent in 8 bits, as E8M0 has it.
    pub(in crate::norm::decompose) fn e8m0(&self, exponent: Value<'c, 'a>) -> Value<'c, 'a> {
        let i8 = IntegerType::new(self.b.context(), 8).into();
        self.b.value("arith.trunci", &[exponent], i8)
    }

    /// The biased exponent that E8M0 has in 8 bits, as an i32.
    pub(in crate::norm::decompose) fn exponent_of_e8m0(&self, bits: Value<'c, 'a>) -> Value<'c, 'a> {
        self.b.value("arith.extui", &[bits], self.i32())
    }
}
