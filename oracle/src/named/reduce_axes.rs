//! `reduce_axes`: with n over the `axes` of x and N their number of elements,
//!
//! ```text
//! sum, mean       sum_n(x), sum_n(x) / N
//! prod            prod_n(x)
//! max, min, amax  the largest x, the smallest x, the largest |x|
//! sum_sq, norm    sum_n(x^2), sqrt(sum_n(x^2))
//! var             sum_n((x - mean)^2) / max(N - correction, 0)
//! any, all        whether some x, every x is not 0
//! argmax, argmin  where the first largest, the first smallest x is
//! ```

use std::ops::Range;

use norma_bundle::Element;

use super::rows::{Operand, Rows, indices};
use super::statistics::{mean_and_squares, sum_of_squares};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::{Scaled, sum};

struct ReduceAxes<'a> {
    rows: Rows,
    x: Operand<'a>,
    kind: &'a str,
    keepdims: bool,
    correction: i64,
    /// The type of `y`.
    element: Element,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let x = call.number("x")?;
    let kind = call.text("kind")?;
    if !is_of_order(kind) {
        call.check_kind("x", "y")?;
    }
    let rows = Rows::along(&call.integers("axes")?, &x.layout.shape)?;
    Ok(Box::new(ReduceAxes {
        x: rows.whole("x", x)?,
        rows,
        kind,
        keepdims: call.is_set("keepdims"),
        correction: call.integer("correction")?,
        element: call.result("y")?,
    }))
}

/// Whether results are truths or indices, whatever the type of `x`.
fn is_of_order(kind: &str) -> bool {
    matches!(kind, "any" | "all" | "argmax" | "argmin")
}

impl ReduceAxes<'_> {
    /// The index of the row that a result's index refers to: without the axes that `keepdims` keeps at extent 1.
    fn row_at(&self, index: &[i64]) -> Vec<i64> {
        let kept = |(axis, index): (usize, &i64)| (!self.rows.is_along(axis)).then_some(*index);
        match self.keepdims {
            true => index.iter().enumerate().filter_map(kept).collect(),
            false => index.to_vec(),
        }
    }

    fn of_floats(&self, row: &[Scaled]) -> Scaled {
        let count = Scaled::exact(row.len() as f64);
        let extreme = |combine: fn(Scaled, Scaled) -> Scaled, none: f64| {
            row.iter().copied().fold(Scaled::exact(none), combine)
        };
        match self.kind {
            "mean" => sum(row) / count,
            "prod" => row.iter().fold(Scaled::exact(1.0), |product, x| product * *x),
            "max" => extreme(Scaled::maximum, f64::NEG_INFINITY),
            "min" => extreme(Scaled::minimum, f64::INFINITY),
            "amax" => extreme(|most, x| most.maximum(x.magnitude()), f64::NEG_INFINITY),
            "sum_sq" => sum_of_squares(row),
            "norm" => sum_of_squares(row).sqrt(),
            "var" => {
                let divisor = (row.len() as i64).saturating_sub(self.correction).max(0);
                mean_and_squares(row).1 / Scaled::exact(divisor as f64)
            }
            _ => sum(row),
        }
    }

    fn of_integers(&self, row: &[i64]) -> i64 {
        let elements = row.iter().copied();
        let wrap = |value: i64| self.element.wrap_integer(value);
        match self.kind {
            "prod" => elements.fold(1, |product, x| wrap(product.wrapping_mul(x))),
            "max" => elements.max().unwrap_or_else(|| self.least()),
            "min" => elements.min().unwrap_or_else(|| !self.least()),
            "amax" => elements
                .map(|x| wrap(x.wrapping_abs()))
                .max()
                .unwrap_or_else(|| self.least()),
            _ => elements.fold(0, |sum, x| wrap(sum.wrapping_add(x))),
        }
    }

    /// The results of `any`, `all`, `argmax` and `argmin`, of floats and integers alike. The first NaN wins.
    fn of_order<T: PartialOrd + Default + Copy>(&self, row: &[T]) -> i64 {
        let zero = T::default();
        let is_nan = |x: &T| x.partial_cmp(x).is_none();
        let exceeds = |x: &T, best: &T| match self.kind {
            "argmin" => x < best,
            _ => x > best,
        };
        let beats = |x: &T, best: &T| !is_nan(best) && (is_nan(x) || exceeds(x, best));
        let first = |best: usize, place: usize| {
            if beats(&row[place], &row[best]) {
                place
            } else {
                best
            }
        };
        match self.kind {
            "any" => i64::from(row.iter().any(|x| *x != zero)),
            "all" => i64::from(row.iter().all(|x| *x != zero)),
            _ => {
                let place = (0..row.len()).reduce(first);
                place.map_or(!self.least(), |place| place as i64)
            }
        }
    }

    /// The least integer of the type of `y`.
    fn least(&self) -> i64 {
        let bits = self.element.integer_bits().unwrap_or(64);
        i64::MIN >> (64 - bits)
    }
}

impl Formula for ReduceAxes<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        let extent = |axis: usize| match self.rows.is_along(axis) {
            true => 1,
            false => self.rows.shape()[axis],
        };
        let shape = match self.keepdims {
            true => (0..self.rows.shape().len()).map(extent).collect(),
            false => self.rows.outer_shape(),
        };
        matches!(result, "y" | "mean").then_some(shape)
    }

    fn independent_dims(&self, _result: &str) -> usize {
        self.rows.leading()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.rows.ulps().max(self.x.ulps())
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let rows = indices(region).into_iter().map(|index| self.row_at(&index));
        let is_order = is_of_order(self.kind);
        let x = |index: &[i64]| self.x.elements(&self.rows, index);
        if is_order || !self.element.is_float() {
            let of_row = |index: Vec<i64>| match x(&index) {
                Data::Float { values, .. } => self.of_order(&values),
                Data::Integer { values, .. } if is_order => self.of_order(&values),
                Data::Integer { values, .. } => self.of_integers(&values),
            };
            return Data::integers(rows.map(of_row).collect());
        }
        rows.map(|index| {
            let row = self.x.row(&self.rows, &index);
            match result {
                "mean" => sum(&row) / Scaled::exact(row.len() as f64),
                _ => self.of_floats(&row),
            }
        })
        .collect()
    }
}
