//! `top_k`: the first k elements of each row along `axis` in this order: NaN first, then descending, equal ones by their
//! position.
//!
//! ```text
//! values[j], indices[j] = the j-th of them, and where it is
//! ```
//!
//! An element that a statement before computed lies in an interval. The j-th value then lies between the j-th of the lower ends and
//! the j-th of the upper ends, and the index is open unless the intervals decide for every other element on which side it is.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use norma_bundle::Element;

use super::rows::{Operand, Rows, indices, position};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;
use crate::tolerance::tolerance;

struct TopK<'a> {
    rows: Rows,
    x: Operand<'a>,
    axis: usize,
    k: i64,
    /// The type of `x` and of `values`.
    element: Element,
    /// The type of `indices`.
    index: Element,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let x = call.number("x")?;
    call.check_kind("x", "values")?;
    let axis = call.integer("axis")?;
    let rows = Rows::along(&[axis], &x.layout.shape)?;
    Ok(Box::new(TopK {
        axis: position(axis, &x.layout.shape)?,
        element: x.element,
        x: rows.whole("x", x)?,
        rows,
        k: call.integer("k")?,
        index: call.result("indices")?,
    }))
}

/// An element of a row: what a kernel may have for it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    place: usize,
    value: f64,
    low: f64,
    high: f64,
}

impl Candidate {
    fn new(place: usize, value: f64, slack: f64) -> Self {
        // -0 equals 0, and the results are of 0.
        let value = value + 0.0;
        Candidate {
            place,
            value,
            low: value - slack,
            high: value + slack,
        }
    }

    /// Whether it comes before another one in every kernel.
    fn is_before(&self, other: &Self) -> bool {
        let (low, high) = (self.low, other.high);
        order(low, high).then(self.place.cmp(&other.place)) == Ordering::Less
    }
}

/// The order of two values: NaN first, then descending.
fn order(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
        (is_nan, is_other_nan) => is_other_nan.cmp(&is_nan),
    }
}

/// A row in sorted order.
struct Sorted {
    /// By value, equal ones by place.
    candidates: Vec<Candidate>,
    /// The lower and the upper ends, each in order.
    ends: [Vec<f64>; 2],
    /// Whether elements of the row may be anything.
    is_open: bool,
}

impl Sorted {
    fn of(mut candidates: Vec<Candidate>, is_open: bool) -> Self {
        candidates.sort_by(|a, b| order(a.value, b.value).then(a.place.cmp(&b.place)));
        let sorted = |end: fn(&Candidate) -> f64| {
            let mut ends = candidates.iter().map(end).collect::<Vec<_>>();
            ends.sort_by(|a, b| order(*a, *b));
            ends
        };
        let ends = [
            sorted(|candidate| candidate.low),
            sorted(|candidate| candidate.high),
        ];
        Sorted {
            candidates,
            ends,
            is_open,
        }
    }

    /// The value at a rank, and how far a kernel's may be from it; `None` beyond the row.
    fn value(&self, rank: usize) -> Option<(f64, f64)> {
        let value = self.candidates.get(rank)?.value;
        let [low, high] = &self.ends;
        let distance = match value.is_finite() {
            true => (value - low[rank]).max(high[rank] - value),
            false => 0.0,
        };
        Some((value, distance))
    }

    /// The place of the element at a rank, and whether it is there in every kernel; `None` beyond the row.
    fn place(&self, rank: usize) -> Option<(usize, bool)> {
        let found = self.candidates.get(rank)?;
        let (before, after) = (&self.candidates[..rank], &self.candidates[rank + 1..]);
        let is_decided = !self.is_open
            && before.iter().all(|other| other.is_before(found))
            && after.iter().all(|other| found.is_before(other));
        Some((found.place, is_decided))
    }
}

impl TopK<'_> {
    /// The row at an index.
    fn sorted(&self, index: &[i64]) -> Sorted {
        let row = self.x.elements(&self.rows, index);
        let ulps = self.ulps("values");
        let (candidates, open): (Vec<_>, Vec<_>) = match &row {
            Data::Float { .. } => {
                let slack = |x: Scaled| match x.value.is_finite() {
                    true => tolerance(self.element, x, ulps),
                    false => 0.0,
                };
                let of = |(place, x): (usize, Scaled)| {
                    (Candidate::new(place, x.value, slack(x)), x.is_undefined())
                };
                row.floats().enumerate().map(of).unzip()
            }
            Data::Integer { values, slacks } => {
                let of = |(place, (value, slack)): (usize, (&i64, &u64))| {
                    let candidate = Candidate::new(place, *value as f64, *slack as f64);
                    (candidate, *slack == u64::MAX)
                };
                values.iter().zip(slacks).enumerate().map(of).unzip()
            }
        };
        Sorted::of(candidates, open.contains(&true))
    }

    /// The largest number of a type of integers.
    fn largest(element: Element) -> i64 {
        i64::MAX >> (64 - element.integer_bits().unwrap_or(64))
    }
}

impl Formula for TopK<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        let mut shape = self.rows.shape().to_vec();
        shape[self.axis] = self.k;
        matches!(result, "values" | "indices").then_some(shape)
    }

    fn independent_dims(&self, _result: &str) -> usize {
        self.rows.leading()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.rows.ulps().max(self.x.ulps())
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let mut rows = BTreeMap::new();
        let mut elements = Vec::new();
        for mut index in indices(region) {
            let rank = index.remove(self.axis);
            rows.entry(index.clone())
                .or_insert_with_key(|index| self.sorted(index));
            elements.push((index, usize::try_from(rank).unwrap_or(usize::MAX)));
        }
        let of_integers = |found: Vec<(i64, u64)>| {
            let (values, slacks) = found.into_iter().unzip();
            Data::Integer { values, slacks }
        };
        let all = elements.iter().map(|(index, rank)| (&rows[index], *rank));
        if result == "indices" {
            let place = |(row, rank): (&Sorted, usize)| match row.place(rank) {
                Some((place, is_decided)) => (place as i64, if is_decided { 0 } else { u64::MAX }),
                None => (Self::largest(self.index), 0),
            };
            return of_integers(all.map(place).collect());
        }
        if !self.element.is_float() {
            let value = |(row, rank): (&Sorted, usize)| match row.value(rank) {
                Some((value, _)) if row.is_open => (value as i64, u64::MAX),
                Some((value, distance)) => (value as i64, distance as u64),
                None => (!Self::largest(self.element), 0),
            };
            return of_integers(all.map(value).collect());
        }
        let ulps = self.ulps(result);
        let value = |(row, rank): (&Sorted, usize)| match row.value(rank) {
            Some(_) if row.is_open => Scaled::undefined(),
            Some((value, distance)) => Scaled {
                value,
                scale: Scaled::scale_of(distance, ulps, Element::F32),
            },
            None => Scaled::exact(f64::NEG_INFINITY),
        };
        all.map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(row: &[(f64, f64)]) -> Sorted {
        let candidates = row.iter().enumerate();
        let candidates = candidates.map(|(place, (value, slack))| Candidate::new(place, *value, *slack));
        Sorted::of(candidates.collect(), false)
    }

    #[test]
    fn nan_is_first_and_equal_ones_are_in_order() {
        let row = sorted(&[1.0, -0.0, f64::NAN, 0.0, f64::INFINITY, f64::NAN].map(|value| (value, 0.0)));
        let places = (0..7).map(|rank| row.place(rank)).collect::<Vec<_>>();
        let decided = [2, 5, 4, 0, 1, 3].map(|place| Some((place, true)));
        assert_eq!(places, [decided.as_slice(), &[None]].concat());
        assert_eq!(row.value(2), Some((f64::INFINITY, 0.0)));
        assert_eq!(row.value(4), Some((0.0, 0.0)));
        assert!(
            row.value(0)
                .is_some_and(|(value, distance)| value.is_nan() && distance == 0.0)
        );
    }

    #[test]
    fn intervals_that_meet_leave_the_order_open() {
        // 2 and 3 may be the same number; 9 is before them, and 0 behind.
        let row = sorted(&[(2.0, 0.5), (9.0, 1.0), (3.0, 0.75), (0.0, 0.0)]);
        let places = [0, 1, 2, 3].map(|rank| row.place(rank));
        assert_eq!(places, [(1, true), (2, false), (0, false), (3, true)].map(Some));
        assert_eq!(row.value(0), Some((9.0, 1.0)));
        // The larger of them lies between 2.25 and 3.75, the smaller between 1.5 and 2.5.
        assert_eq!(row.value(1), Some((3.0, 0.75)));
        assert_eq!(row.value(2), Some((2.0, 0.5)));
        // Where ends meet, places decide if they are in the order of the values.
        let touching = sorted(&[(3.0, 0.5), (2.0, 0.5)]);
        assert_eq!(touching.place(0), Some((0, true)));
        let crossed = sorted(&[(2.0, 0.5), (3.0, 0.5)]);
        assert_eq!(crossed.place(0), Some((1, false)));
    }
}
