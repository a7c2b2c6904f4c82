//! Formulas that are defined row by row: every result is a number per row, a number per element, or a sum over rows.

use std::ops::Range;

use super::Formula;
use super::rows::Rows;
use crate::program::grid::Data;
use crate::scaled::Scaled;
use crate::tolerance::{Order, arithmetic_ulps};

/// What a result holds, relative to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// One number per row.
    Row,
    /// One number per element.
    Elements,
    /// One number per place in a row: the sum over all rows of what each contributes at that place.
    SumsOverRows,
}

/// A formula that is defined for each row by itself.
pub trait OfRows {
    /// The rows.
    fn rows(&self) -> &Rows;

    /// What the result of that name holds; `None` if there is no such result.
    fn span(&self, result: &str) -> Option<Span>;

    /// How many ulp the arithmetic behind a row's numbers may be off.
    fn ulps(&self) -> f64;

    /// A result's numbers for the row at `index`, as its [`Span`] says: one, or one per element, row-major, which are either
    /// the result or terms of the sums.
    fn numbers(&self, result: &str, index: &[i64]) -> Vec<Scaled>;
}

impl<Op: OfRows> Formula for Op {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        Some(match self.span(result)? {
            Span::Row => self.rows().outer_shape(),
            Span::Elements => self.rows().shape().to_vec(),
            Span::SumsOverRows => self.rows().row_shape(),
        })
    }

    fn independent_dims(&self, result: &str) -> usize {
        match self.span(result) {
            Some(Span::SumsOverRows) => 0,
            _ => self.rows().leading(),
        }
    }

    fn ulps(&self, result: &str) -> f64 {
        let of_row = OfRows::ulps(self);
        match self.span(result) {
            Some(Span::SumsOverRows) => {
                let rows = self.rows().outer_shape().iter().product();
                of_row.max(arithmetic_ulps(rows, Order::Sequential))
            }
            _ => of_row,
        }
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let row = |index: &[i64]| self.numbers(result, index);
        let found = match self.span(result) {
            Some(Span::Row) => self.rows().per_row(region, row).concat(),
            Some(Span::SumsOverRows) => self.rows().sums_over_rows(region, row),
            _ => self.rows().per_element(region, row),
        };
        found.into_iter().collect()
    }
}
