//! Element types as they are stored: size, decoding to f64, and encoding from f64 with one exact rounding.
//!
//! Every small float here is an IEEE-like format with an implicit bit and subnormals, so one description (exponent
//! bits, mantissa bits, whether infinities exist) serves f16, bf16 and both fp8 formats. Encoding rounds the f64
//! itself to nearest, ties to even; going through f32 would round twice.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A storage type, named as in MLIR. `index` values of a program are `I64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Element {
    /// IEEE binary64.
    #[serde(rename = "f64")]
    F64,
    /// IEEE binary32.
    #[serde(rename = "f32")]
    F32,
    /// IEEE binary16.
    #[serde(rename = "f16")]
    F16,
    /// The upper half of binary32.
    #[serde(rename = "bf16")]
    BF16,
    /// 1-4-3 without infinities; 0x7f is NaN (OCP 8-bit floating point, E4M3).
    #[serde(rename = "f8E4M3FN")]
    F8E4M3FN,
    /// 1-5-2 with infinities (OCP 8-bit floating point, E5M2).
    #[serde(rename = "f8E5M2")]
    F8E5M2,
    /// The exponent of a power of two, biased by 127; 0xff is NaN (OCP Microscaling Formats, E8M0). A scale, which kernels take as its
    /// bits: it counts as an integer.
    #[serde(rename = "f8E8M0FNU")]
    F8E8M0FNU,
    /// A boolean, one byte in memory: 0 or 1.
    #[serde(rename = "i1")]
    I1,
    /// An 8-bit integer.
    #[serde(rename = "i8")]
    I8,
    /// A 32-bit integer.
    #[serde(rename = "i32")]
    I32,
    /// A 64-bit integer.
    #[serde(rename = "i64")]
    I64,
}

/// A floating-point format with a sign, an implicit leading bit and subnormals.
#[derive(Clone, Copy)]
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    /// Without infinities the top exponent is an ordinary binade and only the all-ones pattern is NaN.
    infinities: bool,
}

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The exponent of the smallest normal number.
    fn min_exponent(self) -> i32 {
        1 - self.bias()
    }

    fn exponent_mask(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    fn nan(self) -> u64 {
        if self.infinities {
            self.infinity() | 1 << (self.mantissa_bits - 1)
        } else {
            self.sign_bit() - 1
        }
    }

    /// The pattern one past the largest finite number.
    fn infinity(self) -> u64 {
        if self.infinities {
            self.exponent_mask() << self.mantissa_bits
        } else {
            self.nan()
        }
    }

    fn decode(self, bits: u64) -> f64 {
        let magnitude = bits & (self.sign_bit() - 1);
        let sign = if bits & self.sign_bit() == 0 { 1.0 } else { -1.0 };
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let exponent = (magnitude >> self.mantissa_bits) as i32;
        if self.infinities && magnitude >= self.infinity() {
            return if mantissa == 0 {
                sign * f64::INFINITY
            } else {
                f64::NAN
            };
        }
        if !self.infinities && magnitude == self.nan() {
            return f64::NAN;
        }
        let (significand, exponent) = match exponent {
            0 => (mantissa, self.min_exponent()),
            _ => (mantissa | 1 << self.mantissa_bits, exponent - self.bias()),
        };
        sign * significand as f64 * power_of_two(exponent - self.mantissa_bits as i32)
    }

    fn encode(self, value: f64) -> u64 {
        let sign = if value.is_sign_negative() {
            self.sign_bit()
        } else {
            0
        };
        if value.is_nan() {
            return self.nan();
        }
        if value.is_infinite() {
            return sign | self.infinity();
        }
        let ulp = self.ulp_exponent(value);
        // Scaling by a power of two is exact here: f64 holds every such quotient, and subnormal f64 inputs round to
        // zero in every format of this kind.
        let significand = (value.abs() * power_of_two(-ulp)).round_ties_even() as u64;
        // A significand that rounds up to the next binade carries into the exponent field by itself.
        let biased = (ulp + self.mantissa_bits as i32 + self.bias() - 1) as u64;
        let magnitude = (biased << self.mantissa_bits) + significand;
        sign | magnitude.min(self.infinity())
    }

    /// The exponent of the spacing of the format's numbers around `value`, which is finite.
    fn ulp_exponent(self, value: f64) -> i32 {
        let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        exponent.max(self.min_exponent()) - self.mantissa_bits as i32
    }
}

/// 2 to the `exponent`, exact for every exponent of an f64, subnormal or normal.
fn power_of_two(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1u64 << (exponent + 1074).max(0))
    }
}

/// The numbers that [`is_in_range_of_f32`] accepts, in words; NaN and infinities besides.
pub const RANGE_OF_F32: &str = "0, or a number of f32's range, between 1.4e-45 and 3.4e38 without its sign";

/// Whether f32 has a number close to this one: it neither rounds to an infinity nor, unless it is 0, to 0. NaN and infinities are their own.
pub fn is_in_range_of_f32(number: f64) -> bool {
    let rounded = number as f32;
    rounded.is_finite() == number.is_finite() && (rounded == 0.0) == (number == 0.0)
}

impl Element {
    /// Every storage type.
    pub const ALL: [Element; 11] = [
        Element::F64,
        Element::F32,
        Element::F16,
        Element::BF16,
        Element::F8E4M3FN,
        Element::F8E5M2,
        Element::F8E8M0FNU,
        Element::I1,
        Element::I8,
        Element::I32,
        Element::I64,
    ];

    /// MLIR's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Element::F64 => "f64",
            Element::F32 => "f32",
            Element::F16 => "f16",
            Element::BF16 => "bf16",
            Element::F8E4M3FN => "f8E4M3FN",
            Element::F8E5M2 => "f8E5M2",
            Element::F8E8M0FNU => "f8E8M0FNU",
            Element::I1 => "i1",
            Element::I8 => "i8",
            Element::I32 => "i32",
            Element::I64 => "i64",
        }
    }

    /// The type with this name, if any.
    pub fn from_name(name: &str) -> Option<Element> {
        Element::ALL.into_iter().find(|element| element.name() == name)
    }

    /// The size of one element in memory, in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Element::F64 | Element::I64 => 8,
            Element::F32 | Element::I32 => 4,
            Element::F16 | Element::BF16 => 2,
            Element::F8E4M3FN | Element::F8E5M2 | Element::F8E8M0FNU | Element::I1 | Element::I8 => 1,
        }
    }

    /// Whether the type is a floating-point type.
    pub fn is_float(self) -> bool {
        self.format().is_some()
    }

    /// Whether the type is a float narrower than f32, which kernels widen before they compute.
    pub fn is_narrow_float(self) -> bool {
        self.is_float() && self.bytes() < 4
    }

    /// The width in bits of an integer type, including types that count as integers; `None` for floats.
    pub fn integer_bits(self) -> Option<u32> {
        match self {
            Element::I1 => Some(1),
            Element::I8 | Element::F8E8M0FNU => Some(8),
            Element::I32 => Some(32),
            Element::I64 => Some(64),
            _ => None,
        }
    }

    fn format(self) -> Option<Format> {
        let (exponent_bits, mantissa_bits, infinities) = match self {
            Element::F64 => (11, 52, true),
            Element::F32 => (8, 23, true),
            Element::F16 => (5, 10, true),
            Element::BF16 => (8, 7, true),
            Element::F8E4M3FN => (4, 3, false),
            Element::F8E5M2 => (5, 2, true),
            Element::F8E8M0FNU | Element::I1 | Element::I8 | Element::I32 | Element::I64 => return None,
        };
        Some(Format {
            exponent_bits,
            mantissa_bits,
            infinities,
        })
    }

    /// The value of the float stored in the low bits of `bits`; NaN for integer types.
    pub fn decode_float(self, bits: u64) -> f64 {
        match (self, self.format()) {
            (Element::F64, _) => f64::from_bits(bits),
            (Element::F32, _) => f64::from(f32::from_bits(bits as u32)),
            (_, Some(format)) => format.decode(bits),
            (_, None) => f64::NAN,
        }
    }

    /// The pattern of `value` rounded to nearest, ties to even. Overflow gives infinity, or NaN in a format without
    /// infinities; use [`Self::narrow`] for the result of a conversion. For integer types the value is truncated and
    /// saturated.
    pub fn encode_float(self, value: f64) -> u64 {
        match (self, self.format()) {
            (Element::F64, _) => value.to_bits(),
            (Element::F32, _) => u64::from((value as f32).to_bits()),
            (_, Some(format)) => format.encode(value),
            (_, None) => self.wrap_integer(value as i64) as u64,
        }
    }

    /// `value` rounded to the type and back: the result of storing and loading it.
    pub fn round(self, value: f64) -> f64 {
        self.decode_float(self.encode_float(value))
    }

    /// The result of `arith.truncf` to the type: as [`Self::round`], but for an 8-bit float a magnitude beyond the largest
    /// finite number, including infinity, becomes that number, as with PTX's `cvt.rn.satfinite`. NaN stays NaN.
    pub fn narrow(self, value: f64) -> f64 {
        if self.saturates() && !value.is_nan() {
            let largest = self.largest_finite();
            return self.round(value.clamp(-largest, largest));
        }
        self.round(value)
    }

    /// The content of memory after a computed `value` is stored. A conversion to a type that saturates never gives an
    /// infinity, so an infinity must have been read from memory, and is kept.
    pub fn stored(self, value: f64) -> f64 {
        match value.is_infinite() {
            true => self.round(value),
            false => self.narrow(value),
        }
    }

    /// Whether conversions to the type saturate: those to 8-bit floats do.
    pub fn saturates(self) -> bool {
        matches!(self, Element::F8E4M3FN | Element::F8E5M2)
    }

    /// The largest finite number of a float type; infinity for integer types, which have no such bound here.
    pub fn largest_finite(self) -> f64 {
        self.format()
            .map_or(f64::INFINITY, |format| self.decode_float(format.infinity() - 1))
    }

    /// The distance between neighbouring numbers of the type in the binade of `value` (the smallest subnormal below
    /// the normal range). 1 for integer types, NaN for a value that is not finite.
    pub fn ulp(self, value: f64) -> f64 {
        match self.format() {
            None => 1.0,
            Some(_) if !value.is_finite() => f64::NAN,
            Some(format) => power_of_two(format.ulp_exponent(value)),
        }
    }

    /// `value` wrapped to the width of an integer type, sign-extended except for `i1`, which is 0 or 1.
    pub fn wrap_integer(self, value: i64) -> i64 {
        match self {
            Element::I1 => value & 1,
            Element::I8 | Element::F8E8M0FNU => i64::from(value as i8),
            Element::I32 => i64::from(value as i32),
            _ => value,
        }
    }

    /// Reads the little-endian pattern of element `index` of `bytes`; `None` past the end.
    pub fn load(self, bytes: &[u8], index: usize) -> Option<u64> {
        let size = self.bytes();
        let start = index.checked_mul(size)?;
        let stored = bytes.get(start..start.checked_add(size)?)?;
        Some(
            stored
                .iter()
                .rev()
                .fold(0, |pattern, byte| pattern << 8 | u64::from(*byte)),
        )
    }

    /// Appends the little-endian pattern to `bytes`.
    pub fn store(self, pattern: u64, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&pattern.to_le_bytes()[..self.bytes()]);
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;

    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    }

    #[test]
    fn every_16_bit_pattern_decodes_as_half_decodes_it() {
        for bits in 0..=u16::MAX {
            let pattern = u64::from(bits);
            assert!(
                same(Element::F16.decode_float(pattern), f16::from_bits(bits).to_f64()),
                "{bits:#x}"
            );
            assert!(
                same(
                    Element::BF16.decode_float(pattern),
                    bf16::from_bits(bits).to_f64()
                ),
                "{bits:#x}"
            );
        }
    }

    /// Checks each pattern, the midpoint to its upper neighbour, and the f64s next to that midpoint: all the cases that
    /// rounding to nearest even can get wrong.
    fn check_rounding_around_every_pattern(element: Element, finite_patterns: u64) {
        for bits in 0..finite_patterns {
            let value = element.decode_float(bits);
            assert_eq!(element.encode_float(value), bits, "{element} {value:e}");
            let next = if bits + 1 == finite_patterns {
                value + element.ulp(value)
            } else {
                element.decode_float(bits + 1)
            };
            let middle = (value + next) / 2.0;
            let even = bits + (bits & 1);
            assert_eq!(element.encode_float(middle), even, "{element} {middle:e}");
            assert_eq!(
                element.encode_float(middle.next_down()),
                bits,
                "{element} below {middle:e}"
            );
            assert_eq!(
                element.encode_float(middle.next_up()),
                bits + 1,
                "{element} above {middle:e}"
            );
        }
    }

    #[test]
    fn encoding_rounds_once_to_nearest_even() {
        check_rounding_around_every_pattern(Element::F16, 0x7c00);
        check_rounding_around_every_pattern(Element::BF16, 0x7f80);
        check_rounding_around_every_pattern(Element::F8E5M2, 0x7c);
        check_rounding_around_every_pattern(Element::F8E4M3FN, 0x7f);
    }

    #[test]
    fn rounding_through_f32_would_differ() {
        // Just above a bf16 tie by less than an f32 ulp: rounding twice loses the excess and goes to even.
        let value = 1.0 + 1.0 / 256.0 + 1e-12;
        assert_eq!(Element::BF16.round(value), 1.0 + 1.0 / 128.0);
        assert_eq!(Element::BF16.round(f64::from(value as f32)), 1.0);
    }

    #[test]
    fn fp8_has_the_published_extremes() {
        assert_eq!(Element::F8E4M3FN.largest_finite(), 448.0);
        assert_eq!(Element::F8E5M2.largest_finite(), 57344.0);
        assert_eq!(Element::F8E4M3FN.decode_float(1), 1.0 / 512.0);
        assert!(Element::F8E4M3FN.round(465.0).is_nan());
        assert_eq!(Element::F8E4M3FN.round(464.0), 448.0);
        assert_eq!(Element::F8E5M2.round(1e9), f64::INFINITY);
        assert!(Element::F8E4M3FN.decode_float(0xff).is_nan());
    }

    #[test]
    fn conversions_to_fp8_saturate_and_keep_nan() {
        for (element, largest) in [(Element::F8E4M3FN, 448.0), (Element::F8E5M2, 57344.0)] {
            for beyond in [largest * 1.1, 1e300, f64::INFINITY] {
                assert_eq!(element.narrow(beyond), largest, "{element} {beyond}");
                assert_eq!(element.narrow(-beyond), -largest, "{element} {beyond}");
            }
            assert!(element.narrow(f64::NAN).is_nan());
            assert_eq!(element.narrow(1.0 + 1.0 / 16.0), element.round(1.0 + 1.0 / 16.0));
        }
        assert_eq!(Element::F16.narrow(1e9), f64::INFINITY);
    }

    #[test]
    fn zeros_keep_their_sign() {
        for element in [
            Element::F16,
            Element::BF16,
            Element::F8E4M3FN,
            Element::F8E5M2,
            Element::F32,
        ] {
            assert!(element.round(-0.0).is_sign_negative(), "{element}");
            assert!(element.round(-1e-300).is_sign_negative(), "{element}");
            assert!(element.round(0.0).is_sign_positive(), "{element}");
        }
    }

    #[test]
    fn ulp_is_the_distance_to_the_next_number() {
        assert_eq!(Element::BF16.ulp(1.0), 1.0 / 128.0);
        assert_eq!(Element::F32.ulp(1.5), f64::from(f32::EPSILON));
        assert_eq!(Element::F16.ulp(0.0), f16::from_bits(1).to_f64());
        assert_eq!(Element::F64.ulp(1.0), f64::EPSILON);
        assert_eq!(Element::F64.ulp(0.0), f64::from_bits(1));
    }

    #[test]
    fn powers_of_two_are_bytes_that_count_as_integers() {
        let scale = Element::F8E8M0FNU;
        assert!(!scale.is_float() && scale.integer_bits() == Some(8));
        assert_eq!(scale.load(&[0xff], 0), Some(0xff));
        assert_eq!(scale.wrap_integer(0xff), Element::I8.wrap_integer(0xff));
    }

    #[test]
    fn memory_is_little_endian() {
        let mut bytes = Vec::new();
        Element::I32.store(0x0102_0304, &mut bytes);
        assert_eq!(bytes, [4, 3, 2, 1]);
        assert_eq!(Element::I32.load(&bytes, 0), Some(0x0102_0304));
        assert_eq!(Element::I32.load(&bytes, 1), None);
    }

    #[test]
    fn names_round_trip() {
        for element in Element::ALL {
            assert_eq!(Element::from_name(element.name()), Some(element));
            assert_eq!(serde_json::to_string(&element).unwrap(), format!("\"{element}\""));
        }
        assert_eq!(Element::from_name("f8"), None);
    }

    proptest! {
        #[test]
        fn f32_agrees_with_the_generic_format(value in any::<f64>()) {
            let generic = Element::F32.format().unwrap().encode(value);
            prop_assert!(same(
                Element::F32.format().unwrap().decode(generic),
                f64::from(value as f32)
            ));
        }
    }
}
