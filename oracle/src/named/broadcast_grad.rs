//! Gradients of a weight and a bias that broadcast to the rows: each element sums the terms of all elements that it broadcasts to.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Formula;
use super::of_rows::{OfRows, Span};
use super::rows::indices;
use crate::program::grid::Data;
use crate::scaled::{Scaled, sum};
use crate::tolerance::{Order, arithmetic_ulps};

/// A gradient of rows whose sums over rows have the shape of a weight that broadcasts.
pub struct BroadcastGrad<Grad> {
    of_rows: Grad,
    /// The shape of the weight.
    shape: Vec<i64>,
}

impl<Grad: OfRows> BroadcastGrad<Grad> {
    /// The gradient `of_rows`, with sums of that shape in place of its sums over rows.
    pub fn new(of_rows: Grad, shape: Vec<i64>) -> Self {
        BroadcastGrad { of_rows, shape }
    }

    fn is_sum(&self, result: &str) -> bool {
        self.of_rows.span(result) == Some(Span::SumsOverRows)
    }

    /// The index in the weight that broadcasts to an index of the tensor.
    fn place(&self, element: &[i64]) -> Vec<i64> {
        let last = &element[element.len() - self.shape.len()..];
        let axes = self.shape.iter().zip(last);
        axes.map(|(extent, index)| if *extent == 1 { 0 } else { *index })
            .collect()
    }
}

impl<Grad: OfRows> Formula for BroadcastGrad<Grad> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match self.is_sum(result) {
            true => Some(self.shape.clone()),
            false => self.of_rows.shape(result),
        }
    }

    fn independent_dims(&self, result: &str) -> usize {
        self.of_rows.independent_dims(result)
    }

    fn ulps(&self, result: &str) -> f64 {
        if !self.is_sum(result) {
            return Formula::ulps(&self.of_rows, result);
        }
        let elements: i64 = self.of_rows.rows().shape().iter().product();
        let sums: i64 = self.shape.iter().product();
        let of_sum = arithmetic_ulps(elements / sums.max(1), Order::Sequential);
        OfRows::ulps(&self.of_rows).max(of_sum)
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        if !self.is_sum(result) {
            return self.of_rows.evaluate(result, region);
        }
        let rows = self.of_rows.rows();
        let all: Vec<Range<i64>> = rows.outer_shape().into_iter().map(|extent| 0..extent).collect();
        let mut terms: BTreeMap<Vec<i64>, Vec<Scaled>> = BTreeMap::new();
        for index in indices(&all) {
            let of_row = self.of_rows.numbers(result, &index);
            for (element, term) in rows.elements(&index).iter().zip(of_row) {
                terms.entry(self.place(element)).or_default().push(term);
            }
        }
        let places = indices(region).into_iter();
        places
            .map(|place| sum(terms.get(&place).map_or(&[], Vec::as_slice)))
            .collect()
    }
}
