//! The guards of a program: which points of a box of its space there are.
//!
//! Grids hold a value for every point of a box, those that do not exist included. What such a value is does not matter: a read takes some
//! element of its tensor, a reduction puts the combiner's identity in its place, and a store leaves it out.

use std::collections::BTreeMap;

use norma_bundle::expression::Expression;
use norma_bundle::program::{Program, dim_of_symbol, dims_of_access};

use super::evaluate::{Evaluator, Ranges, extents_of};
use crate::error::OracleError;

impl Evaluator<'_> {
    /// For each point of `region` over `dims`, row-major, whether it exists; `None` if no guard concerns these dims.
    pub(crate) fn existing(&self, dims: &[usize], region: &Ranges) -> Result<Option<Vec<bool>>, OracleError> {
        let guards: Vec<&[Expression; 2]> = self.program.guards_over(dims).collect();
        if guards.is_empty() {
            return Ok(None);
        }
        let extents = extents_of(dims, region);
        let mut point: BTreeMap<usize, i64> = dims.iter().map(|dim| (*dim, region[*dim].start)).collect();
        let count = extents.iter().product::<usize>();
        let mut existing = Vec::with_capacity(count);
        for _ in 0..count {
            let value_of = |name: &str| match dim_of_symbol(name) {
                Some(dim) => point.get(&dim).copied(),
                None => self.sizes.get(name).copied(),
            };
            let mut holds = true;
            for [lhs, rhs] in &guards {
                holds &= lhs.evaluate(&value_of)? < rhs.evaluate(&value_of)?;
            }
            existing.push(holds);
            for dim in dims.iter().rev() {
                let next = point.entry(*dim).or_default();
                *next += 1;
                if *next < region[*dim].end {
                    break;
                }
                *next = region[*dim].start;
            }
        }
        Ok(Some(existing))
    }
}

/// The dims that a reduction over `over` of values over `dims` has to tell apart, ascending: those of the values, and those of the guards
/// that concern it.
pub(super) fn told_apart(program: &Program, dims: &[usize], over: &[usize]) -> Vec<usize> {
    let known = [dims, over].concat();
    let guarded = program
        .guards_over(&known)
        .flat_map(|guard| dims_of_access(guard));
    let mut all: Vec<usize> = dims.iter().copied().chain(guarded).collect();
    all.sort_unstable();
    all.dedup();
    all
}
