//! Exact widening to f64, and rounding from it in every mode.

use super::{format, nan, sixteen_bits};
use crate::program::{Format, Rounding};

/// The exact value of a bit pattern.
#[inline]
pub(super) fn widen(format: Format, bits: u64) -> f64 {
    match format {
        Format::F64 => f64::from_bits(bits),
        Format::F32 => f64::from(f32::from_bits(bits as u32)),
        Format::F16 => f64::from(f32::from_bits(sixteen_bits::f16_to_f32(bits) as u32)),
        Format::BF16 => f64::from(f32::from_bits((bits << 16) as u32)),
        Format::F8E4M3FN | Format::F8E5M2 => format.element().decode_float(bits),
    }
}

/// `value` rounded once to a format; overflow gives infinity, or the canonical NaN in a format without infinities.
pub(super) fn round(format: Format, value: f64, rounding: Rounding) -> u64 {
    if value.is_nan() {
        return nan::canonical(format);
    }
    let element = format.element();
    let nearest = element.encode_float(value);
    if rounding == Rounding::NearestEven || format == Format::F64 || value.is_infinite() {
        return nearest;
    }
    let sign = nearest & format::sign_bit(format);
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

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: [Format; 4] = [Format::F16, Format::BF16, Format::F8E4M3FN, Format::F8E5M2];

    #[test]
    fn every_f16_widens_as_half_widens_it() {
        for bits in 0..=u16::MAX {
            let expected = half::f16::from_bits(bits).to_f64();
            let got = widen(Format::F16, u64::from(bits));
            assert!(
                got == expected || (got.is_nan() && expected.is_nan()),
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn directed_rounding_takes_the_neighbour_on_its_side() {
        for format in NARROW {
            let element = format.element();
            for bits in 0..format::largest_finite(format) {
                let (this, next) = (widen(format, bits), widen(format, bits + 1));
                for part in [0.25, 0.5, 0.75] {
                    let x = this + (next - this) * part;
                    let sign = format::sign_bit(format);
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
            assert_eq!(
                round(format, 1e300, Rounding::Zero),
                format::largest_finite(format)
            );
            assert_eq!(
                round(format, 1e300, Rounding::Down),
                format::largest_finite(format)
            );
            assert_eq!(
                round(format, -1e300, Rounding::Up),
                format::sign_bit(format) | format::largest_finite(format)
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
}
