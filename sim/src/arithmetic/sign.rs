//! Float operations that concern the sign alone, on bit patterns.

use super::lanes::{Lanes, map1, map2};
use super::{format, nan};
use crate::program::{FloatOp, Format};

/// Operations on the sign. A NaN operand gives the same NaN as in a sum, except in `copysign`, which only moves bits.
pub(super) fn signs(
    op: FloatOp,
    format: Format,
    flush: bool,
    mask: u32,
    to: &mut Lanes,
    a: &Lanes,
    b: &Lanes,
) {
    let sign = format::sign_bit(format);
    let below = if flush { format::smallest_normal(format) } else { 0 };
    let infinity = format::infinity(format);
    let magnitude = |bits: u64| format::flush_below(below, sign, bits) & !sign;
    let number = |operand: u64, result: u64| match format {
        _ if operand & !sign <= infinity => result,
        Format::F64 => nan::propagated(&[operand]),
        _ => nan::canonical(format),
    };
    match op {
        FloatOp::Neg => map1(mask, to, a, |x| number(x, magnitude(x) | !x & sign)),
        FloatOp::Abs => map1(mask, to, a, |x| number(x, magnitude(x))),
        _ => map2(mask, to, a, b, |x, y| magnitude(x) | y & sign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::float_once;

    fn once(op: FloatOp, a: u64, b: u64) -> u64 {
        float_once(op, Format::F32, false, a, b)
    }

    #[test]
    fn only_the_sign_of_a_number_changes() {
        let one = u64::from(1f32.to_bits());
        assert_eq!(once(FloatOp::Neg, one, 0), one | 1 << 31);
        assert_eq!(once(FloatOp::Neg, 0, 0), 1 << 31);
        assert_eq!(once(FloatOp::Abs, one | 1 << 31, 0), one);
        assert_eq!(once(FloatOp::CopySign, one, 1 << 31), one | 1 << 31);
        assert_eq!(float_once(FloatOp::Neg, Format::BF16, false, 0x8001, 0), 1);
    }

    #[test]
    fn nan_becomes_canonical_where_a_float_unit_sees_it() {
        let payload = 0xff80_0001;
        for op in [FloatOp::Neg, FloatOp::Abs] {
            assert_eq!(once(op, payload, 0), u64::from(nan::CANONICAL_32), "{op:?}");
            assert_eq!(
                float_once(op, Format::BF16, false, 0xff81, 0),
                nan::CANONICAL_16,
                "{op:?}"
            );
            let quiet = float_once(op, Format::F64, false, 0xfff0_0000_0000_0001, 0);
            assert_eq!(quiet, 0xfff8_0000_0000_0001, "{op:?}");
        }
        assert_eq!(once(FloatOp::CopySign, payload, 0), 0x7f80_0001);
    }

    #[test]
    fn subnormals_are_flushed_where_asked() {
        assert_eq!(float_once(FloatOp::Neg, Format::F32, true, 0x8000_0001, 0), 0);
        assert_eq!(float_once(FloatOp::Neg, Format::F32, false, 0x8000_0001, 0), 1);
    }
}
