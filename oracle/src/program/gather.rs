//! Elements of tensors at computed coordinates: those that are read, and where others are written.

use norma_bundle::program::{Step, Value};

use super::evaluate::{Evaluator, Ranges, extents_of};
use super::grid::{Data, Grid};
use super::values::Cache;
use crate::error::OracleError;
use crate::layout::Layout;

/// Where an access at computed coordinates reaches a tensor, for each point of some dims.
pub(super) struct Places {
    /// The offset in memory, in elements.
    pub offsets: Vec<i64>,
    /// Whether the element is accessed: the condition holds, and all coordinates lie within the tensor.
    pub is_inside: Vec<bool>,
    /// Whether the program leaves open which element that is, or whether it is accessed.
    pub is_open: Vec<bool>,
}

impl Evaluator<'_> {
    /// Where the points of `dims` within `region` reach a tensor of `layout`. `step` is that of the access.
    pub(super) fn places(
        &self,
        step: usize,
        (coordinates, condition): (&[Value], Option<Value>),
        layout: &Layout,
        (dims, region): (&[usize], &Ranges),
        cache: &mut Cache,
    ) -> Result<Places, OracleError> {
        let extents = extents_of(dims, region);
        let points = extents.iter().product();
        let mut found = Places {
            offsets: vec![0_i64; points],
            is_inside: vec![true; points],
            is_open: vec![false; points],
        };
        let mut each = |value: Value, use_of: &mut dyn FnMut(&mut Places, usize, i64)| {
            let grid = self.value(value, region, cache)?;
            let data = grid.broadcast(dims, &extents);
            let Data::Integer { values, slacks } = data.as_ref() else {
                return Err(OracleError::Kind(step));
            };
            for point in 0..points {
                found.is_open[point] |= slacks[point] != 0;
                use_of(&mut found, point, values[point]);
            }
            Ok(())
        };
        let axes = layout.shape.iter().zip(&layout.strides);
        for (coordinate, (extent, stride)) in coordinates.iter().zip(axes) {
            each(*coordinate, &mut |found, point, value| {
                found.is_inside[point] &= (0..*extent).contains(&value);
                found.offsets[point] = found.offsets[point].wrapping_add(value.wrapping_mul(*stride));
            })?;
        }
        if let Some(condition) = condition {
            each(condition, &mut |found, point, value| {
                found.is_inside[point] &= value != 0
            })?;
        }
        Ok(found)
    }

    /// The elements that a gather defines within `region`, zero where nothing is read, and whether they were read.
    pub(super) fn gather(
        &self,
        step: usize,
        region: &Ranges,
        cache: &mut Cache,
    ) -> Result<[Grid; 2], OracleError> {
        let Step::Gather {
            tensor,
            coordinates,
            condition,
            element,
        } = &self.program.steps[step]
        else {
            return Err(OracleError::Kind(step));
        };
        let unbound = || OracleError::Unbound(tensor.to_owned());
        let input = self.inputs.get(tensor).ok_or_else(unbound)?;
        let dims = self.program.steps[step].dims(&self.dims);
        let extents = extents_of(&dims, region);
        let places = self.places(
            step,
            (coordinates, *condition),
            &input.layout,
            (&dims, region),
            cache,
        )?;
        let inside = places.offsets.iter().zip(&places.is_inside);
        let inside: Vec<i64> = inside
            .filter(|(_, is_inside)| **is_inside)
            .map(|(offset, _)| *offset)
            .collect();
        let found = input.at(&inside).ok_or_else(unbound)?;
        // Each point's place among the elements that were found; the zero is behind them.
        let end = inside.len() as i64;
        let mut next = 0..end;
        let of_points = places.is_inside.iter().map(|inside| match inside {
            true => next.next().unwrap_or(end),
            false => end,
        });
        let of_points: Vec<i64> = of_points.collect();
        let zero = match element.integer_bits() {
            None => Data::exact(vec![0.0]),
            Some(_) => Data::integers(vec![0]),
        };
        let mut data = found.append(zero).gather(&of_points);
        let flags = places.is_inside.iter().map(|inside| i64::from(*inside));
        let mut flags = Data::integers(flags.collect());
        // What is accessed may be any element.
        for (point, _) in places.is_open.iter().enumerate().filter(|(_, is_open)| **is_open) {
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
