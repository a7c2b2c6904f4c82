//! Integer arithmetic.
//!
//! Where LLVM leaves a result undefined this follows PTX or the hardware: shifts by the width or more clamp to the
//! width (PTX ISA, "Logic and Shift Instructions": shl, shr), a quotient by zero and its remainder have all bits
//! set, and the smallest number divided by -1 wraps.

use super::lanes::{Lanes, map2, map3};
use crate::program::IntegerOp;

/// How many bits of a register an operation works on.
///
/// A trait rather than a number, so that the loops for the common widths have it as a constant.
trait Width: Copy {
    /// Bits, 1 to 64.
    fn bits(self) -> u32;

    /// The low bits.
    #[inline(always)]
    fn cut(self, value: u64) -> u64 {
        value & (u64::MAX >> (64 - self.bits()))
    }

    /// The low bits as a signed number.
    #[inline(always)]
    fn signed(self, value: u64) -> i64 {
        let unused = 64 - self.bits();
        ((value << unused) as i64) >> unused
    }
}

#[derive(Clone, Copy)]
struct W32;

impl Width for W32 {
    #[inline(always)]
    fn bits(self) -> u32 {
        32
    }
}

#[derive(Clone, Copy)]
struct W64;

impl Width for W64 {
    #[inline(always)]
    fn bits(self) -> u32 {
        64
    }
}

#[derive(Clone, Copy)]
struct AnyWidth(u8);

impl Width for AnyWidth {
    #[inline(always)]
    fn bits(self) -> u32 {
        u32::from(self.0.clamp(1, 64))
    }
}

/// [`crate::program::Instruction::Integer`] on the low `bits` bits.
pub fn integer(op: IntegerOp, bits: u8, mask: u32, to: &mut Lanes, a: &Lanes, b: &Lanes) {
    match bits {
        32 => of_width(W32, op, mask, to, a, b),
        64 => of_width(W64, op, mask, to, a, b),
        _ => of_width(AnyWidth(bits), op, mask, to, a, b),
    }
}

/// [`crate::program::Instruction::Address`]: `a + b * scale`, `b` sign-extended from `bits`.
pub fn address(bits: u8, scale: i64, mask: u32, to: &mut Lanes, a: &Lanes, b: &Lanes) {
    let step = |base: u64, index: i64| base.wrapping_add(index.wrapping_mul(scale) as u64);
    match bits {
        64 => map2(mask, to, a, b, |x, y| step(x, y as i64)),
        32 => map2(mask, to, a, b, |x, y| step(x, i64::from(y as i32))),
        _ => map2(mask, to, a, b, |x, y| step(x, AnyWidth(bits).signed(y))),
    }
}

/// [`crate::program::Instruction::Select`].
pub fn select(mask: u32, to: &mut Lanes, condition: &Lanes, yes: &Lanes, no: &Lanes) {
    map3(
        mask,
        to,
        condition,
        yes,
        no,
        |c, y, n| if c & 1 == 1 { y } else { n },
    );
}

#[inline(always)]
fn of_width(w: impl Width, op: IntegerOp, mask: u32, to: &mut Lanes, a: &Lanes, b: &Lanes) {
    let bits = w.bits();
    let mut each = |f: &dyn Fn(u64, u64) -> u64| map2(mask, to, a, b, f);
    match op {
        // The operations that kernels use most have loops of their own, which can be vectorised.
        IntegerOp::Add => map2(mask, to, a, b, |x, y| w.cut(x.wrapping_add(y))),
        IntegerOp::Sub => map2(mask, to, a, b, |x, y| w.cut(x.wrapping_sub(y))),
        IntegerOp::Mul => map2(mask, to, a, b, |x, y| w.cut(w.cut(x).wrapping_mul(w.cut(y)))),
        IntegerOp::And => map2(mask, to, a, b, |x, y| x & y),
        IntegerOp::Or => map2(mask, to, a, b, |x, y| x | y),
        IntegerOp::Xor => map2(mask, to, a, b, |x, y| x ^ y),
        IntegerOp::Shl => map2(mask, to, a, b, |x, y| {
            if y >= u64::from(bits) {
                0
            } else {
                w.cut(x << (y & 63))
            }
        }),
        IntegerOp::LShr => map2(mask, to, a, b, |x, y| {
            if y >= u64::from(bits) {
                0
            } else {
                w.cut(x) >> (y & 63)
            }
        }),
        IntegerOp::AShr => each(&|x, y| w.cut((w.signed(x) >> y.min(63)) as u64)),
        IntegerOp::MulHighSigned => {
            each(&|x, y| w.cut(((i128::from(w.signed(x)) * i128::from(w.signed(y))) >> bits) as u64))
        }
        IntegerOp::MulHighUnsigned => {
            each(&|x, y| w.cut(((u128::from(w.cut(x)) * u128::from(w.cut(y))) >> bits) as u64))
        }
        IntegerOp::DivSigned => each(&|x, y| match w.signed(y) {
            0 => w.cut(u64::MAX),
            divisor => w.cut(w.signed(x).wrapping_div(divisor) as u64),
        }),
        IntegerOp::DivUnsigned => each(&|x, y| w.cut(x).checked_div(w.cut(y)).unwrap_or(w.cut(u64::MAX))),
        IntegerOp::RemSigned => each(&|x, y| match w.signed(y) {
            0 => w.cut(u64::MAX),
            divisor => w.cut(w.signed(x).wrapping_rem(divisor) as u64),
        }),
        IntegerOp::RemUnsigned => each(&|x, y| w.cut(x).checked_rem(w.cut(y)).unwrap_or(w.cut(u64::MAX))),
        IntegerOp::MaxSigned => each(&|x, y| if w.signed(x) >= w.signed(y) { x } else { y }),
        IntegerOp::MinSigned => each(&|x, y| if w.signed(x) <= w.signed(y) { x } else { y }),
        IntegerOp::MaxUnsigned => each(&|x, y| w.cut(x).max(w.cut(y))),
        IntegerOp::MinUnsigned => each(&|x, y| w.cut(x).min(w.cut(y))),
        IntegerOp::PopulationCount => each(&|x, _| u64::from(w.cut(x).count_ones())),
        IntegerOp::LeadingZeros => each(&|x, _| u64::from(w.cut(x).leading_zeros() + bits - 64)),
        IntegerOp::TrailingZeros => each(&|x, _| u64::from(x.trailing_zeros().min(bits))),
        IntegerOp::BitReverse => each(&|x, _| x.reverse_bits() >> (64 - bits)),
        IntegerOp::AbsSigned => each(&|x, _| w.cut(w.signed(x).wrapping_abs() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::LANES;
    use super::*;
    use proptest::prelude::*;

    /// The expected result of every operation on 8 bits, from i32 arithmetic: an independent formulation that can be
    /// tried on all operands.
    fn expected(op: IntegerOp, a: u8, b: u8) -> u8 {
        let (signed_a, signed_b) = (i32::from(a as i8), i32::from(b as i8));
        let (wide_a, wide_b) = (i32::from(a), i32::from(b));
        match op {
            IntegerOp::Add => (wide_a + wide_b) as u8,
            IntegerOp::Sub => (wide_a - wide_b) as u8,
            IntegerOp::Mul => (wide_a * wide_b) as u8,
            IntegerOp::MulHighSigned => ((signed_a * signed_b) >> 8) as u8,
            IntegerOp::MulHighUnsigned => ((wide_a * wide_b) >> 8) as u8,
            IntegerOp::DivSigned if b == 0 => 0xff,
            IntegerOp::DivUnsigned if b == 0 => 0xff,
            IntegerOp::RemSigned | IntegerOp::RemUnsigned if b == 0 => 0xff,
            IntegerOp::DivSigned => (signed_a / signed_b) as u8,
            IntegerOp::DivUnsigned => (wide_a / wide_b) as u8,
            IntegerOp::RemSigned => (signed_a % signed_b) as u8,
            IntegerOp::RemUnsigned => (wide_a % wide_b) as u8,
            IntegerOp::And => a & b,
            IntegerOp::Or => a | b,
            IntegerOp::Xor => a ^ b,
            IntegerOp::Shl => (u32::from(a)).checked_shl(u32::from(b)).unwrap_or(0) as u8,
            IntegerOp::LShr => (u32::from(a)).checked_shr(u32::from(b)).unwrap_or(0) as u8,
            IntegerOp::AShr => (signed_a >> b.min(31)) as u8,
            IntegerOp::MaxSigned => signed_a.max(signed_b) as u8,
            IntegerOp::MinSigned => signed_a.min(signed_b) as u8,
            IntegerOp::MaxUnsigned => a.max(b),
            IntegerOp::MinUnsigned => a.min(b),
            IntegerOp::PopulationCount => a.count_ones() as u8,
            IntegerOp::LeadingZeros => a.leading_zeros() as u8,
            IntegerOp::TrailingZeros => a.trailing_zeros() as u8,
            IntegerOp::BitReverse => a.reverse_bits(),
            IntegerOp::AbsSigned => signed_a.unsigned_abs() as u8,
        }
    }

    const ALL: [IntegerOp; 24] = [
        IntegerOp::Add,
        IntegerOp::Sub,
        IntegerOp::Mul,
        IntegerOp::MulHighSigned,
        IntegerOp::MulHighUnsigned,
        IntegerOp::DivSigned,
        IntegerOp::DivUnsigned,
        IntegerOp::RemSigned,
        IntegerOp::RemUnsigned,
        IntegerOp::And,
        IntegerOp::Or,
        IntegerOp::Xor,
        IntegerOp::Shl,
        IntegerOp::LShr,
        IntegerOp::AShr,
        IntegerOp::MaxSigned,
        IntegerOp::MinSigned,
        IntegerOp::MaxUnsigned,
        IntegerOp::MinUnsigned,
        IntegerOp::PopulationCount,
        IntegerOp::LeadingZeros,
        IntegerOp::TrailingZeros,
        IntegerOp::BitReverse,
        IntegerOp::AbsSigned,
    ];

    fn integer_once(op: IntegerOp, bits: u8, a: u64, b: u64) -> u64 {
        let mut to = [0; LANES];
        integer(op, bits, 1, &mut to, &[a; LANES], &[b; LANES]);
        to[0]
    }

    #[test]
    fn all_operations_on_all_bytes() {
        for op in ALL {
            for a in 0..=u8::MAX {
                for start in (0..256).step_by(LANES) {
                    let b: Lanes = std::array::from_fn(|lane| (start + lane) as u64);
                    let mut to = [0; LANES];
                    integer(op, 8, u32::MAX, &mut to, &[u64::from(a); LANES], &b);
                    for lane in 0..LANES {
                        assert_eq!(
                            to[lane],
                            u64::from(expected(op, a, b[lane] as u8)),
                            "{op:?} {a} {}",
                            b[lane]
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn one_bit_behaves_as_a_boolean() {
        assert_eq!(integer_once(IntegerOp::Add, 1, 1, 1), 0);
        assert_eq!(integer_once(IntegerOp::Xor, 1, 1, 1), 0);
        assert_eq!(integer_once(IntegerOp::MaxUnsigned, 1, 0, 1), 1);
        assert_eq!(integer_once(IntegerOp::MaxSigned, 1, 0, 1), 0, "1 is -1");
    }

    #[test]
    fn addresses_step_by_signed_indices() {
        let mut to = [0; LANES];
        address(32, 4, u32::MAX, &mut to, &[100; LANES], &[0xffff_ffff; LANES]);
        assert_eq!(to[5], 96);
        address(64, -8, u32::MAX, &mut to, &[100; LANES], &[3; LANES]);
        assert_eq!(to[5], 76);
    }

    proptest! {
        #[test]
        fn words_agree_with_the_machine(a in any::<u32>(), b in any::<u32>(), shift in 0u32..40) {
            let once = |op, b: u32| integer_once(op, 32, u64::from(a), u64::from(b)) as u32;
            prop_assert_eq!(once(IntegerOp::Add, b), a.wrapping_add(b));
            prop_assert_eq!(once(IntegerOp::Sub, b), a.wrapping_sub(b));
            prop_assert_eq!(once(IntegerOp::Mul, b), a.wrapping_mul(b));
            prop_assert_eq!(once(IntegerOp::Shl, shift), a.checked_shl(shift).unwrap_or(0));
            prop_assert_eq!(once(IntegerOp::LShr, shift), a.checked_shr(shift).unwrap_or(0));
            prop_assert_eq!(once(IntegerOp::AShr, shift), ((a as i32) >> shift.min(31)) as u32);
            prop_assert_eq!(once(IntegerOp::MulHighUnsigned, b), ((u64::from(a) * u64::from(b)) >> 32) as u32);
            prop_assert_eq!(once(IntegerOp::MaxSigned, b), (a as i32).max(b as i32) as u32);
            prop_assert_eq!(once(IntegerOp::DivUnsigned, b), a.checked_div(b).unwrap_or(u32::MAX));
        }

        #[test]
        fn doublewords_agree_with_the_machine(a in any::<u64>(), b in any::<u64>()) {
            prop_assert_eq!(integer_once(IntegerOp::Add, 64, a, b), a.wrapping_add(b));
            prop_assert_eq!(integer_once(IntegerOp::Mul, 64, a, b), a.wrapping_mul(b));
            prop_assert_eq!(
                integer_once(IntegerOp::MulHighUnsigned, 64, a, b),
                ((u128::from(a) * u128::from(b)) >> 64) as u64
            );
            prop_assert_eq!(integer_once(IntegerOp::DivSigned, 64, a, b | 1), (a as i64).wrapping_div((b | 1) as i64) as u64);
        }
    }
}
