//! Rounds computed values to a storage type, and accounts for kernels whose value rounds the other way.

use norma_bundle::Element;

use crate::scaled::{Scaled, UNDEFINED};

/// How many terms of one result are taken to use a value that a kernel may round the other way. Its error is the same in all of them, so
/// that it adds up, where the scale of a sum is the largest of its terms'.
const TERMS: f64 = 2.0;

/// Rounds `values` to `element` in place, and adapts their scales. Before it rounds, a kernel may be `ulps` ulp of the
/// arithmetic, at a value's scale, from the oracle.
///
/// If a rounding boundary lies within that distance, the new scale is one at which `ulps` ulp of the arithmetic are [`TERMS`] times the
/// distance between the rounded ends of the interval. Otherwise every kernel rounds to the same number, and the result is
/// exact.
pub(crate) fn round_narrow(
    element: Element,
    arithmetic: Element,
    ulps: f64,
    values: &mut [f64],
    scales: &mut [f64],
) {
    for (value, scale) in values.iter_mut().zip(scales) {
        let known = Scaled {
            value: *value,
            scale: *scale,
        };
        let rounded = element.stored(*value);
        if !known.is_exact() && !known.is_undefined() && value.is_finite() {
            let slack = known.slack(ulps, arithmetic);
            let (low, high) = (element.stored(*value - slack), element.stored(*value + slack));
            *scale = match high - low {
                0.0 => 0.0,
                distance if distance.is_finite() => Scaled::scale_of(TERMS * distance, ulps, arithmetic),
                // Both ends overflow.
                _ if low == high => 0.0,
                _ => UNDEFINED,
            };
        }
        *value = rounded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(element: Element, value: f64) -> (f64, f64) {
        let (mut values, mut scales) = ([value], [value.abs()]);
        round_narrow(element, Element::F32, 4.0, &mut values, &mut scales);
        (values[0], scales[0])
    }

    #[test]
    fn values_next_to_a_boundary_get_the_scale_of_a_step() {
        let ulp = Element::BF16.ulp(1.0);
        let (value, scale) = rounded(Element::BF16, 1.0 + ulp / 2.0 + 1e-12);
        assert_eq!(value, 1.0 + ulp);
        assert_eq!(4.0 * Element::F32.ulp(scale), 4.0 * ulp);
        assert_eq!(rounded(Element::BF16, 1.0 + ulp / 3.0), (1.0, 0.0));
    }

    #[test]
    fn a_result_may_be_off_by_a_step_in_each_of_two_terms() {
        let ulp = Element::BF16.ulp(1.0);
        let ulps = 7.0;
        let (mut values, mut scales) = ([1.0 + ulp / 2.0 + 1e-12], [1.0]);
        round_narrow(Element::BF16, Element::F32, ulps, &mut values, &mut scales);
        let term = Scaled {
            value: values[0],
            scale: scales[0],
        };
        assert!((term + term).slack(ulps, Element::F32) >= 2.0 * ulp);
    }

    #[test]
    fn a_tie_is_decided_only_where_the_value_is_exact() {
        let tie = 1.0 + Element::BF16.ulp(1.0) / 2.0;
        assert!(rounded(Element::BF16, tie).1 > 0.0);
        let (mut values, mut scales) = ([tie], [0.0]);
        round_narrow(Element::BF16, Element::F32, 4.0, &mut values, &mut scales);
        assert_eq!((values, scales), ([1.0], [0.0]));
    }

    #[test]
    fn saturation_stops_at_the_largest_number() {
        assert_eq!(rounded(Element::F8E4M3FN, 1e6), (448.0, 0.0));
        assert!(rounded(Element::F8E4M3FN, f64::NAN).0.is_nan());
        assert_eq!(rounded(Element::BF16, f64::MAX), (f64::INFINITY, 0.0));
    }
}
