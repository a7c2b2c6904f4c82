//! How many consecutive registers hold consecutive elements, which bounds the width of one memory access.

use crate::linear::{HardwareDim, LinearLayout};

impl LinearLayout {
    /// The largest `n`, a power of two, for which in every thread each aligned group of `n` registers holds, in order,
    /// an aligned run of `n` elements. `order` lists axes from the fastest; a run goes on along the next axis only
    /// where it covers the earlier ones whole, as it may in a dense row-major tile. Pass a single axis where the
    /// slower ones have strides of their own. Axes not listed do not move within a run.
    pub fn contiguous_elements(&self, order: &[usize]) -> usize {
        let mut run_bits = order.iter().flat_map(|&axis| {
            let extent_bits = self.shape().get(axis).map_or(0, |extent| extent.ilog2());
            (0..extent_bits).map(move |bit| (axis, 1_i32 << bit))
        });
        // Bits of each axis that belong to the run; every other basis has to leave them alone, or runs are not aligned.
        let mut run = vec![0_i32; self.rank()];
        let mut bits = 0;
        for basis in self.bases(HardwareDim::Register) {
            let Some((axis, value)) = run_bits.next() else {
                break;
            };
            let moves_only_that_bit = basis
                .iter()
                .enumerate()
                .all(|(i, &moved)| moved == if i == axis { value } else { 0 });
            if !moves_only_that_bit {
                break;
            }
            run[axis] |= value;
            if self.overlaps_outside(&run, bits + 1) {
                break;
            }
            bits += 1;
        }
        1 << bits
    }

    fn overlaps_outside(&self, run: &[i32], run_registers: usize) -> bool {
        HardwareDim::ALL.iter().any(|&dim| {
            let skipped = if dim == HardwareDim::Register {
                run_registers
            } else {
                0
            };
            let mut outside = self.bases(dim).iter().skip(skipped);
            outside.any(|basis| basis.iter().zip(run).any(|(moved, in_run)| moved & in_run != 0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::HardwareIndex;
    use crate::sampling::any_layout;
    use proptest::prelude::*;

    fn row(register: &[i32], lane: &[i32]) -> LinearLayout {
        let bases = |values: &[i32]| values.iter().map(|&value| vec![value]).collect();
        LinearLayout::new([bases(register), bases(lane), vec![], vec![]], vec![16]).unwrap()
    }

    #[test]
    fn a_run_ends_where_registers_leave_the_axis() {
        assert_eq!(row(&[1, 2], &[4, 8]).contiguous_elements(&[0]), 4);
        assert_eq!(row(&[1, 8], &[2, 4]).contiguous_elements(&[0]), 2);
        assert_eq!(row(&[2, 1], &[4, 8]).contiguous_elements(&[0]), 1);
    }

    #[test]
    fn a_lane_that_swaps_within_a_run_breaks_it() {
        assert_eq!(row(&[1, 2], &[4 | 2, 8]).contiguous_elements(&[0]), 2);
    }

    #[test]
    fn a_run_continues_on_the_next_axis_once_the_first_is_whole() {
        let bases = vec![vec![0, 1], vec![0, 2], vec![1, 0]];
        let layout = LinearLayout::new([bases, vec![], vec![], vec![]], vec![2, 4]).unwrap();
        assert_eq!(layout.contiguous_elements(&[1, 0]), 8);
        assert_eq!(layout.contiguous_elements(&[1]), 4);
        assert_eq!(layout.contiguous_elements(&[0, 1]), 1);
    }

    fn runs_are_aligned(layout: &LinearLayout, axis: usize, width: usize) -> bool {
        layout
            .indices()
            .filter(|index| index.register % width == 0)
            .all(|index| {
                let start = layout.apply(index);
                start[axis] % width as i64 == 0
                    && (0..width).all(|i| {
                        let mut expected = start.clone();
                        expected[axis] += i as i64;
                        layout.apply(HardwareIndex {
                            register: index.register + i,
                            ..index
                        }) == expected
                    })
            })
    }

    proptest! {
        #[test]
        fn the_run_is_the_longest_by_brute_force(layout in any_layout(), pick in 0usize..3) {
            let axis = pick % layout.rank();
            let mut longest = 1;
            while longest * 2 <= layout.num_registers() && runs_are_aligned(&layout, axis, longest * 2) {
                longest *= 2;
            }
            prop_assert_eq!(layout.contiguous_elements(&[axis]), longest);
        }
    }
}
