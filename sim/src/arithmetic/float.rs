//! Float arithmetic, correctly rounded.
//!
//! f32 and f64 compute with the host's arithmetic. The narrow formats compute in f64 and round once more, which for
//! sums, products, quotients and square roots gives what one rounding of the exact result gives, as f64 has more than
//! twice their precision (Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30, 1995).

use super::lanes::{LANES, Lanes, lanes, map2, map3};
use super::number::Number;
use super::sign::signs;
use super::{format, nan, round_to_odd, rounding};
use crate::program::{FloatOp, Format, Rounding};

/// A format that loops over lanes are specialized for.
trait Native: Copy {
    /// The host's type that it computes with.
    type Number: Number;

    /// The number of a bit pattern, with subnormals as zeros if they are flushed.
    fn load(self, bits: u64) -> Self::Number;

    /// The bit pattern of a result. For NaN this is the canonical NaN or, if the format propagates NaNs, the first one
    /// of the operands.
    fn store(self, number: Self::Number, operands: [u64; 2]) -> u64;
}

/// f32; magnitudes below the pattern `flush_below` are flushed to zero.
#[derive(Clone, Copy)]
struct F32 {
    flush_below: u64,
}

impl F32 {
    fn new(flush: bool) -> Self {
        let flush_below = if flush {
            format::smallest_normal(Format::F32)
        } else {
            0
        };
        Self { flush_below }
    }

    #[inline(always)]
    fn flush(self, bits: u64) -> u64 {
        format::flush_below(self.flush_below, 1 << 31, bits)
    }
}

impl Native for F32 {
    type Number = f32;

    #[inline(always)]
    fn load(self, bits: u64) -> f32 {
        f32::from_bits(self.flush(bits) as u32)
    }

    #[inline(always)]
    fn store(self, number: f32, _: [u64; 2]) -> u64 {
        let bits = if number.is_nan() {
            nan::CANONICAL_32
        } else {
            number.to_bits()
        };
        self.flush(u64::from(bits))
    }
}

/// f64, whose subnormals PTX never flushes.
#[derive(Clone, Copy)]
struct F64;

impl Native for F64 {
    type Number = f64;

    #[inline(always)]
    fn load(self, bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    #[inline(always)]
    fn store(self, number: f64, operands: [u64; 2]) -> u64 {
        if number.is_nan() {
            nan::propagated(&operands)
        } else {
            number.to_bits()
        }
    }
}

/// [`crate::program::Instruction::Float`].
pub fn float(op: FloatOp, format: Format, flush: bool, mask: u32, to: &mut Lanes, a: &Lanes, b: &Lanes) {
    match (op, format) {
        (FloatOp::Neg | FloatOp::Abs | FloatOp::CopySign, _) => signs(op, format, flush, mask, to, a, b),
        (_, Format::F32) => native(F32::new(flush), op, mask, to, a, b),
        (_, Format::F64) => native(F64, op, mask, to, a, b),
        _ => {
            let compute = on_f64(op);
            rounded(format, flush, mask, to, [a, b, b], |x, y, _| compute(x, y));
        }
    }
    if flush && format == Format::F32 && op == FloatOp::Mul {
        flush_tiny_products(mask, to, [a, b, &[1 << 31; LANES]]);
    }
}

/// [`float`] for a single value.
pub fn float_once(op: FloatOp, format: Format, flush: bool, a: u64, b: u64) -> u64 {
    let mut to = [0; LANES];
    float(op, format, flush, 1, &mut to, &[a; LANES], &[b; LANES]);
    to[0]
}

/// [`crate::program::Instruction::FusedMultiplyAdd`].
pub fn fused_multiply_add(format: Format, flush: bool, mask: u32, to: &mut Lanes, [a, b, c]: [&Lanes; 3]) {
    match format {
        Format::F32 => {
            let f = F32::new(flush);
            map3(mask, to, a, b, c, |x, y, z| {
                f.store(f.load(x).mul_add(f.load(y), f.load(z)), [0; 2])
            });
            if flush {
                flush_tiny_products(mask, to, [a, b, c]);
            }
        }
        Format::F64 => map3(mask, to, a, b, c, |x, y, z| {
            let result = f64::from_bits(x).mul_add(f64::from_bits(y), f64::from_bits(z));
            if result.is_nan() {
                nan::propagated(&[y, z, x])
            } else {
                result.to_bits()
            }
        }),
        _ => rounded(format, flush, mask, to, [a, b, c], round_to_odd::product_sum),
    }
}

/// Flushes results of `a * b + c` that only rounding made the smallest normal number: `.ftz` looks at the magnitude
/// before it is rounded.
fn flush_tiny_products(mask: u32, to: &mut Lanes, [a, b, c]: [&Lanes; 3]) {
    let (sign, smallest) = (1 << 31, format::smallest_normal(Format::F32));
    if to.iter().all(|bits| bits & !sign != smallest) {
        return;
    }
    let load = |bits| rounding::widen(Format::F32, format::flush_below(smallest, sign, bits));
    for lane in lanes(mask) {
        // Rounding to odd never reaches a power of two from below.
        let exact = round_to_odd::product_sum(load(a[lane]), load(b[lane]), load(c[lane]));
        if to[lane] & !sign == smallest && exact.abs() < f64::from(f32::MIN_POSITIVE) {
            to[lane] &= sign;
        }
    }
}

#[inline(always)]
fn native<F: Native>(f: F, op: FloatOp, mask: u32, to: &mut Lanes, a: &Lanes, b: &Lanes) {
    match op {
        // The operations that kernels use most have loops of their own, which can be vectorised.
        FloatOp::Add => map2(mask, to, a, b, |x, y| f.store(f.load(x).add(f.load(y)), [y, x])),
        FloatOp::Sub => map2(mask, to, a, b, |x, y| f.store(f.load(x).sub(f.load(y)), [y, x])),
        FloatOp::Mul => map2(mask, to, a, b, |x, y| f.store(f.load(x).mul(f.load(y)), [y, x])),
        FloatOp::Div => map2(mask, to, a, b, |x, y| f.store(f.load(x).div(f.load(y)), [x, y])),
        FloatOp::MaxNum => map2(mask, to, a, b, |x, y| {
            f.store(f.load(x).max_num(f.load(y)), [y, x])
        }),
        FloatOp::MinNum => map2(mask, to, a, b, |x, y| {
            f.store(f.load(x).min_num(f.load(y)), [y, x])
        }),
        FloatOp::Maximum => map2(mask, to, a, b, |x, y| {
            f.store(f.load(x).maximum(f.load(y)), [y, x])
        }),
        FloatOp::Minimum => map2(mask, to, a, b, |x, y| {
            f.store(f.load(x).minimum(f.load(y)), [y, x])
        }),
        _ => {
            let compute = on_number::<F::Number>(op);
            map2(mask, to, a, b, |x, y| {
                f.store(compute(f.load(x), f.load(y)), [y, x])
            });
        }
    }
}

/// The operation as a function, for loops where a call does not matter.
fn on_number<N: Number>(op: FloatOp) -> fn(N, N) -> N {
    match op {
        FloatOp::Add => N::add,
        FloatOp::Sub => N::sub,
        FloatOp::Mul => N::mul,
        FloatOp::Div => N::div,
        FloatOp::Rem => N::rem,
        FloatOp::Sqrt => |a, _| a.sqrt(),
        FloatOp::MaxNum => N::max_num,
        FloatOp::MinNum => N::min_num,
        FloatOp::Maximum => N::maximum,
        FloatOp::Minimum => N::minimum,
        FloatOp::Trunc => |a, _| a.trunc(),
        FloatOp::Floor => |a, _| a.floor(),
        FloatOp::Ceil => |a, _| a.ceil(),
        FloatOp::Rint => |a, _| a.rint(),
        FloatOp::Round => |a, _| a.round(),
        // Computed on patterns, by `signs`.
        FloatOp::Neg | FloatOp::Abs | FloatOp::CopySign => |a, _| a,
    }
}

fn on_f64(op: FloatOp) -> fn(f64, f64) -> f64 {
    on_number(op)
}

/// An operation on a narrow format: computes in f64 and rounds.
fn rounded(
    format: Format,
    flush: bool,
    mask: u32,
    to: &mut Lanes,
    [a, b, c]: [&Lanes; 3],
    compute: impl Fn(f64, f64, f64) -> f64,
) {
    let sign = format::sign_bit(format);
    let below = if flush { format::smallest_normal(format) } else { 0 };
    let load = |bits| rounding::widen(format, format::flush_below(below, sign, bits));
    let smallest = rounding::widen(format, below);
    for lane in lanes(mask) {
        let exact = compute(load(a[lane]), load(b[lane]), load(c[lane]));
        // A result that is subnormal before rounding is flushed.
        let kept = if exact.abs() < smallest {
            0f64.copysign(exact)
        } else {
            exact
        };
        to[lane] = rounding::round(format, kept, Rounding::NearestEven);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;
    use proptest::prelude::*;

    fn f32_once(op: FloatOp, a: f32, b: f32) -> u32 {
        float_once(
            op,
            Format::F32,
            false,
            u64::from(a.to_bits()),
            u64::from(b.to_bits()),
        ) as u32
    }

    fn fma_once(format: Format, flush: bool, a: u64, b: u64, c: u64) -> u64 {
        let mut to = [0; LANES];
        fused_multiply_add(format, flush, 1, &mut to, [&[a; LANES], &[b; LANES], &[c; LANES]]);
        to[0]
    }

    #[test]
    fn nan_results_are_canonical() {
        let payload = f32::from_bits(0xff80_0001);
        for op in [
            FloatOp::Add,
            FloatOp::Mul,
            FloatOp::Maximum,
            FloatOp::Sqrt,
            FloatOp::Rint,
        ] {
            assert_eq!(f32_once(op, payload, 1.0), nan::CANONICAL_32, "{op:?}");
        }
        assert_eq!(
            f32_once(FloatOp::Sub, f32::INFINITY, f32::INFINITY),
            nan::CANONICAL_32
        );
        assert_eq!(
            float_once(FloatOp::Add, Format::BF16, false, 0xffff, 0),
            nan::CANONICAL_16
        );
    }

    #[test]
    fn nan_results_of_f64_are_quieted_operands() {
        let (a, b, c) = (
            0x7ff0_0000_0000_0001,
            0xfff0_0000_0000_0002,
            0x7ff8_0000_0000_0003,
        );
        let quiet = 1 << 51;
        let (one, infinity) = (1f64.to_bits(), f64::INFINITY.to_bits());
        let once = |op, a, b| float_once(op, Format::F64, false, a, b);
        assert_eq!(once(FloatOp::Add, a, one), a | quiet);
        assert_eq!(once(FloatOp::Mul, a, b), b | quiet);
        assert_eq!(once(FloatOp::Div, a, b), a | quiet);
        assert_eq!(once(FloatOp::MaxNum, a, b), b | quiet);
        assert_eq!(once(FloatOp::Sub, infinity, infinity), nan::INVALID_64);
        assert_eq!(fma_once(Format::F64, false, a, b, c), b | quiet);
        assert_eq!(fma_once(Format::F64, false, a, one, c), c);
    }

    #[test]
    fn minima_and_maxima_treat_nan_and_zeros_as_named() {
        let nan = f32::NAN;
        for (op, a, b, expected) in [
            (FloatOp::MaxNum, nan, -3.0, -3.0),
            (FloatOp::MaxNum, -3.0, nan, -3.0),
            (FloatOp::MinNum, nan, -3.0, -3.0),
            (FloatOp::MinNum, -3.0, nan, -3.0),
            (FloatOp::MaxNum, -0.0, 0.0, 0.0),
            (FloatOp::MaxNum, 0.0, -0.0, 0.0),
            (FloatOp::MinNum, -0.0, 0.0, -0.0),
            (FloatOp::MinNum, 0.0, -0.0, -0.0),
            (FloatOp::Maximum, 2.0, 1.0, 2.0),
            (FloatOp::Minimum, 2.0, 1.0, 1.0),
        ] {
            assert_eq!(f32_once(op, a, b), f32::to_bits(expected), "{op:?} {a} {b}");
        }
        for op in [FloatOp::Maximum, FloatOp::Minimum] {
            assert_eq!(f32_once(op, nan, 1.0), nan::CANONICAL_32);
            assert_eq!(f32_once(op, 1.0, nan), nan::CANONICAL_32);
        }
        assert_eq!(f32_once(FloatOp::MaxNum, nan, nan), nan::CANONICAL_32);
    }

    #[test]
    fn flushing_keeps_the_sign() {
        let subnormal = 0x8000_0001;
        let once = |op, a, b| float_once(op, Format::F32, true, a, b);
        assert_eq!(
            once(FloatOp::Add, subnormal, 0x8000_0000),
            0x8000_0000,
            "an operand"
        );
        assert_eq!(
            once(FloatOp::Mul, 0x8080_0000, 0x3f00_0000),
            0x8000_0000,
            "a result"
        );
        let unflushed = float_once(FloatOp::Mul, Format::F32, false, 0x8080_0000, 0x3f00_0000);
        assert_eq!(unflushed, 0x8040_0000);
        assert_eq!(fma_once(Format::F32, true, 0x0000_0001, 0x7f00_0000, 0), 0);
    }

    #[test]
    fn results_are_flushed_by_what_they_are_before_rounding() {
        let (almost_one, smallest) = (0x3f7f_ffff, 0x0080_0000);
        let product = |flush| float_once(FloatOp::Mul, Format::F32, flush, almost_one, smallest);
        assert_eq!(product(false), smallest, "rounded up");
        assert_eq!(product(true), 0);
        assert_eq!(fma_once(Format::F32, true, almost_one, smallest, 0x8000_0000), 0);
        assert_eq!(
            float_once(FloatOp::Mul, Format::F32, true, 0x3f80_0000, 0x8080_0000),
            0x8080_0000
        );
        assert_eq!(
            float_once(FloatOp::Mul, Format::F16, true, 0x3bff, 0x8400),
            0x8000
        );
        assert_eq!(fma_once(Format::F16, true, 0xbbff, 0x0400, 0), 0x8000);
    }

    #[test]
    fn f16_rounds_to_infinity_from_half_a_step_above_the_largest() {
        let largest = 0x7bff;
        assert_eq!(
            float_once(FloatOp::Add, Format::F16, false, largest, largest),
            0x7c00
        );
        // 65504 + 16 is a tie, which goes to the even infinity; 65504 + 15.99 does not.
        assert_eq!(
            float_once(FloatOp::Add, Format::F16, false, largest, 0x4c00),
            0x7c00
        );
        assert_eq!(
            float_once(FloatOp::Add, Format::F16, false, largest, 0x4bff),
            largest
        );
    }

    /// The f32 nearest to an exact integer result.
    fn nearest_f32(value: i128) -> f32 {
        // An i128 to f32 conversion rounds once, to nearest even.
        value as f32
    }

    proptest! {
        #[test]
        fn f32_sums_and_products_are_the_rounded_exact_value(
            a in -0xff_ffffi32..0xff_ffff, b in -0xff_ffffi32..0xff_ffff, x in 0u32..30, y in 0u32..30,
        ) {
            let (fa, fb) = ((a as f32) * 2f32.powi(x as i32), (b as f32) * 2f32.powi(y as i32));
            let (ia, ib) = (i128::from(a) << x, i128::from(b) << y);
            prop_assert_eq!(f32::from_bits(f32_once(FloatOp::Add, fa, fb)), nearest_f32(ia + ib));
            prop_assert_eq!(f32::from_bits(f32_once(FloatOp::Sub, fa, fb)), nearest_f32(ia - ib));
            prop_assert_eq!(f32::from_bits(f32_once(FloatOp::Mul, fa, fb)), nearest_f32(ia * ib));
        }

        #[test]
        fn f32_fused_multiply_add_is_the_rounded_exact_value(
            a in -0xff_ffffi32..0xff_ffff, b in -0xff_ffffi32..0xff_ffff, c in -0xff_ffffi32..0xff_ffff,
            z in 0u32..70,
        ) {
            let exact = i128::from(a) * i128::from(b) + (i128::from(c) << z);
            let addend = (c as f32) * 2f32.powi(z as i32);
            let bits = |x: f32| u64::from(x.to_bits());
            let got = fma_once(Format::F32, false, bits(a as f32), bits(b as f32), bits(addend));
            prop_assert_eq!(f32::from_bits(got as u32), nearest_f32(exact));
        }

        #[test]
        fn every_lane_computes_alike(a in any::<[u32; 8]>(), b in any::<[u32; 8]>(), mask in any::<u32>()) {
            let a: Lanes = std::array::from_fn(|lane| u64::from(a[lane % 8]).rotate_left(lane as u32) & 0xffff_ffff);
            let b: Lanes = std::array::from_fn(|lane| u64::from(b[lane % 8]));
            for op in [FloatOp::Add, FloatOp::Mul, FloatOp::MaxNum, FloatOp::Div, FloatOp::Sqrt] {
                let mut to = [7; LANES];
                float(op, Format::F32, false, mask, &mut to, &a, &b);
                for lane in 0..LANES {
                    let expected = float_once(op, Format::F32, false, a[lane], b[lane]);
                    prop_assert_eq!(to[lane], if mask >> lane & 1 == 1 { expected } else { 7 });
                }
            }
        }

        /// `half` computes bf16 in f32 and rounds that, which for one sum or product is innocuous too.
        #[test]
        fn bf16_sums_and_products_agree_with_half(a in any::<u16>(), b in any::<u16>()) {
            let (x, y) = (bf16::from_bits(a), bf16::from_bits(b));
            for (op, expected) in [(FloatOp::Add, x + y), (FloatOp::Mul, x * y), (FloatOp::Div, x / y)] {
                let got = float_once(op, Format::BF16, false, u64::from(a), u64::from(b));
                let expected = if expected.is_nan() { nan::CANONICAL_16 } else { u64::from(expected.to_bits()) };
                prop_assert_eq!(got, expected);
            }
        }
    }
}
