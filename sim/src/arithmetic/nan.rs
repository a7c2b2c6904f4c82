//! The NaNs that operations return on an H200.
//!
//! Operations on f32 and narrower formats return the canonical NaN. Operations on f64, and conversions from and to f64,
//! propagate the NaN of an operand.

use super::format;
use crate::program::Format;

/// The canonical NaN of f16 and bf16.
pub(super) const CANONICAL_16: u64 = 0x7fff;
/// The canonical NaN of f32.
pub(super) const CANONICAL_32: u32 = 0x7fff_ffff;
/// The result of an invalid operation on f64.
pub(super) const INVALID_64: u64 = 0xfff8_0000_0000_0000;
/// The bit of f64 that distinguishes a quiet NaN from a signaling one.
const QUIET_64: u64 = 1 << 51;

/// The canonical NaN of a format. Both fp8 formats have 0x7f (PTX ISA, "Data Movement and Conversion Instructions:
/// cvt").
pub(super) fn canonical(format: Format) -> u64 {
    match format {
        Format::F64 => INVALID_64,
        Format::F32 => u64::from(CANONICAL_32),
        Format::F16 | Format::BF16 => CANONICAL_16,
        Format::F8E4M3FN | Format::F8E5M2 => 0x7f,
    }
}

/// The NaN that an f64 operation gives: the first of its operands that is one, quieted.
#[cold]
pub(super) fn propagated(operands: &[u64]) -> u64 {
    let nan = operands.iter().find(|bits| f64::from_bits(**bits).is_nan());
    nan.map_or(INVALID_64, |bits| bits | QUIET_64)
}

/// f64 to a narrower format for NaNs, which keep their sign and as much of their payload as fits, quieted.
pub(super) fn narrowed(format: Format, bits: u64) -> u64 {
    let payload = (bits | QUIET_64) & ((1 << 52) - 1);
    let sign = if bits >> 63 == 1 {
        format::sign_bit(format)
    } else {
        0
    };
    sign | format::infinity(format) | payload >> (52 - format::mantissa_bits(format))
}

/// The inverse of [`narrowed`] for quiet NaNs.
pub(super) fn widened(format: Format, bits: u64) -> u64 {
    let sign = if bits & format::sign_bit(format) == 0 {
        0
    } else {
        1 << 63
    };
    let payload = bits & ((1 << format::mantissa_bits(format)) - 1);
    sign | format::infinity(Format::F64) | QUIET_64 | payload << (52 - format::mantissa_bits(format))
}
