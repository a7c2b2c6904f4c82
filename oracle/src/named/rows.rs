//! Rows: what ops that normalize over the last axes of a tensor walk.

use std::ops::Range;

use crate::program::grid::offsets;
use crate::scaled::Scaled;
use crate::tensor::Tensor;

/// The axes of a tensor, split into those that number its rows and those that a row lies along.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The extents of the leading axes.
    pub leading: Vec<i64>,
    /// The extents of the axes of a row.
    pub row: Vec<i64>,
}

impl Rows {
    /// Rows over the last `axes` axes of `shape`, of which there is at least one.
    pub fn last(axes: i64, shape: &[i64]) -> Result<Rows, String> {
        let split = usize::try_from(axes)
            .ok()
            .filter(|axes| *axes > 0)
            .and_then(|axes| shape.len().checked_sub(axes));
        let split = split.ok_or_else(|| format!("expected axes from 1 to {}, got {axes}", shape.len()))?;
        Ok(Rows {
            leading: shape[..split].to_vec(),
            row: shape[split..].to_vec(),
        })
    }

    /// The elements of a row.
    pub fn length(&self) -> i64 {
        self.row.iter().product()
    }

    /// The rows within `region`, the leading part of a tensor's, row-major: each as the index of its leading axes.
    pub fn within(region: &[Range<i64>]) -> Vec<Vec<i64>> {
        region.iter().fold(vec![Vec::new()], |rows, range| {
            let extended = |row: Vec<i64>| range.clone().map(move |index| [&row[..], &[index]].concat());
            rows.into_iter().flat_map(extended).collect()
        })
    }

    /// The positions in a row, counted row-major, of the elements within `region`, the trailing part of a tensor's.
    pub fn positions(&self, region: &[Range<i64>]) -> Vec<usize> {
        let mut strides = vec![1; self.row.len()];
        for axis in (1..self.row.len()).rev() {
            strides[axis - 1] = strides[axis] * self.row[axis];
        }
        let start = region
            .iter()
            .zip(&strides)
            .map(|(range, stride)| range.start * stride)
            .sum();
        let extents: Vec<usize> = region
            .iter()
            .map(|range| (range.end - range.start).max(0) as usize)
            .collect();
        let places = offsets(start, &extents, &strides);
        places.into_iter().map(|place| place as usize).collect()
    }

    /// The elements of the row of `tensor` at `index`. Binding made sure that they lie in its memory.
    pub fn read(&self, tensor: &Tensor<'_>, index: &[i64]) -> Vec<Scaled> {
        let leading = index.iter().map(|index| *index..index + 1);
        let row = self.row.iter().map(|extent| 0..*extent);
        let region: Vec<Range<i64>> = leading.chain(row).collect();
        tensor.floats(&region).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_along_the_last_axes() {
        let rows = Rows::last(2, &[4, 3, 5]).unwrap();
        assert_eq!((rows.leading.as_slice(), rows.length()), (&[4][..], 15));
        assert_eq!(rows.positions(&[1..2, 2..5]), [7, 8, 9]);
        assert_eq!(rows.positions(&[0..3, 0..5]), (0..15).collect::<Vec<_>>());
        assert!(Rows::last(4, &[4, 3, 5]).is_err() && Rows::last(0, &[4]).is_err());
    }

    #[test]
    fn rows_are_numbered_row_major() {
        assert_eq!(Rows::within(&[1..3, 0..2]), [[1, 0], [1, 1], [2, 0], [2, 1]]);
        assert_eq!(Rows::within(&[]), [Vec::<i64>::new()]);
        assert!(Rows::within(&[0..2, 3..3]).is_empty());
    }
}
