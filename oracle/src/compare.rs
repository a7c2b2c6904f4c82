//! Comparing an output with the oracle, element by element.

use norma_bundle::Element;
use serde::Serialize;

use crate::error::OracleError;
use crate::fill::Random;
use crate::memory::{Image, POISON};
use crate::part::Part;
use crate::problem::Problem;
use crate::program::grid::Data;
use crate::sample::sample;
use crate::scaled::Scaled;
use crate::scattered::Reached;
use crate::tolerance::{tolerance, within};

/// How an output compares with the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputCheck {
    /// The tensor.
    pub tensor: String,
    /// Elements compared.
    pub checked: u64,
    /// The number of compared elements that are exact: every right kernel must produce their bits. They follow from inputs by
    /// ops that round once, each in its own type, and by reductions whose result is the same in every order.
    pub exact: u64,
    /// The number of elements that were not compared because the definition leaves them open: poison, a sum that overflows in
    /// some order, the bits of a value that may be off.
    pub undefined: u64,
    /// Elements beyond the tolerance.
    pub wrong: u64,
    /// The element whose error is the largest part of its tolerance; absent where nothing was compared.
    pub worst: Option<Worst>,
}

/// One element of an output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// Its coordinates in the tensor.
    pub at: Vec<i64>,
    /// The oracle's value, unrounded.
    pub expected: f64,
    /// The kernel's value.
    pub actual: f64,
    /// The distance between `actual` and `expected` rounded to the output's type, in ulp of that type; where it expects 0, in ulp at the
    /// scale of what cancelled.
    pub ulps: f64,
    /// The kernel's error as a fraction of the tolerance; above 1 the element is wrong.
    pub part_of_tolerance: f64,
}

/// Compares `part` with `image`, the memory of its tensor, which was poisoned before the run. At most `rows` rows of a large part are
/// compared; 0 compares all. `reached` says which elements of a tensor at computed places several points reach: these are not compared. Also
/// returns whether padding among them was written.
pub(crate) fn compare(
    problem: &Problem<'_>,
    part: &Part<'_>,
    image: &Image,
    reached: Option<&Reached>,
    rows: usize,
    random: &mut Random,
) -> Result<(OutputCheck, bool), OracleError> {
    let element = problem.element(part.tensor)?;
    let layout = &problem.layouts[part.tensor];
    let ulps = part.ulps();
    let mut found = OutputCheck {
        tensor: part.tensor.to_owned(),
        checked: 0,
        exact: 0,
        undefined: 0,
        wrong: 0,
        worst: None,
    };
    let mut is_stray = false;
    let untouched = element.load(&[POISON; 8], 0).unwrap_or_default();
    let regions = sample(&part.extents(), &part.dims(), rows, random);
    for region in regions.iter().flat_map(|region| part.boxes(region)) {
        let expected = part.evaluate(layout, &region)?;
        for (index, place) in expected.places.iter().enumerate() {
            if reached.is_some_and(|reached| reached.is_contested(*place)) {
                found.undefined += 1;
                continue;
            }
            let bits = usize::try_from(*place)
                .ok()
                .and_then(|place| element.load(image.body(), place));
            let bits = bits.ok_or_else(|| OracleError::Unbound(part.tensor.to_owned()))?;
            let Some(verdict) = judge(element, bits, &expected.data, index, ulps) else {
                match part.is_padding(&layout.coordinates(*place)) {
                    true => is_stray |= bits != untouched,
                    false => found.undefined += 1,
                }
                continue;
            };
            found.checked += 1;
            found.exact += u64::from(verdict.is_exact);
            found.wrong += u64::from(verdict.part > 1.0);
            if found
                .worst
                .as_ref()
                .is_none_or(|worst| verdict.part > worst.part_of_tolerance)
            {
                found.worst = Some(Worst {
                    at: layout.coordinates(*place),
                    expected: verdict.expected,
                    actual: verdict.actual,
                    ulps: match verdict.distance {
                        0.0 => 0.0,
                        distance => distance / element.ulp(verdict.magnitude),
                    },
                    part_of_tolerance: verdict.part,
                });
            }
        }
    }
    Ok((found, is_stray))
}

/// The comparison of one element.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    expected: f64,
    actual: f64,
    /// The distance between the stored value and the expected one rounded to the type.
    distance: f64,
    /// The magnitude at whose ulp the distance is measured.
    magnitude: f64,
    /// The error as a fraction of the tolerance; above 1 the element is wrong.
    part: f64,
    /// Whether every right kernel must produce exactly these bits.
    is_exact: bool,
}

/// Judges one element; `None` if the definition leaves its value open.
fn judge(element: Element, bits: u64, expected: &Data, index: usize, ulps: f64) -> Option<Verdict> {
    match expected {
        Data::Float { values, scales } => {
            let expected = Scaled {
                value: values[index],
                scale: scales[index],
            };
            (!expected.is_undefined()).then(|| judge_float(element, bits, expected, ulps))
        }
        Data::Integer { values, slacks } => {
            let (expected, actual, slack) = (values[index], element.wrap_integer(bits as i64), slacks[index]);
            let distance = expected.abs_diff(actual);
            (slack != u64::MAX).then(|| Verdict {
                expected: expected as f64,
                actual: actual as f64,
                distance: distance as f64,
                magnitude: expected as f64,
                is_exact: slack == 0,
                part: match (distance, slack) {
                    (0, _) => 0.0,
                    (_, 0) => f64::INFINITY,
                    _ => distance as f64 / slack as f64,
                },
            })
        }
    }
}

fn judge_float(element: Element, bits: u64, expected: Scaled, ulps: f64) -> Verdict {
    let oracle = expected.value;
    let (actual, stored) = (element.decode_float(bits), element.stored(oracle));
    let verdict = |distance: f64, part: f64| Verdict {
        expected: oracle,
        actual,
        distance,
        magnitude: match stored == 0.0 && expected.scale.is_finite() {
            true => expected.scale,
            false => oracle,
        },
        part,
        is_exact: expected.is_exact(),
    };
    if actual == stored || (actual.is_nan() && stored.is_nan()) {
        return verdict(0.0, 0.0);
    }
    let allowed = tolerance(element, expected, ulps);
    // Rounding to the stored type accounts for up to half an ulp; the rest is the kernel's error.
    let error = (actual - oracle).abs() - element.ulp(oracle) / 2.0;
    let part = if error < 0.0 { 0.0 } else { error / allowed };
    // Next to overflow the error is infinite although both values are right.
    verdict(
        (actual - stored).abs(),
        match within(element, actual, oracle, allowed) {
            true if part.is_finite() => part.min(1.0),
            true => 1.0,
            false if part.is_nan() => f64::INFINITY,
            false => part.max(1.0f64.next_up()),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(element: Element, actual: f64, oracle: f64) -> f64 {
        let bits = element.encode_float(actual);
        let expected = Data::Float {
            values: vec![oracle],
            scales: vec![oracle.abs()],
        };
        judge(element, bits, &expected, 0, 4.0).unwrap().part
    }

    #[test]
    fn errors_are_measured_against_the_tolerance() {
        assert_eq!(judged(Element::BF16, 1.0, 1.0), 0.0);
        let ulp = 1.0 / 128.0;
        let neighbour = judged(Element::BF16, 1.0 + ulp, 1.0 + 0.49999 * ulp);
        assert!(neighbour > 0.1 && neighbour <= 1.0, "{neighbour}");
        assert!(judged(Element::BF16, 1.0 + ulp, 1.0 + 0.49 * ulp) > 1.0);
        assert_eq!(judged(Element::F32, f64::NAN, 1.0), f64::INFINITY);
        assert_eq!(judged(Element::F32, f64::NAN, f64::NAN), 0.0);
        assert_eq!(judged(Element::F32, f64::INFINITY, f64::INFINITY), 0.0);
    }

    #[test]
    fn where_terms_cancel_to_0_distances_are_in_ulp_of_the_terms() {
        let ulp = Element::F32.ulp(1.0);
        let expected = Data::Float {
            values: vec![0.0],
            scales: vec![1.0],
        };
        let verdict = judge(
            Element::F32,
            Element::F32.encode_float(2.0 * ulp),
            &expected,
            0,
            4.0,
        )
        .unwrap();
        assert_eq!((verdict.distance, verdict.magnitude), (2.0 * ulp, 1.0));
        assert!((0.4..0.6).contains(&verdict.part), "{}", verdict.part);
    }

    #[test]
    fn integers_are_compared_exactly() {
        let verdict = |bits: u64| {
            judge(Element::I64, bits, &Data::integers(vec![7]), 0, 4.0)
                .unwrap()
                .part
        };
        assert_eq!(verdict(7), 0.0);
        assert!(verdict(8) > 1.0);
    }

    #[test]
    fn an_integer_next_to_a_tie_may_be_its_neighbour() {
        let expected = Data::Integer {
            values: vec![-128],
            slacks: vec![1],
        };
        let part = |actual: i64| judge(Element::I8, actual as u64, &expected, 0, 4.0).unwrap().part;
        assert!(part(-127) <= 1.0 && part(-126) > 1.0 && part(127) > 1.0);
    }

    #[test]
    fn what_every_kernel_has_to_the_bit_is_compared_so() {
        let expected = Data::exact(vec![1.0]);
        let bits = Element::F32.encode_float(1.0 + f64::from(f32::EPSILON));
        let verdict = judge(Element::F32, bits, &expected, 0, 4.0).unwrap();
        assert!(verdict.part > 1.0 && verdict.is_exact);
    }

    #[test]
    fn what_is_undefined_is_not_judged() {
        let open: Data = [Scaled::undefined()].into_iter().collect();
        assert!(judge(Element::F32, 0, &open, 0, 4.0).is_none());
        let open = Data::Integer {
            values: vec![0],
            slacks: vec![u64::MAX],
        };
        assert!(judge(Element::I8, 5, &open, 0, 4.0).is_none());
    }
}
