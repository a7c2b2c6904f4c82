//! Scanning along an axis, coordinate bit by coordinate bit.
//!
//! Two scans of `2^k` elements become one of `2^(k + 1)` when the elements of the upper half are combined with the total of the
//! lower half. The two halves have to differ in one bit of the hardware index: they are two registers of a thread, two lanes of a
//! warp or two warps. So a layout can be scanned along an axis if each coordinate bit of the axis is one such bit, and no other
//! (Sklansky, Conditional-Sum Addition Logic, 1960).

use crate::error::LayoutError;
use crate::linear::{HardwareDim, LinearLayout};

/// The bit of the hardware index in which two elements differ whose coordinates differ in one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanStep {
    /// The level of this bit.
    pub dim: HardwareDim,
    /// The bit as a mask of the level's index. It is set for the later of the two elements.
    pub mask: usize,
}

impl LinearLayout {
    /// Returns for each bit of the coordinate along `axis`, from the lowest on, the bit of the hardware index that it is.
    ///
    /// # Errors
    /// If there is no such axis, or a bit of it is not one bit of the hardware index alone.
    pub fn scan(&self, axis: usize) -> Result<Vec<ScanStep>, LayoutError> {
        self.check_axis(axis)?;
        let bases = HardwareDim::ALL.into_iter().flat_map(|dim| {
            let of_dim = self.bases(dim).iter().enumerate();
            of_dim.map(move |(bit, basis)| (ScanStep { dim, mask: 1 << bit }, basis))
        });
        let moving = bases.filter(|(_, basis)| basis[axis] != 0).collect::<Vec<_>>();
        let is_alone = |basis: &[i32]| basis.iter().filter(|value| **value != 0).count() == 1;
        let step = |bit: u32| {
            let mut sets = moving.iter().filter(|(_, basis)| basis[axis] >> bit & 1 == 1);
            match (sets.next(), sets.next()) {
                (Some((step, basis)), None) if basis[axis] == 1 << bit && is_alone(basis) => Ok(*step),
                _ => Err(LayoutError::EntangledAxis { axis }),
            }
        };
        (0..self.shape()[axis].ilog2()).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocked::BlockedParams;

    fn step(dim: HardwareDim, mask: usize) -> ScanStep {
        ScanStep { dim, mask }
    }

    #[test]
    fn bits_of_a_row_are_registers_lanes_and_warps() {
        let params = BlockedParams {
            size_per_thread: vec![1, 2],
            threads_per_warp: vec![8, 4],
            warps_per_cta: vec![1, 2],
            ctas_per_cluster: vec![1, 1],
            order: vec![1, 0],
        };
        let layout = LinearLayout::blocked(&params, &[8, 32]).unwrap();
        let steps = layout.scan(1).unwrap();
        let expected = [
            step(HardwareDim::Register, 1),
            step(HardwareDim::Lane, 1),
            step(HardwareDim::Lane, 2),
            step(HardwareDim::Warp, 1),
            step(HardwareDim::Register, 2),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_step_is_to_the_element_whose_coordinate_differs_in_the_bit() {
        let params = BlockedParams {
            size_per_thread: vec![2, 4],
            threads_per_warp: vec![4, 8],
            warps_per_cta: vec![2, 2],
            ctas_per_cluster: vec![1, 1],
            order: vec![1, 0],
        };
        let layout = LinearLayout::blocked(&params, &[32, 128]).unwrap();
        for axis in 0..2 {
            for (bit, step) in layout.scan(axis).unwrap().into_iter().enumerate() {
                for index in layout.indices() {
                    let mut other = index;
                    match step.dim {
                        HardwareDim::Register => other.register ^= step.mask,
                        HardwareDim::Lane => other.lane ^= step.mask,
                        HardwareDim::Warp => other.warp ^= step.mask,
                        HardwareDim::Block => other.block ^= step.mask,
                    }
                    let mut expected = layout.apply(index);
                    expected[axis] ^= 1 << bit;
                    assert_eq!(layout.apply(other), expected, "axis {axis} bit {bit}");
                }
            }
        }
    }

    #[test]
    fn bits_that_levels_share_cannot_be_scanned() {
        // A lane differs from its neighbour in both bits of the axis.
        let bases = [vec![vec![1]], vec![vec![3]], Vec::new(), Vec::new()];
        let layout = LinearLayout::new(bases, vec![4]).unwrap();
        assert_eq!(layout.scan(0), Err(LayoutError::EntangledAxis { axis: 0 }));
    }
}
