//! Elements of an input at computed coordinates.

use norma_bundle::program::Step;

use super::evaluate::{Evaluator, Ranges, extents_of};
use super::grid::{Data, Grid};
use super::values::Cache;
use crate::error::OracleError;

impl Evaluator<'_> {
    /// The elements that a gather defines within `region`, zero where a coordinate lies outside of the tensor, and whether none does.
    pub(super) fn gather(
        &self,
        step: usize,
        region: &Ranges,
        cache: &mut Cache,
    ) -> Result<[Grid; 2], OracleError> {
        let wrong = || OracleError::Kind(step);
        let Step::Gather {
            tensor,
            coordinates,
            element,
        } = &self.program.steps[step]
        else {
            return Err(wrong());
        };
        let unbound = || OracleError::Unbound(tensor.to_owned());
        let input = self.inputs.get(tensor).ok_or_else(unbound)?;
        let dims = self.program.steps[step].dims(&self.dims);
        let extents = extents_of(&dims, region);
        let points = extents.iter().product();
        let mut places = vec![0; points];
        let mut is_inside = vec![true; points];
        let mut is_open = vec![false; points];
        let axes = input.layout.shape.iter().zip(&input.layout.strides);
        for (coordinate, (extent, stride)) in coordinates.iter().zip(axes) {
            let grid = self.value(*coordinate, region, cache)?;
            let data = grid.broadcast(&dims, &extents);
            let Data::Integer { values, slacks } = data.as_ref() else {
                return Err(wrong());
            };
            for point in 0..points {
                is_inside[point] &= (0..*extent).contains(&values[point]);
                is_open[point] |= slacks[point] != 0;
                places[point] += values[point].wrapping_mul(*stride);
            }
        }
        let inside = places.iter().zip(&is_inside);
        let inside: Vec<i64> = inside
            .filter(|(_, is_inside)| **is_inside)
            .map(|(place, _)| *place)
            .collect();
        let found = input.at(&inside).ok_or_else(unbound)?;
        // Each point's place among the elements that were found; the zero is behind them.
        let end = inside.len() as i64;
        let mut next = 0..end;
        let of_points = is_inside.iter().map(|inside| match inside {
            true => next.next().unwrap_or(end),
            false => end,
        });
        let of_points: Vec<i64> = of_points.collect();
        let zero = match element.integer_bits() {
            None => Data::exact(vec![0.0]),
            Some(_) => Data::integers(vec![0]),
        };
        let mut data = found.append(zero).gather(&of_points);
        let mut flags = Data::integers(is_inside.iter().map(|inside| i64::from(*inside)).collect());
        // A coordinate that the program leaves open may be any.
        for (point, _) in is_open.iter().enumerate().filter(|(_, is_open)| **is_open) {
            data.leave_open(point);
            flags.leave_open(point);
        }
        let grid = |data| Grid {
            dims: dims.clone(),
            extents: extents.clone(),
            data,
        };
        Ok([grid(data), grid(flags)])
    }
}
