//! Division of a tensor into blocks, each of which has one number such as a scale, and packing of two 4-bit numbers into a
//! byte.

use std::ops::Range;

use super::rows::indices;
use super::scale_layout::ScaleLayout;
use crate::tensor::Tensor;

/// How a tensor is divided into blocks.
pub struct Blocks {
    shape: Vec<i64>,
    /// The extent of a block along each axis, where the last block may be shorter; the whole extent along an axis that is not divided.
    sizes: Vec<i64>,
    /// The axes along which blocks are numbered: those with a block size.
    numbering: Vec<usize>,
}

impl Blocks {
    /// Divides a tensor of that shape as the attribute `block` says: a block size for each axis, which need not divide the
    /// extent, 0 for an axis that is not divided; an empty list makes the tensor one block.
    pub fn of(shape: &[i64], block: &[i64]) -> Result<Self, String> {
        if !block.is_empty() && block.len() != shape.len() {
            return Err(format!("expected blocks of {shape:?}, got {block:?}"));
        }
        let size = |axis: usize| block.get(axis).copied().unwrap_or(0);
        let numbering: Vec<usize> = (0..shape.len()).filter(|axis| size(*axis) > 0).collect();
        let sizes = shape.iter().enumerate().map(|(axis, extent)| match size(axis) {
            0 => *extent,
            size => size,
        });
        Ok(Blocks {
            sizes: sizes.collect(),
            shape: shape.to_vec(),
            numbering,
        })
    }

    /// The shape of the tensor.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The shape of a tensor with one number per block.
    pub fn numbers_shape(&self) -> Vec<i64> {
        let numbering = self.numbering.iter();
        let blocks = numbering.map(|axis| {
            let (extent, size) = (self.shape[*axis].unsigned_abs(), self.sizes[*axis].unsigned_abs());
            extent.div_ceil(size) as i64
        });
        blocks.collect()
    }

    /// Checks that a tensor has one number per block, in that layout.
    pub fn check(&self, name: &str, tensor: &Tensor, layout: ScaleLayout) -> Result<(), String> {
        let expected = layout.stored_shape(&self.numbers_shape());
        match tensor.layout.shape == expected {
            true => Ok(()),
            false => Err(format!(
                "expected '{name}' of shape {expected:?}, got {:?}",
                tensor.layout.shape
            )),
        }
    }

    /// The block of the element at `index`.
    pub fn block_of(&self, index: &[i64]) -> Vec<i64> {
        let numbering = self.numbering.iter();
        numbering.map(|axis| index[*axis] / self.sizes[*axis]).collect()
    }

    /// The indices of a block's elements.
    pub fn elements(&self, block: &[i64]) -> Vec<Vec<i64>> {
        let mut region: Vec<Range<i64>> = self.shape.iter().map(|extent| 0..*extent).collect();
        for (axis, number) in self.numbering.iter().zip(block) {
            let end = (number + 1) * self.sizes[*axis];
            region[*axis] = number * self.sizes[*axis]..end.min(self.shape[*axis]);
        }
        indices(&region)
    }
}

/// The shape of a packed tensor, each element of which holds two neighbours along the last axis of a tensor of that shape.
pub fn pairs_shape(shape: &[i64]) -> Vec<i64> {
    with_last(shape, |extent| extent / 2)
}

/// The shape of the numbers that a packed tensor of that shape holds; the inverse of [`pairs_shape`].
pub fn unpaired_shape(shape: &[i64]) -> Vec<i64> {
    with_last(shape, |extent| extent * 2)
}

/// The index of the packed element that holds a number, and the number's place in it, 0 or 1.
pub fn place_in_pair(index: &[i64]) -> (Vec<i64>, i64) {
    let place = index.last().map_or(0, |last| last % 2);
    (with_last(index, |last| last / 2), place)
}

/// The indices of the two numbers that a packed element holds.
pub fn numbers_of_pair(pair: &[i64]) -> [Vec<i64>; 2] {
    [0, 1].map(|place| with_last(pair, |last| last * 2 + place))
}

fn with_last(numbers: &[i64], change: impl FnOnce(i64) -> i64) -> Vec<i64> {
    let mut changed = numbers.to_vec();
    if let Some(last) = changed.last_mut() {
        *last = change(*last);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_without_a_number_lie_within_blocks() {
        let blocks = Blocks::of(&[3, 8, 4], &[1, 4, 0]).unwrap();
        assert_eq!(blocks.numbers_shape(), [3, 2]);
        assert_eq!(blocks.block_of(&[2, 5, 3]), [2, 1]);
        assert_eq!(blocks.elements(&[2, 1]).len(), 16);
        assert_eq!(blocks.elements(&[2, 1])[4], [2, 5, 0]);
        assert!(Blocks::of(&[3], &[]).unwrap().numbers_shape().is_empty());
    }

    #[test]
    fn the_last_block_may_be_shorter() {
        let blocks = Blocks::of(&[3, 8], &[2, 4]).unwrap();
        assert_eq!(blocks.numbers_shape(), [2, 2]);
        assert_eq!(blocks.block_of(&[2, 3]), [1, 0]);
        assert_eq!(blocks.elements(&[1, 0]), [[2, 0], [2, 1], [2, 2], [2, 3]]);
    }
}
