//! How far a kernel's result may be from the oracle's.

use norma_bundle::Element;

use crate::scaled::Scaled;

/// The order of summation of the reductions behind a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Within a row: a tree over the row's terms.
    Tree,
    /// Over rows: sequential in each CTA, then over CTAs.
    Sequential,
}

/// How many ulp, at the scale of the terms, a kernel's arithmetic may be off after a reduction of `terms` terms. See
/// [`tolerance`] for the derivation.
pub fn arithmetic_ulps(terms: i64, order: Order) -> f64 {
    let terms = terms.max(1) as f64;
    match order {
        Order::Tree => 2.0 * terms.log2() + 4.0,
        Order::Sequential => 4.0 * terms.sqrt() + 4.0,
    }
}

/// How far a kernel's value may be from the oracle's before it is stored as `element`; [`within`] says what may then be stored.
/// `oracle` is the unrounded value with the magnitude of the terms behind it (`scaled.rs`), and `ulps` is what [`arithmetic_ulps`]
/// allows for its reductions. Zero for an exact value, whose bits every kernel must produce.
///
/// The oracle evaluates the definition in f64 on the same stored inputs, so the only difference is rounding:
///
/// - A kernel computes in f32 (f64 for f64). A reduction of N terms is a tree: sequential in a thread over a bounded
///   number of terms, then pairwise, so an element passes through about log2(N) roundings in expectation and
///   2*log2(N) with slack for the sequential part; 4 more ulp cover the elementwise steps around it and the
///   approximations (`rsqrt.approx`, `ex2.approx` and the like are within 2 ulp). Each is an ulp *at the scale of the
///   terms*, which is larger than the result where terms cancel, and where an approximation's error is absolute
///   (`functions.rs`).
/// - A reduction over the rows of a gradient is walked sequentially by each CTA. The rounding errors of M sequential
///   additions are independent in sign, so they grow as sqrt(M): 4*sqrt(M) + 4 ulp.
/// - Storing to a narrower type (bf16, f16, fp8) rounds once more. Rounding is monotone, so the stored number lies between
///   the rounded ends of the interval described above: it is the oracle's number, or its neighbour if a rounding boundary
///   lies in the interval. An ulp of a narrow type is thousands of ulp of f32, so it is never further than that neighbour,
///   1 ulp away, unless terms cancel; and a fault far below an ulp still shows in the elements near a boundary.
/// - Partial results of a reduction are rounded to the accumulator's type: a bf16 sum errs by ulp of bf16, which its scale
///   includes (`program/combine.rs`).
/// - An approximate op (see the table of scalar ops) may take numbers below the smallest normal f32 for zero, as operands
///   and as results; every other op keeps them (`program/operation.rs`).
pub fn tolerance(element: Element, oracle: Scaled, ulps: f64) -> f64 {
    if !element.is_float() || oracle.is_exact() {
        return 0.0;
    }
    let Scaled { value: oracle, scale } = oracle;
    let arithmetic = if element == Element::F64 {
        Element::F64
    } else {
        Element::F32
    };
    // An infinite scale (an operand overflowed, and a later step discarded it) says nothing about the result.
    let magnitude = if scale.is_finite() {
        scale.max(oracle.abs())
    } else {
        oracle.abs()
    };
    ulps * arithmetic.ulp(magnitude)
}

/// Whether a kernel whose value is within `tolerance` of the unrounded `oracle` may have stored `actual`, a number of type
/// `element`.
///
/// NaN matches only NaN, and an infinity only itself. If the interval around a finite oracle reaches the type's overflow
/// threshold, the infinity is right as well. 8-bit floats do not overflow, see [`Element::narrow`].
pub fn within(element: Element, actual: f64, oracle: f64, tolerance: f64) -> bool {
    if !oracle.is_finite() {
        let expected = element.round(oracle);
        return expected == actual || (expected.is_nan() && actual.is_nan());
    }
    element.stored(oracle - tolerance) <= actual && actual <= element.stored(oracle + tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tolerance(element: Element, value: f64, scale: f64, ulps: f64) -> f64 {
        super::tolerance(element, Scaled { value, scale }, ulps)
    }

    #[test]
    fn f32_errors_grow_with_the_logarithm_of_the_terms() {
        let ulp = Element::F32.ulp(1.0);
        assert_eq!(
            tolerance(Element::F32, 1.0, 1.0, arithmetic_ulps(4096, Order::Tree)),
            28.0 * ulp
        );
        assert_eq!(
            tolerance(Element::F32, 1.0, 1.0, arithmetic_ulps(1, Order::Tree)),
            4.0 * ulp
        );
        assert_eq!(
            tolerance(Element::F32, 1.0, 1.0, arithmetic_ulps(10000, Order::Sequential)),
            404.0 * ulp
        );
    }

    #[test]
    fn cancelled_results_are_measured_at_the_scale_of_the_terms() {
        let bound = tolerance(Element::F32, 1e-3, 1024.0, arithmetic_ulps(4096, Order::Tree));
        assert_eq!(bound, 28.0 * Element::F32.ulp(1024.0));
    }

    #[test]
    fn a_narrow_result_may_be_a_neighbour_across_a_boundary_and_no_more() {
        let check = |actual: f64, oracle: f64| {
            let ulps = arithmetic_ulps(4096, Order::Tree);
            let tolerance = tolerance(Element::BF16, oracle, oracle.abs(), ulps);
            within(Element::BF16, actual, oracle, tolerance)
        };
        let ulp = Element::BF16.ulp(1.0);
        assert!(check(1.0, 1.0 + 0.4 * ulp));
        assert!(!check(1.0 + ulp, 1.0 + 0.4 * ulp));
        assert!(check(1.0 + ulp, 1.0 + 0.4999 * ulp) && check(1.0, 1.0 + 0.5001 * ulp));
        assert!(!check(1.0 + 2.0 * ulp, 1.0 + 0.5001 * ulp));
        // Below a power of two numbers lie half as far apart.
        assert!(check(1.0 - ulp / 2.0, 1.0 - 0.2501 * ulp) && check(1.0, 1.0 - 0.2501 * ulp));
        assert!(!check(1.0 - ulp / 2.0, 1.0) && !check(f64::NAN, 1.0));
    }

    #[test]
    fn a_fault_far_below_an_ulp_shows_near_boundaries() {
        // Dividing by 4095 instead of 4096: 6e-5 of the result, where an ulp of bf16 is at least 4e-3 of it.
        let ulps = arithmetic_ulps(4096, Order::Tree);
        let wrong = (0..1000).filter(|index| {
            let oracle = 1.0 + f64::from(*index) / 1000.0;
            let actual = Element::BF16.round(oracle * (4096.0f64 / 4095.0).sqrt());
            let tolerance = tolerance(Element::BF16, oracle, oracle, ulps);
            !within(Element::BF16, actual, oracle, tolerance)
        });
        assert!((5..100).contains(&wrong.count()));
    }

    #[test]
    fn what_is_not_finite_matches_itself() {
        assert!(within(Element::F32, f64::NAN, f64::NAN, 0.0));
        assert!(within(Element::F32, f64::INFINITY, f64::INFINITY, 0.0));
        assert!(!within(Element::F32, f64::NEG_INFINITY, f64::INFINITY, 0.0));
        assert!(!within(Element::F32, 1.0, f64::INFINITY, 0.0));
        assert!(!within(Element::F32, f64::INFINITY, f64::NAN, 0.0));
    }

    #[test]
    fn results_may_overflow_only_next_to_the_limit() {
        let ulp = Element::F16.ulp(65504.0);
        assert!(within(Element::F16, 65504.0, 65520.5, ulp));
        assert!(!within(Element::F16, 65504.0, 65520.5, 0.25));
        assert!(within(Element::F16, f64::INFINITY, 65519.5, ulp));
        assert!(within(Element::F16, f64::INFINITY, 65520.5, 0.0));
        assert!(!within(Element::F16, f64::INFINITY, 60000.0, ulp));
        assert!(!within(Element::F16, 60000.0, 70000.0, ulp));
        assert!(within(Element::F8E4M3FN, 448.0, 465.0, 32.0));
        assert!(!within(Element::F8E4M3FN, f64::NAN, 465.0, 32.0));
        assert!(within(Element::F8E5M2, 57344.0, 1e9, 0.0));
        assert!(!within(Element::F8E5M2, f64::INFINITY, 1e9, 1e9));
    }

    #[test]
    fn integers_are_exact() {
        assert_eq!(
            tolerance(Element::I32, 5.0, 5.0, arithmetic_ulps(4096, Order::Tree)),
            0.0
        );
    }
}
