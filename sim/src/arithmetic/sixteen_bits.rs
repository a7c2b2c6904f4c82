//! Conversions between f32 and the two 16-bit formats by bit patterns, so that a loop over them can be vectorised.

use super::nan;

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
        nan::CANONICAL_32
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
    // Rebiases the exponent by -112 and rounds at bit 13; a carry out of the mantissa rounds up to the next binade, or
    // to infinity, as it should.
    let normal = magnitude
        .wrapping_sub(112 << 23)
        .wrapping_add(0xfff + (magnitude >> 13 & 1))
        >> 13;
    let sign = bits >> 16 & 0x8000;
    let result = if magnitude > 0x7f80_0000 {
        nan::CANONICAL_16 as u32
    } else if magnitude >= 0x4780_0000 {
        sign | 0x7c00
    } else if magnitude < 0x3880_0000 {
        sign | subnormal
    } else {
        sign | normal
    };
    u64::from(result)
}

/// bf16 to f32: the pattern is shifted up; a NaN keeps its payload.
#[inline(always)]
pub(super) fn bf16_to_f32(bits: u64) -> u64 {
    bits << 16
}

/// f32 to bf16, to nearest even.
#[inline(always)]
pub(super) fn f32_to_bf16(bits: u64) -> u64 {
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        nan::CANONICAL_16
    } else {
        (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn every_16_bit_pattern_widens_as_half_widens_it() {
        for bits in 0..=u16::MAX {
            let pattern = u64::from(bits);
            let of_f16 = f16::from_bits(bits).to_f32();
            if of_f16.is_nan() {
                assert_eq!(f16_to_f32(pattern), u64::from(nan::CANONICAL_32));
            } else {
                assert_eq!(f16_to_f32(pattern), u64::from(of_f16.to_bits()), "{bits:#x}");
            }
            assert_eq!(bf16_to_f32(pattern), u64::from(bits) << 16);
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
                        nan::CANONICAL_16
                    } else {
                        u64::from(expected(x))
                    };
                    assert_eq!(got, want, "{x:e} {:#x}", x.to_bits());
                }
            }
        }
    }
}
