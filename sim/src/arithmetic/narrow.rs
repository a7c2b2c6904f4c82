//! Formats narrower than f32: exact widening, and rounding in every mode.
//!
//! Widening to f64 is exact, and so is every sum of rounding errors taken here. Conversions between f32 and the two
//! 16-bit formats, which kernels do most, work on patterns instead, so that a loop over them can be vectorised.

use norma_bundle::Element;

use crate::program::{Format, Rounding};

/// The canonical NaN of f16 and bf16.
pub(super) const NAN_16: u64 = 0x7fff;
/// The canonical NaN of f32.
pub(super) const NAN_32: u32 = 0x7fff_ffff;
/// What an invalid operation of f64 gives.
pub(super) const NAN_64: u64 = 0xfff8_0000_0000_0000;
/// The bit of f64 that tells a quiet NaN from a signaling one.
const QUIET_64: u64 = 1 << 51;

/// The storage type of a format.
pub(super) fn element(format: Format) -> Element {
    match format {
        Format::F64 => Element::F64,
        Format::F32 => Element::F32,
        Format::F16 => Element::F16,
        Format::BF16 => Element::BF16,
        Format::F8E4M3FN => Element::F8E4M3FN,
        Format::F8E5M2 => Element::F8E5M2,
    }
}

/// The pattern that an operation gives for NaN. Both fp8 formats have 0x7f (PTX ISA, "Data Movement and Conversion
/// Instructions: cvt").
pub(super) fn canonical_nan(format: Format) -> u64 {
    match format {
        Format::F64 => NAN_64,
        Format::F32 => u64::from(NAN_32),
        Format::F16 | Format::BF16 => NAN_16,
        Format::F8E4M3FN | Format::F8E5M2 => 0x7f,
    }
}

/// The NaN that an f64 operation gives: the first of its operands that is one, quieted.
#[cold]
pub(super) fn propagated_nan(operands: &[u64]) -> u64 {
    let nan = operands.iter().find(|bits| f64::from_bits(**bits).is_nan());
    nan.map_or(NAN_64, |bits| bits | QUIET_64)
}

/// f64 to a narrower format for NaNs, which keep their sign and as much of their payload as fits, quieted.
pub(super) fn narrowed_nan(format: Format, bits: u64) -> u64 {
    let payload = (bits | QUIET_64) & ((1 << 52) - 1);
    let sign = if bits >> 63 == 1 { sign_bit(format) } else { 0 };
    sign | infinity(format) | payload >> (52 - mantissa_bits(format))
}

/// The inverse of [`narrowed_nan`] for quiet NaNs.
pub(super) fn widened_nan(format: Format, bits: u64) -> u64 {
    let sign = if bits & sign_bit(format) == 0 { 0 } else { 1 << 63 };
    let payload = bits & ((1 << mantissa_bits(format)) - 1);
    sign | infinity(Format::F64) | QUIET_64 | payload << (52 - mantissa_bits(format))
}

/// Bits below the exponent.
fn mantissa_bits(format: Format) -> u32 {
    smallest_normal(format).trailing_zeros()
}

/// The magnitude of infinity, or of the largest number in a format without.
pub(super) fn infinity(format: Format) -> u64 {
    match format {
        Format::F8E4M3FN => largest_finite(format),
        _ => element(format).encode_float(f64::INFINITY),
    }
}

/// The bit that is the sign.
pub(super) fn sign_bit(format: Format) -> u64 {
    1 << (8 * element(format).bytes() - 1)
}

/// The smallest magnitude that is not subnormal, as a pattern.
pub(super) fn smallest_normal(format: Format) -> u64 {
    match format {
        Format::F64 => 1 << 52,
        Format::F32 => 1 << 23,
        Format::F16 => 1 << 10,
        Format::BF16 => 1 << 7,
        Format::F8E4M3FN => 1 << 3,
        Format::F8E5M2 => 1 << 2,
    }
}

/// The pattern with a subnormal replaced by the zero of its sign.
#[inline(always)]
pub(super) fn flush_below(smallest_normal: u64, sign_bit: u64, bits: u64) -> u64 {
    if bits & !sign_bit < smallest_normal {
        bits & sign_bit
    } else {
        bits
    }
}

/// The number that a pattern is, exactly.
#[inline]
pub(super) fn widen(format: Format, bits: u64) -> f64 {
    match format {
        Format::F64 => f64::from_bits(bits),
        Format::F32 => f64::from(f32::from_bits(bits as u32)),
        Format::F16 => f64::from(f32::from_bits(f16_to_f32(bits) as u32)),
        Format::BF16 => f64::from(f32::from_bits((bits << 16) as u32)),
        Format::F8E4M3FN | Format::F8E5M2 => element(format).decode_float(bits),
    }
}

/// `value` rounded once to a format; what overflows becomes infinity, or the canonical NaN in a format without
/// infinities.
pub(super) fn round(format: Format, value: f64, rounding: Rounding) -> u64 {
    if value.is_nan() {
        return canonical_nan(format);
    }
    let element = element(format);
    let nearest = element.encode_float(value);
    if rounding == Rounding::NearestEven || format == Format::F64 || value.is_infinite() {
        return nearest;
    }
    let sign = nearest & sign_bit(format);
    let exact = value.abs();
    // The two neighbours of the exact magnitude, as patterns; the upper one may be infinity.
    let nearest = nearest & !sign;
    let magnitude = element.decode_float(nearest);
    let below = if magnitude.is_finite() && magnitude <= exact {
        nearest
    } else {
        nearest - 1
    };
    let lower = element.decode_float(below);
    if lower == exact {
        return sign | below;
    }
    let up = match rounding {
        Rounding::NearestEven => return sign | nearest,
        // Both sums are exact: neighbours have few bits, and doubling changes an exponent.
        Rounding::NearestAway => 2.0 * exact >= 2.0 * lower + element.ulp(lower),
        Rounding::Zero => false,
        Rounding::Down => sign != 0,
        Rounding::Up => sign == 0,
    };
    sign | (below + u64::from(up))
}

/// The magnitude of a format's largest finite number, as a pattern.
pub(super) fn largest_finite(format: Format) -> u64 {
    element(format).encode_float(element(format).largest_finite())
}

/// `a * b + c` of a narrow format, rounded once.
///
/// The product of two narrow numbers is exact in f64; the sum need not be. It is rounded to odd (Boldo and Melquiond,
/// "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on
/// Computers 57, 2008), which a second rounding to at most 51 bits cannot tell from the exact sum.
pub(super) fn fused_multiply_add(a: f64, b: f64, c: f64) -> f64 {
    sum_rounded_to_odd(a * b, c)
}

fn sum_rounded_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's two-sum: `error` is what rounding the sum lost, exactly.
    let of_b = sum - a;
    let error = (a - (sum - of_b)) + (b - of_b);
    if error == 0.0 || !error.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() + 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    }
}

/// An integer rounded to odd in f64, for a second rounding to a narrow format.
pub(super) fn integer_rounded_to_odd(value: i128) -> f64 {
    let rounded = value as f64;
    let back = rounded as i128;
    if back == value || rounded.to_bits() & 1 == 1 {
        return rounded;
    }
    if (value > back) == (rounded > 0.0) {
        f64::from_bits(rounded.to_bits() + 1)
    } else {
        f64::from_bits(rounded.to_bits() - 1)
    }
}

/// f16 to f32, exactly; NaN becomes canonical.
#[inline(always)]
pub(super) fn f16_to_f32(bits: u64) -> u64 {
    let bits = bits as u32;
    let magnitude = bits & 0x7fff;
    // Moving the exponent field leaves it too small by the difference of the biases, 112; multiplying by 2^112 adds
    // that exactly, for subnormals too.
    let finite = (f32::from_bits(magnitude << 13) * f32::from_bits((112 + 127) << 23)).to_bits();
    let sign = (bits & 0x8000) << 16;
    let result = if magnitude > 0x7c00 {
        NAN_32
    } else if magnitude == 0x7c00 {
        sign | 0x7f80_0000
    } else {
        sign | finite
    };
    u64::from(result)
}

/// f32 to f16, to nearest even.
#[inline(always)]
pub(super) fn f32_to_f16(bits: u64) -> u64 {
    let bits = bits as u32;
    let magnitude = bits & 0x7fff_ffff;
    // Adding 1/2 aligns a number below 2^-14 so that the addition rounds it at the spacing of f16's subnormals, 2^-24.
    let subnormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0x3f00_0000);
    // Rebiases the exponent by -112 and rounds at bit 13; a carry out of the mantissa is what rounding up to the next
    // binade, or to infinity, is.
    let normal = magnitude
        .wrapping_sub(112 << 23)
        .wrapping_add(0xfff + (magnitude >> 13 & 1))
        >> 13;
    let sign = bits >> 16 & 0x8000;
    let result = if magnitude > 0x7f80_0000 {
        NAN_16 as u32
    } else if magnitude >= 0x4780_0000 {
        sign | 0x7c00
    } else if magnitude < 0x3880_0000 {
        sign | subnormal
    } else {
        sign | normal
    };
    u64::from(result)
}

/// bf16 to f32: the pattern moves up, with a NaN's payload.
#[inline(always)]
pub(super) fn bf16_to_f32(bits: u64) -> u64 {
    bits << 16
}

/// f32 to bf16, to nearest even.
#[inline(always)]
pub(super) fn f32_to_bf16(bits: u64) -> u64 {
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        NAN_16
    } else {
        (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;

    const NARROW: [Format; 4] = [Format::F16, Format::BF16, Format::F8E4M3FN, Format::F8E5M2];

    #[test]
    fn every_16_bit_pattern_widens_as_half_widens_it() {
        for bits in 0..=u16::MAX {
            let pattern = u64::from(bits);
            let of_f16 = f16::from_bits(bits).to_f32();
            if of_f16.is_nan() {
                assert_eq!(f16_to_f32(pattern), u64::from(NAN_32));
            } else {
                assert_eq!(f16_to_f32(pattern), u64::from(of_f16.to_bits()), "{bits:#x}");
            }
            assert_eq!(bf16_to_f32(pattern), u64::from(bits) << 16);
            if !of_f16.is_nan() {
                assert_eq!(widen(Format::F16, pattern), f16::from_bits(bits).to_f64());
            }
        }
    }

    /// Around every 16-bit number: itself, the f32s next to it, the middle to the next and the f32s next to that.
    #[test]
    fn narrowing_f32_agrees_with_half_around_every_16_bit_pattern() {
        for bits in 0..u16::MAX {
            for (this, next, narrow, expected) in [
                (
                    f16::from_bits(bits).to_f32(),
                    f16::from_bits(bits + 1).to_f32(),
                    f32_to_f16 as fn(u64) -> u64,
                    (|x| f16::from_f32(x).to_bits()) as fn(f32) -> u16,
                ),
                (
                    bf16::from_bits(bits).to_f32(),
                    bf16::from_bits(bits + 1).to_f32(),
                    f32_to_bf16,
                    |x| bf16::from_f32(x).to_bits(),
                ),
            ] {
                let middle = this / 2.0 + next / 2.0;
                for x in [
                    this,
                    middle,
                    this.next_up(),
                    this.next_down(),
                    middle.next_up(),
                    middle.next_down(),
                ] {
                    let got = narrow(u64::from(x.to_bits()));
                    let want = if x.is_nan() {
                        NAN_16
                    } else {
                        u64::from(expected(x))
                    };
                    assert_eq!(got, want, "{x:e} {:#x}", x.to_bits());
                }
            }
        }
    }

    #[test]
    fn directed_rounding_takes_the_neighbour_on_its_side() {
        for format in NARROW {
            let element = element(format);
            for bits in 0..largest_finite(format) {
                let (this, next) = (widen(format, bits), widen(format, bits + 1));
                for part in [0.25, 0.5, 0.75] {
                    let x = this + (next - this) * part;
                    let sign = sign_bit(format);
                    let nearest = bits + u64::from(part > 0.5);
                    assert_eq!(round(format, x, Rounding::Zero), bits, "{element} {x:e}");
                    assert_eq!(round(format, -x, Rounding::Zero), sign | bits);
                    assert_eq!(round(format, x, Rounding::Down), bits);
                    assert_eq!(round(format, -x, Rounding::Down), sign | (bits + 1));
                    assert_eq!(round(format, x, Rounding::Up), bits + 1);
                    assert_eq!(round(format, -x, Rounding::Up), sign | bits);
                    let away = if part == 0.5 { bits + 1 } else { nearest };
                    assert_eq!(round(format, x, Rounding::NearestAway), away);
                    assert_eq!(round(format, -x, Rounding::NearestAway), sign | away);
                }
                for rounding in [
                    Rounding::Zero,
                    Rounding::Up,
                    Rounding::Down,
                    Rounding::NearestAway,
                ] {
                    assert_eq!(round(format, this, rounding), bits, "exact stays");
                }
            }
            assert_eq!(round(format, 1e300, Rounding::Zero), largest_finite(format));
            assert_eq!(round(format, 1e300, Rounding::Down), largest_finite(format));
            assert_eq!(
                round(format, -1e300, Rounding::Up),
                sign_bit(format) | largest_finite(format)
            );
            assert!(widen(format, round(format, 1e300, Rounding::Up)) > 1e299 || format == Format::F8E4M3FN);
        }
    }

    #[test]
    fn f64_rounds_to_f32_in_every_mode() {
        let x = 1.0 + f64::EPSILON;
        let one = u64::from(1f32.to_bits());
        assert_eq!(round(Format::F32, x, Rounding::NearestEven), one);
        assert_eq!(round(Format::F32, x, Rounding::Up), one + 1);
        assert_eq!(round(Format::F32, -x, Rounding::Down), (one + 1) | 1 << 31);
        assert_eq!(
            round(Format::F32, 1e300, Rounding::Zero),
            u64::from(f32::MAX.to_bits())
        );
    }

    #[test]
    fn fused_multiply_add_rounds_once() {
        // 2^15 * (1 + 2^-10) * 2^-24 is just off a tie of the sum's last place; a sum rounded to f64 first loses it.
        let (a, b) = (
            f64::from(f16::from_bits(0x3c01)),
            f64::from(f16::from_bits(0x3c01)),
        );
        let c = f64::from(bf16::MAX);
        let exact_bits = fused_multiply_add(a, b, c).to_bits();
        assert_eq!(exact_bits & 1, 1, "the lost tail is kept as an odd last bit");
    }

    proptest! {
        /// Against exact integers: three bf16 of small exponents are multiples of 2^-40 in an i128.
        #[test]
        fn bf16_fused_multiply_add_is_the_rounded_exact_value(
            a in any::<i8>(), b in any::<i8>(), c in any::<i8>(), x in 0u32..20, y in 0u32..20, z in 0u32..80,
        ) {
            let scaled = |m: i8, e: u32| f64::from(m) * 2f64.powi(e as i32);
            let exact = ((i128::from(a) * i128::from(b)) << (x + y)) + (i128::from(c) << z);
            let got = fused_multiply_add(scaled(a, x), scaled(b, y), scaled(c, z));
            prop_assert_eq!(
                round(Format::BF16, got, Rounding::NearestEven),
                nearest_bf16(exact),
                "{}", exact
            );
        }

        #[test]
        fn integers_round_once(value in any::<i64>(), shift in 0u32..60) {
            let value = i128::from(value >> shift);
            let got = round(Format::BF16, integer_rounded_to_odd(value), Rounding::NearestEven);
            prop_assert_eq!(got & 0x7fff, nearest_bf16(value) & 0x7fff);
        }
    }

    /// The bf16 nearest to an integer, by shifting until eight bits are left.
    fn nearest_bf16(value: i128) -> u64 {
        let magnitude = value.unsigned_abs();
        if magnitude == 0 {
            return 0;
        }
        let length = 128 - magnitude.leading_zeros();
        let shift = length.saturating_sub(8);
        let (kept, lost) = (magnitude >> shift, magnitude & ((1u128 << shift) - 1));
        let half = if shift == 0 { 1 } else { 1u128 << (shift - 1) };
        let up = lost > half || (lost == half && shift > 0 && kept & 1 == 1);
        let number = (kept + u128::from(up)) as f64 * 2f64.powi(shift as i32);
        let sign = if value < 0 { 0x8000 } else { 0 };
        sign | u64::from(bf16::from_f64(number).to_bits())
    }
}
