//! `nth` reductions: the distinct values over some dims in sorted order, numbered along another dim.

use norma_bundle::program::{Combiner, Step};

use super::evaluate::{Evaluator, Ranges, extents_of};
use super::grid::{Data, Grid, offsets};
use super::values::Cache;
use crate::error::OracleError;

impl Evaluator<'_> {
    /// The result within `region`: at coordinate i of the numbering dim, the i-th distinct value.
    pub(super) fn nth(&self, step: usize, region: &Ranges, cache: &mut Cache) -> Result<Grid, OracleError> {
        let wrong = || OracleError::Kind(step);
        let Step::Nth {
            combiner,
            operand,
            over,
            nth,
            element,
        } = &self.program.steps[step]
        else {
            return Err(wrong());
        };
        let mut widened = region.to_vec();
        for dim in over {
            widened[*dim] = 0..self.extents[*dim];
        }
        let bits = element.integer_bits().ok_or_else(wrong)?;
        let is_ascending = *combiner == Combiner::Min;
        let end = if is_ascending { i64::MAX } else { i64::MIN } >> (64 - bits);
        let of_operand = self.dims[*operand].clone();
        let extents = extents_of(&of_operand, &widened);
        let grid = self.value(*operand, &widened, cache)?;
        let whole = Grid {
            data: grid.broadcast(&of_operand, &extents).into_owned(),
            dims: of_operand,
            extents,
        };
        let kept_dims = whole.dims.iter().copied().filter(|dim| !over.contains(dim));
        let kept_dims = kept_dims.collect::<Vec<_>>();
        let kept = kept_dims.iter().map(|dim| whole.extent(*dim)).product::<usize>();
        let Data::Integer { values, slacks } = whole.with_major(over) else {
            return Err(wrong());
        };
        // If a reduced dim has no points there are no values, even if the operand does not vary over it.
        let is_empty = over.iter().any(|dim| self.extents[*dim] == 0);
        let (mut found, mut open) = (Vec::new(), Vec::new());
        for place in 0..kept {
            let of_place = |all: &[i64]| all.iter().skip(place).step_by(kept).copied().collect::<Vec<_>>();
            let mut ordered = if is_empty { Vec::new() } else { of_place(&values) };
            ordered.sort_unstable();
            ordered.dedup();
            if !is_ascending {
                ordered.reverse();
            }
            // A value that may be off at all may take any place in the order.
            let is_open = slacks.iter().skip(place).step_by(kept).any(|slack| *slack != 0);
            for index in region[*nth].clone() {
                let value = usize::try_from(index).ok().and_then(|index| ordered.get(index));
                found.push(value.copied().unwrap_or(end));
                open.push(if is_open { u64::MAX } else { 0 });
            }
        }
        let data = Data::Integer {
            values: found,
            slacks: open,
        };
        // In `data` the numbering dim varies fastest.
        let dims = self.program.steps[step].dims(&self.dims);
        let extents = extents_of(&dims, region);
        let found_dims = [kept_dims.as_slice(), &[*nth]].concat();
        let found_extents = extents_of(&found_dims, region);
        let stride = |dim: &usize| {
            let position = found_dims.iter().position(|other| other == dim)?;
            Some(found_extents[position + 1..].iter().product::<usize>() as i64)
        };
        let strides = dims
            .iter()
            .map(stride)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(wrong)?;
        Ok(Grid {
            data: data.gather(&offsets(0, &extents, &strides)),
            dims,
            extents,
        })
    }
}
