//! `top_k`: the first k elements of each row along `axis` in this order: NaN first, then descending, equal ones by their
//! position.
//!
//! ```text
//! values[j], indices[j] = the j-th of them, and where it is
//! ```

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use norma_bundle::Element;

use super::rows::{Operand, Rows, indices, position};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;

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

impl TopK<'_> {
    /// The positions of a row's elements in sorted order.
    fn places<T: PartialOrd>(row: &[T]) -> Vec<usize> {
        let is_nan = |x: &T| x.partial_cmp(x).is_none();
        let order = |a: &usize, b: &usize| {
            let (x, y) = (&row[*a], &row[*b]);
            let by_value = match (is_nan(x), is_nan(y)) {
                (false, false) => y.partial_cmp(x).unwrap_or(Ordering::Equal),
                (is_nan, is_other_nan) => is_other_nan.cmp(&is_nan),
            };
            by_value.then(a.cmp(b))
        };
        let mut places: Vec<usize> = (0..row.len()).collect();
        places.sort_by(order);
        places
    }

    /// A row's elements, and their positions in sorted order.
    fn sorted(&self, index: &[i64]) -> (Data, Vec<usize>) {
        let row = self.x.elements(&self.rows, index);
        let places = match &row {
            Data::Float { values, .. } => Self::places(values),
            Data::Integer { values, .. } => Self::places(values),
        };
        (row, places)
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
        let mut places = Vec::new();
        for mut index in indices(region) {
            let number = index.remove(self.axis);
            let row = rows
                .entry(index.clone())
                .or_insert_with_key(|index| self.sorted(index));
            let place = usize::try_from(number).ok().and_then(|number| row.1.get(number));
            places.push((index, place.copied()));
        }
        if result == "indices" {
            let none = Self::largest(self.index);
            let place = |(_, place): &(_, Option<usize>)| place.map_or(none, |place| place as i64);
            return Data::integers(places.iter().map(place).collect());
        }
        if self.element.is_float() {
            let value = |(index, place): &(Vec<i64>, Option<usize>)| match (&rows[index].0, place) {
                // Adding 0 turns -0 into +0.
                (Data::Float { values, .. }, Some(place)) => Scaled::exact(values[*place] + 0.0),
                _ => Scaled::exact(f64::NEG_INFINITY),
            };
            return places.iter().map(value).collect();
        }
        let none = !Self::largest(self.element);
        let value = |(index, place): &(Vec<i64>, Option<usize>)| match (&rows[index].0, place) {
            (Data::Integer { values, .. }, Some(place)) => values[*place],
            _ => none,
        };
        Data::integers(places.iter().map(value).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_first_and_equal_ones_are_in_order() {
        assert_eq!(
            TopK::places(&[1.0, -0.0, f64::NAN, 0.0, f64::INFINITY, f64::NAN]),
            [2, 5, 4, 0, 1, 3]
        );
        assert_eq!(TopK::places(&[3_i64, 7, 3]), [1, 0, 2]);
    }
}
