//! How the threads of a CTA copy a tile to or from shared memory together.
//!
//! A warp copies whole runs of memory at a time: neighbouring threads have neighbouring vectors, and a tile that is larger than
//! what all threads cover once repeats in further registers. The bits of an element's offset are thus assigned to the bits within a
//! vector, to lanes, to warps and to the rest of the registers, in this order; the layout is the inverse of the memory's offset map
//! on these bits.

use crate::bits::{Span, set_bits};
use crate::error::LayoutError;
use crate::linear::{Basis, LinearLayout, log2_of};
use crate::shared::OffsetMap;

/// log2 of the lanes of a warp.
const LANE_BITS: usize = 5;

impl OffsetMap {
    /// Returns the layout in which the threads of `warps` warps copy the tile, `vector` elements that are neighbours in memory at a
    /// time. If the tile is smaller than what all threads cover, the remaining threads hold copies.
    ///
    /// # Errors
    /// If `vector` or `warps` is no power of two, or two elements have the same offset.
    pub fn cooperative_copy(&self, vector: i64, warps: i64) -> Result<LinearLayout, LayoutError> {
        let vector_bits = log2_of("vector", vector)?;
        let warp_bits = log2_of("warps", warps)?;
        let rank = self.shape().len();
        let of_axis = |axis: usize| (0..self.bases(axis).len()).map(move |bit| (axis, bit));
        let units = (0..rank).flat_map(of_axis).collect::<Vec<_>>();
        let span = Span::of(units.iter().map(|&(axis, bit)| self.bases(axis)[bit] as u64));
        let coordinate = |bit: u32| {
            let mut basis = vec![0; rank];
            for unit in set_bits(span.express(1 << bit)?) {
                let (axis, bit) = units[unit];
                basis[axis] |= 1 << bit;
            }
            Some(basis)
        };
        let mut coordinates = (0..self.size().ilog2()).filter_map(coordinate);
        let mut take = |bits: usize| coordinates.by_ref().take(bits).collect::<Vec<Basis>>();
        let mut registers = take(vector_bits);
        let [lanes, warps] = [LANE_BITS, warp_bits].map(|bits| {
            let mut bases = take(bits);
            bases.resize(bits, vec![0; rank]);
            bases
        });
        registers.extend(coordinates);
        LinearLayout::new([registers, lanes, warps, Vec::new()], self.shape().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use crate::shared::{SharedLayout, Swizzle};

    #[test]
    fn neighbouring_threads_have_neighbouring_vectors() {
        let memory = SharedLayout::plain(&[2, 512], &[1, 0]).unwrap();
        let layout = memory.offset_map().unwrap().cooperative_copy(4, 2).unwrap();
        assert_eq!(
            layout.to_string(),
            "[2, 512] register = [(0, 1), (0, 2), (0, 256), (1, 0)], lane = [(0, 4), (0, 8), (0, 16), (0, 32), (0, 64)], \
             warp = [(0, 128)]"
        );
    }

    #[test]
    fn vectors_go_on_along_the_next_axis() {
        let memory = SharedLayout::plain(&[4, 8], &[0, 1]).unwrap();
        let layout = memory.offset_map().unwrap().cooperative_copy(8, 2).unwrap();
        assert_eq!(
            layout.to_string(),
            "[4, 8] register = [(1, 0), (2, 0), (0, 1)], lane = [(0, 2), (0, 4), (0, 0), (0, 0), (0, 0)], warp = [(0, 0)]"
        );
    }

    #[test]
    fn what_is_copied_lies_side_by_side_in_any_memory() {
        let swizzle = Swizzle {
            vec: 4,
            per_phase: 1,
            max_phase: 8,
        };
        let memory = SharedLayout::swizzled(&[16, 32], &[1, 0], swizzle).unwrap();
        let offsets = memory.offset_map().unwrap();
        let layout = offsets.cooperative_copy(4, 4).unwrap();
        let in_memory = layout.compose(&offsets).unwrap();
        assert_eq!(in_memory.contiguous_elements(&[0]), 4);
        assert!(layout.is_injective());
    }
}
