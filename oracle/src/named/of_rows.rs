//! Formulas whose every result belongs to rows: what each row comes to says all of it.

use std::ops::Range;

use super::Formula;
use super::rows::Rows;
use crate::program::grid::Data;
use crate::scaled::Scaled;

/// What of a row a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// A number for each row.
    Row,
    /// A number for each element.
    Elements,
}

/// A formula of rows, each by itself.
pub trait OfRows {
    /// The rows.
    fn rows(&self) -> &Rows;

    /// What the result of that name is, if there is one.
    fn span(&self, result: &str) -> Option<Span>;

    /// How many ulp the arithmetic behind a row's numbers may be off.
    fn ulps(&self) -> f64;

    /// A result's numbers for the row at `index`: one, or those of its elements, row-major.
    fn numbers(&self, result: &str, index: &[i64]) -> Vec<Scaled>;
}

impl<Op: OfRows> Formula for Op {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        Some(match self.span(result)? {
            Span::Row => self.rows().outer_shape(),
            Span::Elements => self.rows().shape().to_vec(),
        })
    }

    fn independent_dims(&self) -> usize {
        self.rows().leading()
    }

    fn ulps(&self, _result: &str) -> f64 {
        OfRows::ulps(self)
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let row = |index: &[i64]| self.numbers(result, index);
        let found = match self.span(result) {
            Some(Span::Row) => self.rows().per_row(region, row).concat(),
            _ => self.rows().per_element(region, row),
        };
        found.into_iter().collect()
    }
}
