//! Scans, evaluated over a box that covers the whole extent of the dims they run along.

use norma_bundle::program::Step;

use super::combine::{accumulate_in, scan_rows};
use super::evaluate::{Evaluator, Ranges, extents_of};
use super::grid::{Data, Grid, offsets};
use super::values::Cache;
use crate::error::OracleError;

impl Evaluator<'_> {
    /// The result of a scan within `region`.
    pub(super) fn scan(&self, step: usize, region: &Ranges, cache: &mut Cache) -> Result<Grid, OracleError> {
        let Step::Scan {
            combiner,
            exclusive,
            reverse,
            operand,
            along,
            element,
        } = &self.program.steps[step]
        else {
            return Err(OracleError::Kind(step));
        };
        let dims = self.program.steps[step].dims(&self.dims);
        let mut widened = region.to_vec();
        for dim in along {
            widened[*dim] = 0..self.extents[*dim];
        }
        let extents = extents_of(&dims, &widened);
        let operand = self.value(*operand, &widened, cache)?;
        let whole = Grid {
            data: operand.broadcast(&dims, &extents).into_owned(),
            dims: dims.clone(),
            extents,
        };
        let is_along = |dim: &&usize| along.contains(dim);
        let points = |dims: Vec<&usize>| dims.iter().map(|dim| whole.extent(**dim)).product::<usize>();
        let rows = points(dims.iter().filter(is_along).collect());
        let kept = points(dims.iter().filter(|dim| !is_along(dim)).collect());
        // Reversing the rows is its own inverse, so the same gather also restores their order.
        let turned = |data: Data| match reverse {
            true => data.gather(&offsets(
                (rows.max(1) - 1) as i64 * kept as i64,
                &[rows, kept],
                &[-(kept as i64), 1],
            )),
            false => data,
        };
        let by_rows = turned(whole.with_major(along));
        let mut scanned = turned(scan_rows(
            step, combiner, *element, *exclusive, by_rows, rows, kept,
        )?);
        accumulate_in(*element, combiner, &mut scanned);

        // The stride of each dim in `scanned`, in which the dims of the scan are outermost.
        let order = dims
            .iter()
            .filter(is_along)
            .chain(dims.iter().filter(|dim| !is_along(dim)));
        let mut strides = vec![0; dims.len()];
        let mut stride = 1;
        for dim in order.collect::<Vec<_>>().into_iter().rev() {
            if let Some(position) = dims.iter().position(|other| other == dim) {
                strides[position] = stride;
            }
            stride *= whole.extent(*dim) as i64;
        }
        let starts = dims.iter().zip(&strides).filter(|(dim, _)| is_along(dim));
        let base = starts.map(|(dim, stride)| region[*dim].start * stride).sum();
        let extents = extents_of(&dims, region);
        Ok(Grid {
            data: scanned.gather(&offsets(base, &extents, &strides)),
            dims,
            extents,
        })
    }
}
