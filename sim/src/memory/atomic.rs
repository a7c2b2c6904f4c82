//! The results of atomic operations (PTX ISA 8.6, "Parallel Synchronization and Communication Instructions: atom",
//! "red", and "cp.reduce.async.bulk").
//!
//! A value is the low bits of a `u64`, as in memory and in registers.

use crate::arithmetic::float_once;
use crate::program::{AtomicFormat, AtomicOp, FloatOp, Format};

/// Returns the value of memory after the operation, or `None` for an operation that PTX does not have.
///
/// `flush` says whether f32 subnormals become zero, which they do in `atom.add.f32` on global memory but not on shared
/// memory. A compare-and-swap writes `operand` if memory holds `expected`.
pub fn combine(
    op: AtomicOp,
    format: AtomicFormat,
    flush: bool,
    old: u64,
    operand: u64,
    expected: u64,
) -> Option<u64> {
    match format {
        AtomicFormat::Signed(bits @ 1..=64) => combine_integers(op, bits, true, old, operand, expected),
        AtomicFormat::Unsigned(bits @ 1..=64) => combine_integers(op, bits, false, old, operand, expected),
        AtomicFormat::Float(format) => combine_floats(op, format, flush, old, operand),
        AtomicFormat::Pair(format @ (Format::F16 | Format::BF16)) => {
            let half = |shift: u32| {
                let part = |value: u64| value >> shift & 0xffff;
                combine_floats(op, format, flush, part(old), part(operand))
            };
            Some(half(0)? | half(16)? << 16)
        }
        AtomicFormat::Signed(_) | AtomicFormat::Unsigned(_) | AtomicFormat::Pair(_) => None,
    }
}

/// Whether PTX has the operation on values of that format.
pub fn exists(op: AtomicOp, format: AtomicFormat) -> bool {
    combine(op, format, false, 0, 0, 0).is_some()
}

/// Bytes of memory that an atomic operation works on.
pub fn bytes(format: AtomicFormat) -> usize {
    match format {
        AtomicFormat::Signed(bits) | AtomicFormat::Unsigned(bits) => usize::from(bits).div_ceil(8),
        AtomicFormat::Float(format) => format.element().bytes(),
        AtomicFormat::Pair(_) => 4,
    }
}

fn combine_integers(
    op: AtomicOp,
    bits: u8,
    signed: bool,
    old: u64,
    operand: u64,
    expected: u64,
) -> Option<u64> {
    let unused = 64 - u32::from(bits);
    let mask = u64::MAX >> unused;
    let (old, operand, expected) = (old & mask, operand & mask, expected & mask);
    let less = if signed {
        ((old << unused) as i64) < ((operand << unused) as i64)
    } else {
        old < operand
    };
    let new = match op {
        AtomicOp::Add => old.wrapping_add(operand),
        AtomicOp::And => old & operand,
        AtomicOp::Or => old | operand,
        AtomicOp::Xor => old ^ operand,
        AtomicOp::Exchange => operand,
        AtomicOp::CompareAndSwap if old == expected => operand,
        AtomicOp::CompareAndSwap => old,
        AtomicOp::Max if less => operand,
        AtomicOp::Max => old,
        AtomicOp::Min if less => old,
        AtomicOp::Min => operand,
        AtomicOp::Increment if old >= operand => 0,
        AtomicOp::Increment => old + 1,
        AtomicOp::Decrement if old == 0 || old > operand => operand,
        AtomicOp::Decrement => old - 1,
    };
    Some(new & mask)
}

/// The sum, maximum or minimum is what the arithmetic instruction gives: of a NaN and a number, the extremes give the
/// number, and -0 is less than +0.
fn combine_floats(op: AtomicOp, format: Format, flush: bool, old: u64, operand: u64) -> Option<u64> {
    if matches!(format, Format::F8E4M3FN | Format::F8E5M2) {
        return None;
    }
    let op = match op {
        AtomicOp::Exchange => return Some(operand),
        AtomicOp::Add => FloatOp::Add,
        AtomicOp::Max => FloatOp::MaxNum,
        AtomicOp::Min => FloatOp::MinNum,
        _ => return None,
    };
    let mask = u64::MAX >> (64 - format.bits());
    let flush = flush && format == Format::F32;
    Some(float_once(op, format, flush, old & mask, operand & mask))
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    fn integer(op: AtomicOp, format: AtomicFormat, old: u64, operand: u64) -> Option<u64> {
        combine(op, format, false, old, operand, 0)
    }

    #[test]
    fn integers_wrap_at_their_width() {
        assert_eq!(
            integer(AtomicOp::Add, AtomicFormat::Unsigned(32), 0xffff_ffff, 2),
            Some(1)
        );
        assert_eq!(
            integer(AtomicOp::Add, AtomicFormat::Unsigned(64), u64::MAX, 2),
            Some(1)
        );
    }

    #[test]
    fn the_sign_decides_what_is_larger() {
        let minus_one = 0xffff_ffff;
        assert_eq!(
            integer(AtomicOp::Max, AtomicFormat::Signed(32), minus_one, 1),
            Some(1)
        );
        assert_eq!(
            integer(AtomicOp::Max, AtomicFormat::Unsigned(32), minus_one, 1),
            Some(minus_one)
        );
        assert_eq!(
            integer(AtomicOp::Min, AtomicFormat::Signed(32), minus_one, 1),
            Some(minus_one)
        );
        assert_eq!(
            integer(AtomicOp::Min, AtomicFormat::Unsigned(32), minus_one, 1),
            Some(1)
        );
    }

    #[test]
    fn increment_and_decrement_stay_within_their_bound() {
        let format = AtomicFormat::Unsigned(32);
        assert_eq!(integer(AtomicOp::Increment, format, 2, 3), Some(3));
        assert_eq!(integer(AtomicOp::Increment, format, 3, 3), Some(0));
        assert_eq!(integer(AtomicOp::Decrement, format, 0, 3), Some(3));
        assert_eq!(integer(AtomicOp::Decrement, format, 5, 3), Some(3));
        assert_eq!(integer(AtomicOp::Decrement, format, 2, 3), Some(1));
    }

    #[test]
    fn a_swap_needs_the_expected_value() {
        let swap = |expected| {
            combine(
                AtomicOp::CompareAndSwap,
                AtomicFormat::Unsigned(32),
                false,
                7,
                9,
                expected,
            )
        };
        assert_eq!((swap(7), swap(8)), (Some(9), Some(7)));
    }

    #[test]
    fn f32_sums_flush_subnormals_where_asked() {
        let tiny = u64::from(1e-40f32.to_bits());
        let add = |flush| combine(AtomicOp::Add, AtomicFormat::Float(Format::F32), flush, tiny, 0, 0);
        assert_eq!(add(false), Some(tiny));
        assert_eq!(add(true), Some(0));
    }

    #[test]
    fn halves_of_a_pair_do_not_mix() {
        let pack = |a: f32, b: f32| {
            u64::from(bf16::from_f32(a).to_bits()) | u64::from(bf16::from_f32(b).to_bits()) << 16
        };
        let format = AtomicFormat::Pair(Format::BF16);
        assert_eq!(
            integer(AtomicOp::Add, format, pack(1.0, -2.0), pack(0.5, 256.0)),
            Some(pack(1.5, 254.0))
        );
        assert_eq!(
            integer(AtomicOp::Max, format, pack(1.0, -2.0), pack(f32::NAN, -3.0)),
            Some(pack(1.0, -2.0))
        );
    }

    #[test]
    fn sums_round_to_nearest_even() {
        let half = |value: f32| u64::from(f16::from_f32(value).to_bits());
        let add = |a, b| integer(AtomicOp::Add, AtomicFormat::Float(Format::F16), half(a), half(b));
        assert_eq!(add(2048.0, 1.0), Some(half(2048.0)));
        assert_eq!(add(2048.0, 3.0), Some(half(2052.0)));
    }

    #[test]
    fn nans_are_those_of_arithmetic() {
        let add = |format, old, operand| integer(AtomicOp::Add, AtomicFormat::Float(format), old, operand);
        assert_eq!(add(Format::F32, 0x7f80_0000, 0xff80_0000), Some(0x7fff_ffff));
        assert_eq!(add(Format::BF16, 0x7f80, 0xff80), Some(0x7fff));
        let [infinity, minus_infinity] = [f64::INFINITY, f64::NEG_INFINITY].map(f64::to_bits);
        let sum = float_once(FloatOp::Add, Format::F64, false, infinity, minus_infinity);
        assert_eq!(add(Format::F64, infinity, minus_infinity), Some(sum));
    }

    #[test]
    fn zeros_are_ordered_by_their_sign() {
        let minus_zero = 1 << 31;
        let format = AtomicFormat::Float(Format::F32);
        assert_eq!(integer(AtomicOp::Max, format, minus_zero, 0), Some(0));
        assert_eq!(integer(AtomicOp::Min, format, 0, minus_zero), Some(minus_zero));
    }

    #[test]
    fn operations_that_ptx_lacks_have_no_result() {
        assert_eq!(
            integer(AtomicOp::And, AtomicFormat::Float(Format::F32), 1, 1),
            None
        );
        assert_eq!(
            integer(AtomicOp::Add, AtomicFormat::Pair(Format::F32), 1, 1),
            None
        );
        assert!(!exists(AtomicOp::Increment, AtomicFormat::Float(Format::F16)));
        assert!(!exists(AtomicOp::Add, AtomicFormat::Float(Format::F8E5M2)));
        assert!(exists(AtomicOp::Max, AtomicFormat::Pair(Format::BF16)));
    }
}
