//! The bit patterns of float formats.

use crate::program::Format;

/// The bit that is the sign.
pub(super) fn sign_bit(format: Format) -> u64 {
    1 << (format.bits() - 1)
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

/// Bits below the exponent.
pub(super) fn mantissa_bits(format: Format) -> u32 {
    smallest_normal(format).trailing_zeros()
}

/// The magnitude of infinity, or of the largest number in a format without infinities, as a pattern.
pub(super) fn infinity(format: Format) -> u64 {
    match format {
        Format::F8E4M3FN => largest_finite(format),
        _ => format.element().encode_float(f64::INFINITY),
    }
}

/// The magnitude of a format's largest finite number, as a pattern.
pub(super) fn largest_finite(format: Format) -> u64 {
    format.element().encode_float(format.element().largest_finite())
}
