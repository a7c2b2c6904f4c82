//! Rounding to odd, in f64: an inexact result becomes the neighbour whose last bit is 1.
//!
//! A second rounding, to at most 51 bits, cannot tell such a result from the exact one, so that both together round once
//! (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE
//! Transactions on Computers 57, 2008).

/// `a * b + c` of numbers whose product is exact in f64: those of f32 and the formats below it.
pub(super) fn product_sum(a: f64, b: f64, c: f64) -> f64 {
    sum(a * b, c)
}

fn sum(a: f64, b: f64) -> f64 {
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

/// An integer, rounded to odd.
pub(super) fn integer(value: i128) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::rounding::round;
    use crate::program::{Format, Rounding};
    use half::{bf16, f16};
    use proptest::prelude::*;

    #[test]
    fn what_a_sum_loses_leaves_an_odd_last_bit() {
        let (a, b) = (
            f64::from(f16::from_bits(0x3c01)),
            f64::from(f16::from_bits(0x3c01)),
        );
        let c = f64::from(bf16::MAX);
        let exact_bits = product_sum(a, b, c).to_bits();
        assert_eq!(exact_bits & 1, 1, "the lost tail is kept as an odd last bit");
    }

    proptest! {
        /// Compares with exact integers: with these exponents the bf16 operands are integers, and the result fits an
        /// i128.
        #[test]
        fn bf16_fused_multiply_add_is_the_rounded_exact_value(
            a in any::<i8>(), b in any::<i8>(), c in any::<i8>(), x in 0u32..20, y in 0u32..20, z in 0u32..80,
        ) {
            let scaled = |m: i8, e: u32| f64::from(m) * 2f64.powi(e as i32);
            let exact = ((i128::from(a) * i128::from(b)) << (x + y)) + (i128::from(c) << z);
            let got = product_sum(scaled(a, x), scaled(b, y), scaled(c, z));
            prop_assert_eq!(
                round(Format::BF16, got, Rounding::NearestEven),
                nearest_bf16(exact),
                "{}", exact
            );
        }

        #[test]
        fn integers_round_once(value in any::<i64>(), shift in 0u32..60) {
            let value = i128::from(value >> shift);
            let got = round(Format::BF16, integer(value), Rounding::NearestEven);
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
