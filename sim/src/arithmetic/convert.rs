//! Conversions between number types.

use super::lanes::{Lanes, lanes, map1};
use super::{format, nan, round_to_odd, rounding, sixteen_bits};
use crate::program::{Conversion, Format, Rounding};

/// [`crate::program::Instruction::Convert`].
pub fn convert(conversion: Conversion, mask: u32, to: &mut Lanes, from: &Lanes) {
    match conversion {
        Conversion::Truncate { to: bits } | Conversion::ZeroExtend { from: bits } => {
            let keep = u64::MAX >> unused(bits);
            map1(mask, to, from, |x| x & keep);
        }
        Conversion::SignExtend {
            from: narrow,
            to: wide,
        } => {
            let (unused, keep) = (unused(narrow), u64::MAX >> unused(wide));
            map1(mask, to, from, |x| {
                (((x << unused) as i64) >> unused) as u64 & keep
            });
        }
        Conversion::Float {
            from: source,
            to: result,
            rounding,
            saturate,
            relu,
        } => {
            let plain = rounding == Rounding::NearestEven && !saturate && !relu;
            match (source, result) {
                (Format::BF16, Format::F32) if !saturate && !relu => {
                    map1(mask, to, from, sixteen_bits::bf16_to_f32)
                }
                (Format::F16, Format::F32) if !saturate && !relu => {
                    map1(mask, to, from, sixteen_bits::f16_to_f32)
                }
                (Format::F32, Format::BF16) if plain => map1(mask, to, from, sixteen_bits::f32_to_bf16),
                (Format::F32, Format::F16) if plain => map1(mask, to, from, sixteen_bits::f32_to_f16),
                _ => one_by_one(mask, to, from, |x| match rounding::widen(source, x) {
                    value if !value.is_nan() => float(value, result, rounding, saturate, relu),
                    _ => nan(source, result, x),
                }),
            }
        }
        Conversion::IntegerToFloat {
            from: bits,
            signed,
            to: format,
        } => integer_to_float(bits, signed, format, mask, to, from),
        Conversion::FloatToInteger {
            from: source,
            to: bits,
            signed,
            rounding,
        } => {
            // Measured on an H200; the ISA has NaN become 0.
            let of_nan = if source == Format::F64 || bits == 64 {
                1 << (bits - 1)
            } else {
                0
            };
            one_by_one(mask, to, from, |x| match rounding::widen(source, x) {
                value if value.is_nan() => of_nan,
                value => float_to_integer(value, bits, signed, rounding),
            });
        }
    }
}

fn unused(bits: u8) -> u32 {
    64 - u32::from(bits.clamp(1, 64))
}

fn one_by_one(mask: u32, to: &mut Lanes, from: &Lanes, f: impl Fn(u64) -> u64) {
    for lane in lanes(mask) {
        to[lane] = f(from[lane]);
    }
}

/// The result for a NaN: conversions from and to f64 keep as much of its payload as they can, the others return the
/// canonical NaN.
fn nan(source: Format, result: Format, bits: u64) -> u64 {
    let keeps = |format| matches!(format, Format::F32 | Format::F16 | Format::BF16);
    match (source, result) {
        (Format::F64, narrow) if keeps(narrow) => nan::narrowed(narrow, bits),
        (narrow, Format::F64) if keeps(narrow) => nan::widened(narrow, bits),
        _ => nan::canonical(result),
    }
}

/// Rounds a number, then limits the magnitude (`.satfinite`, infinities included) and drops negative results (`.relu`).
fn float(value: f64, format: Format, rounding: Rounding, saturate: bool, relu: bool) -> u64 {
    let rounded = rounding::round(format, value, rounding);
    let sign = format::sign_bit(format);
    if relu && value.is_sign_negative() {
        return 0;
    }
    if saturate && rounded & !sign > format::largest_finite(format) {
        return format::largest_finite(format) | if value < 0.0 { sign } else { 0 };
    }
    rounded
}

fn integer_to_float(bits: u8, signed: bool, format: Format, mask: u32, to: &mut Lanes, from: &Lanes) {
    let unused = unused(bits);
    let extended = |x: u64| ((x << unused) as i64) >> unused;
    match (format, signed) {
        (Format::F32, true) => map1(mask, to, from, |x| u64::from((extended(x) as f32).to_bits())),
        (Format::F32, false) => map1(mask, to, from, |x| u64::from((x as f32).to_bits())),
        (Format::F64, true) => map1(mask, to, from, |x| (extended(x) as f64).to_bits()),
        (Format::F64, false) => map1(mask, to, from, |x| (x as f64).to_bits()),
        _ => one_by_one(mask, to, from, |x| {
            let value = if signed {
                i128::from(extended(x))
            } else {
                i128::from(x)
            };
            rounding::round(format, round_to_odd::integer(value), Rounding::NearestEven)
        }),
    }
}

fn float_to_integer(value: f64, bits: u8, signed: bool, rounding: Rounding) -> u64 {
    let integer = match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    };
    // `as` saturates at the bounds of 64 bits; narrower bounds are applied to that.
    let keep = u64::MAX >> unused(bits);
    if signed {
        let largest = (keep >> 1) as i64;
        (integer as i64).clamp(-largest - 1, largest) as u64 & keep
    } else {
        (integer as u64).min(keep)
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::LANES;
    use super::*;
    use half::f16;
    use proptest::prelude::*;

    fn once(conversion: Conversion, from: u64) -> u64 {
        let mut to = [0; LANES];
        convert(conversion, 1 << 3, &mut to, &[from; LANES]);
        to[3]
    }

    fn to_float(from: Format, to: Format) -> Conversion {
        Conversion::Float {
            from,
            to,
            rounding: Rounding::NearestEven,
            saturate: false,
            relu: false,
        }
    }

    fn bits(x: f32) -> u64 {
        u64::from(x.to_bits())
    }

    #[test]
    fn integers_widen_with_zeros_or_their_sign() {
        assert_eq!(once(Conversion::Truncate { to: 8 }, 0x1ff), 0xff);
        assert_eq!(once(Conversion::ZeroExtend { from: 8 }, 0xff), 0xff);
        assert_eq!(once(Conversion::SignExtend { from: 8, to: 16 }, 0xff), 0xffff);
        assert_eq!(once(Conversion::SignExtend { from: 1, to: 64 }, 1), u64::MAX);
        assert_eq!(
            once(Conversion::SignExtend { from: 32, to: 64 }, 0x7fff_ffff),
            0x7fff_ffff
        );
    }

    #[test]
    fn every_fp8_pattern_survives_widening() {
        for format in [Format::F8E4M3FN, Format::F8E5M2] {
            for pattern in 0..=255 {
                for wide in [Format::F16, Format::F32, Format::F64] {
                    let back = once(to_float(wide, format), once(to_float(format, wide), pattern));
                    if rounding::widen(format, pattern).is_nan() {
                        assert_eq!(back, 0x7f);
                    } else {
                        assert_eq!(back, pattern, "{format:?} by {wide:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn saturation_gives_the_largest_finite_number() {
        let saturate = |to| Conversion::Float {
            from: Format::F32,
            to,
            rounding: Rounding::NearestEven,
            saturate: true,
            relu: false,
        };
        assert_eq!(once(saturate(Format::F8E4M3FN), bits(1e9)), 0x7e);
        assert_eq!(once(saturate(Format::F8E4M3FN), bits(-1e9)), 0xfe);
        assert_eq!(once(saturate(Format::F8E5M2), bits(f32::INFINITY)), 0x7b);
        assert_eq!(once(saturate(Format::F8E4M3FN), bits(f32::NAN)), 0x7f);
        assert_eq!(once(saturate(Format::F8E4M3FN), bits(1.0)), 0x38);
        assert_eq!(once(to_float(Format::F32, Format::F8E4M3FN), bits(1e9)), 0x7f);
    }

    #[test]
    fn relu_drops_what_is_negative_and_keeps_nan() {
        let relu = Conversion::Float {
            from: Format::F32,
            to: Format::BF16,
            rounding: Rounding::NearestEven,
            saturate: false,
            relu: true,
        };
        assert_eq!(once(relu, bits(-2.0)), 0);
        assert_eq!(once(relu, bits(2.0)), 0x4000);
        assert_eq!(once(relu, bits(f32::NAN)), 0x7fff);
    }

    #[test]
    fn floats_become_integers_by_saturation() {
        let to = |bits, signed, rounding| Conversion::FloatToInteger {
            from: Format::F32,
            to: bits,
            signed,
            rounding,
        };
        assert_eq!(once(to(32, true, Rounding::Zero), bits(-1.9)), 0xffff_ffff);
        assert_eq!(once(to(32, true, Rounding::Down), bits(-1.1)), 0xffff_fffe);
        assert_eq!(once(to(32, true, Rounding::Zero), bits(1e20)), 0x7fff_ffff);
        assert_eq!(once(to(32, true, Rounding::Zero), bits(-1e20)), 0x8000_0000);
        assert_eq!(once(to(32, false, Rounding::Zero), bits(-3.0)), 0);
        assert_eq!(once(to(8, true, Rounding::NearestEven), bits(2.5)), 2);
        assert_eq!(once(to(8, true, Rounding::NearestAway), bits(2.5)), 3);
        assert_eq!(once(to(8, true, Rounding::Up), bits(2.1)), 3);
        assert_eq!(once(to(8, false, Rounding::Zero), bits(300.0)), 255);
        assert_eq!(once(to(64, false, Rounding::Zero), bits(f32::INFINITY)), u64::MAX);
        assert_eq!(once(to(32, true, Rounding::Zero), bits(f32::NAN)), 0);
        assert_eq!(once(to(64, true, Rounding::Zero), bits(f32::NAN)), 1 << 63);
    }

    #[test]
    fn a_nan_keeps_its_payload_to_and_from_f64() {
        let (widen, narrow) = (
            to_float(Format::F32, Format::F64),
            to_float(Format::F64, Format::F32),
        );
        assert_eq!(once(widen, 0xff80_0001), 0xfff8_0000_2000_0000);
        assert_eq!(once(narrow, 0xfff8_0000_2000_0000), 0xffc0_0001);
        assert_eq!(once(narrow, 0x7ff0_0000_0000_0001), 0x7fc0_0000);
        assert_eq!(
            once(to_float(Format::F64, Format::BF16), 0xfff0_0000_0000_0001),
            0xffc0
        );
        assert_eq!(
            once(to_float(Format::F16, Format::F64), 0x7c01),
            0x7ff8_0400_0000_0000
        );
    }

    proptest! {
        #[test]
        fn f64_to_f16_rounds_once(x in any::<f64>()) {
            let got = once(to_float(Format::F64, Format::F16), x.to_bits());
            prop_assert_eq!(got, u64::from(f16::from_f64(x).to_bits()));
        }

        #[test]
        fn integers_become_floats_by_one_rounding(x in any::<i64>(), shift in 0u32..63) {
            let x = x >> shift;
            let to = |signed, to| Conversion::IntegerToFloat { from: 64, signed, to };
            prop_assert_eq!(once(to(true, Format::F32), x as u64), bits(x as f32));
            prop_assert_eq!(once(to(false, Format::F32), x as u64), bits(x as u64 as f32));
            prop_assert_eq!(once(to(true, Format::F64), x as u64), (x as f64).to_bits());
            let word = x as i32;
            let of_word = Conversion::IntegerToFloat { from: 32, signed: true, to: Format::F32 };
            prop_assert_eq!(once(of_word, u64::from(word as u32)), bits(word as f32));
        }
    }
}
