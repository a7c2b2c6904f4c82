//! `cumsum`: with i and j along the `axis` of x,
//!
//! ```text
//! y_i = sum_{j <= i}(x_j), or sum_{j < i}(x_j) with exclusive; with reverse of j >= i, or j > i
//! ```

use std::ops::Range;

use norma_bundle::Element;

use super::rows::{Operand, Rows};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;

struct Cumsum<'a> {
    rows: Rows,
    x: Operand<'a>,
    exclusive: bool,
    reverse: bool,
    /// The type of `y`.
    element: Element,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let x = call.number("x")?;
    call.check_kind("x", "y")?;
    let rows = Rows::along(&[call.integer("axis")?], &x.layout.shape)?;
    Ok(Box::new(Cumsum {
        x: rows.whole("x", x)?,
        rows,
        exclusive: call.is_set("exclusive"),
        reverse: call.is_set("reverse"),
        element: call.result("y")?,
    }))
}

impl Cumsum<'_> {
    /// The prefix sums of a row: at each place the sum up to and including its element, or with `exclusive` of the elements
    /// before it. With `reverse`, the suffix sums.
    fn sums<T: Copy>(&self, row: &[T], zero: T, add: impl Fn(T, T) -> T) -> Vec<T> {
        let mut order: Vec<usize> = (0..row.len()).collect();
        if self.reverse {
            order.reverse();
        }
        let mut sum = zero;
        let mut sums = vec![zero; row.len()];
        for place in order {
            let before = sum;
            sum = add(sum, row[place]);
            sums[place] = if self.exclusive { before } else { sum };
        }
        sums
    }
}

impl Formula for Cumsum<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        (result == "y").then(|| self.rows.shape().to_vec())
    }

    fn independent_dims(&self, _result: &str) -> usize {
        self.rows.leading()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.rows.ulps().max(self.x.ulps())
    }

    fn evaluate(&self, _result: &str, region: &[Range<i64>]) -> Data {
        if self.element.is_float() {
            let row = |index: &[i64]| {
                let x = self.x.row(&self.rows, index);
                self.sums(&x, Scaled::exact(0.0), Scaled::add_terms)
            };
            return self.rows.per_element(region, row).into_iter().collect();
        }
        let wrap = |value: i64| self.element.wrap_integer(value);
        let row = |index: &[i64]| {
            let x = self.x.integers(&self.rows, index);
            self.sums(&x, 0, |sum, x| wrap(sum.wrapping_add(x)))
        };
        Data::integers(self.rows.per_element(region, row))
    }
}
