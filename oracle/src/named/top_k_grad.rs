//! `top_k_grad`: `indices` are the positions that `dvalues` were taken from in rows of `elements` elements along `axis`,
//!
//! ```text
//! dx[n] = the sum of all dvalues[j] with indices[j] = n
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use super::rows::{Operand, Rows, indices, position};
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::{Scaled, sum};

struct TopKGrad<'a> {
    /// The rows of `dvalues`.
    rows: Rows,
    dvalues: Operand<'a>,
    indices: Operand<'a>,
    axis: usize,
    elements: i64,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let dvalues = call.operand("dvalues")?;
    let indices = call.optional_integers("indices")?;
    let axis = call.integer("axis")?;
    let rows = Rows::along(&[axis], &dvalues.layout.shape)?;
    Ok(Box::new(TopKGrad {
        axis: position(axis, &dvalues.layout.shape)?,
        dvalues: rows.whole("dvalues", dvalues)?,
        indices: rows.whole("indices", indices.ok_or("expected an operand 'indices'")?)?,
        rows,
        elements: call.integer("elements")?,
    }))
}

impl TopKGrad<'_> {
    /// The gradient at each position of a row that was taken; the others have none.
    fn of_row(&self, index: &[i64]) -> BTreeMap<i64, Scaled> {
        let mut taken: BTreeMap<i64, Vec<Scaled>> = BTreeMap::new();
        let places = self.indices.integers(&self.rows, index);
        for (place, dvalue) in places.into_iter().zip(self.dvalues.row(&self.rows, index)) {
            taken.entry(place).or_default().push(dvalue);
        }
        let summed = taken.into_iter().map(|(place, dvalues)| (place, sum(&dvalues)));
        summed.collect()
    }
}

impl Formula for TopKGrad<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        let mut shape = self.rows.shape().to_vec();
        shape[self.axis] = self.elements;
        (result == "dx").then_some(shape)
    }

    fn independent_dims(&self, _result: &str) -> usize {
        self.rows.leading()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.rows.ulps().max(self.dvalues.ulps())
    }

    fn evaluate(&self, _result: &str, region: &[Range<i64>]) -> Data {
        let mut rows = BTreeMap::new();
        let element = |mut index: Vec<i64>| {
            let place = index.remove(self.axis);
            let row = rows
                .entry(index)
                .or_insert_with_key(|index: &Vec<i64>| self.of_row(index));
            row.get(&place).copied().unwrap_or(Scaled::exact(0.0))
        };
        indices(region).into_iter().map(element).collect()
    }
}
