//! Shared-memory layouts, plain or swizzled, and what a warp's access to them costs in bank conflicts.
//!
//! Both number elements with the axes in `order`, the fastest first. A swizzle permutes groups of `vec` elements along
//! the fastest axis by a phase taken from the next one, as Triton's and Gluon's `SwizzledSharedLayout` does:
//! `group' = group ^ ((row / per_phase) % max_phase)`. That is linear over GF(2), so a swizzled access is the
//! composition of two linear maps; padding is not, and has no linear form.
//!
//! Shared memory has 32 banks of 4 bytes; successive words lie in successive banks (CUDA C++ Programming Guide,
//! "Shared Memory", compute capability 5.x and later). A wavefront serves one word per bank; several lanes may read
//! the same word. Accesses of up to 4 bytes are served a warp at a time, of 8 bytes a half-warp, of 16 bytes a
//! quarter-warp, so the cost in wavefronts is the sum over these parts of the largest number of distinct words in one
//! bank. (Hardware may merge parts that read the same words, so this is an upper bound where data is replicated.)

use std::collections::HashSet;

use crate::bits::set_bits;
use crate::error::LayoutError;
use crate::linear::{Basis, HardwareIndex, LinearLayout, check_order, log2_of};

/// Banks of shared memory.
pub(crate) const BANKS: u64 = 32;
/// Bytes of a bank's word.
pub const WORD_BYTES: u64 = 4;
/// log2 of the most elements of a buffer: far more than any shared memory, and offsets still fit an `i32` basis.
const MAX_TILE_BITS: usize = 30;
/// Bytes that a wavefront serves at most.
pub const WAVEFRONT_BYTES: u64 = BANKS * WORD_BYTES;

/// An XOR permutation of groups along the fastest axis; all three are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Swizzle {
    /// Elements that stay together.
    pub vec: i64,
    /// Successive rows that share a phase.
    pub per_phase: i64,
    /// The number of phases; 1 is no swizzle.
    pub max_phase: i64,
}

/// Unused elements that move later ones to other banks; or, if negative, as many at the end of each run that share their places
/// with the first ones of the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Padding {
    /// After how many elements; a power of two.
    pub interval: i64,
    /// How many elements.
    pub amount: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Arrangement {
    Dense,
    Linear(OffsetMap),
    Swizzled(Swizzle),
    Padded(Padding),
}

/// Where the elements of a tile lie in a shared-memory buffer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SharedLayout {
    shape: Vec<i64>,
    order: Vec<usize>,
    arrangement: Arrangement,
}

impl SharedLayout {
    /// A dense buffer.
    ///
    /// # Errors
    /// If an extent is no power of two, the tile has more than 2^30 elements or `order` is no permutation.
    pub fn plain(shape: &[i64], order: &[usize]) -> Result<Self, LayoutError> {
        let mut bits = 0;
        for &extent in shape {
            bits += log2_of("a tile extent", extent)?;
        }
        if bits > MAX_TILE_BITS {
            return Err(LayoutError::TooLarge {
                what: "shared-memory offset",
                limit: MAX_TILE_BITS,
                got: bits,
            });
        }
        check_order(shape.len(), order)?;
        Ok(Self {
            shape: shape.to_vec(),
            order: order.to_vec(),
            arrangement: Arrangement::Dense,
        })
    }

    /// A buffer with gaps, or with runs that overlap.
    ///
    /// # Errors
    /// As [`Self::plain`], and if the interval is no power of two or runs begin at the same place.
    pub fn padded(shape: &[i64], order: &[usize], padding: Padding) -> Result<Self, LayoutError> {
        log2_of("the padding interval", padding.interval)?;
        let Padding { interval, amount } = padding;
        if interval + amount < 1 {
            return Err(LayoutError::OverlappingPadding { interval, amount });
        }
        Ok(Self {
            arrangement: Arrangement::Padded(padding),
            ..Self::plain(shape, order)?
        })
    }

    /// A dense buffer whose rows are permuted.
    ///
    /// # Errors
    /// As [`Self::plain`], and if a parameter is no power of two or the phases do not fit in a row.
    pub fn swizzled(shape: &[i64], order: &[usize], swizzle: Swizzle) -> Result<Self, LayoutError> {
        let plain = Self::plain(shape, order)?;
        log2_of("vec", swizzle.vec)?;
        log2_of("per_phase", swizzle.per_phase)?;
        log2_of("max_phase", swizzle.max_phase)?;
        let extent = order.first().map_or(1, |&axis| shape[axis]);
        if swizzle.max_phase > 1 && swizzle.vec * swizzle.max_phase > extent {
            return Err(LayoutError::SwizzleTooWide {
                extent,
                vec: swizzle.vec,
                max_phase: swizzle.max_phase,
            });
        }
        Ok(Self {
            arrangement: Arrangement::Swizzled(swizzle),
            ..plain
        })
    }

    /// A dense buffer in which bit i of an element's number stands for the coordinate `bases[i]`.
    ///
    /// # Errors
    /// As [`Self::plain`], and if the bases are not as many as the tile's bits, lie outside of it, or leave elements out.
    pub fn linear(shape: &[i64], bases: &[Basis]) -> Result<Self, LayoutError> {
        let order = (0..shape.len()).rev().collect::<Vec<_>>();
        let plain = Self::plain(shape, &order)?;
        let numbers = LinearLayout::new([bases.to_vec(), vec![], vec![], vec![]], shape.to_vec())?;
        if !numbers.is_injective() {
            return Err(LayoutError::TooLarge {
                what: "shared-memory offset",
                limit: numbers.tile_bits(),
                got: bases.len(),
            });
        }
        let inverse = numbers.invert();
        let of_axis = |axis: usize| {
            let of_bit = |bit: u32| {
                let mut coordinate = vec![0; shape.len()];
                coordinate[axis] = 1 << bit;
                inverse.apply(&coordinate).register as i64
            };
            (0..shape[axis].ilog2()).map(of_bit).collect()
        };
        let offsets = OffsetMap {
            bases: (0..shape.len()).map(of_axis).collect(),
            shape: shape.to_vec(),
            size: plain.size(),
        };
        Ok(Self {
            arrangement: Arrangement::Linear(offsets),
            ..plain
        })
    }

    /// The tile's extents.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The elements from the buffer's start to the element at `coordinate`, which has to lie in the tile.
    pub fn offset(&self, coordinate: &[i64]) -> i64 {
        let dense = self.dense_offset(coordinate);
        match &self.arrangement {
            Arrangement::Dense => dense,
            Arrangement::Linear(offsets) => offsets.apply(coordinate),
            Arrangement::Padded(padding) => dense + dense / padding.interval * padding.amount,
            Arrangement::Swizzled(swizzle) => {
                let row = self.order.get(1).map_or(0, |&axis| coordinate[axis]);
                let phase = row / swizzle.per_phase % swizzle.max_phase;
                // The fastest axis has the low bits of the dense offset, and phases fit in it.
                dense ^ (phase * swizzle.vec)
            }
        }
    }

    /// The buffer's length in elements, padding between elements included.
    pub fn size(&self) -> i64 {
        let last: Vec<i64> = self.shape.iter().map(|extent| extent - 1).collect();
        let dense = self.dense_offset(&last) + 1;
        match self.arrangement {
            Arrangement::Dense | Arrangement::Linear(_) | Arrangement::Swizzled(_) => dense,
            Arrangement::Padded(_) => self.offset(&last) + 1,
        }
    }

    /// The distance between neighbours along each axis, in elements; `None` if it is not the same everywhere.
    pub fn strides(&self) -> Option<Vec<i64>> {
        let runs = self.order.iter().scan(1, |run, &axis| {
            *run *= self.shape[axis];
            Some(*run)
        });
        match self.arrangement {
            Arrangement::Dense => {}
            // Padding between the elements of an axis does not follow each of them.
            Arrangement::Padded(padding) if runs.clone().any(|run| run == padding.interval) => {}
            _ => return None,
        }
        let unit = |axis| {
            (0..self.shape.len())
                .map(|other| i64::from(other == axis))
                .collect::<Vec<_>>()
        };
        Some(
            (0..self.shape.len())
                .map(|axis| self.offset(&unit(axis)))
                .collect(),
        )
    }

    /// The layout as a linear map to offsets; `None` if it is padded.
    pub fn offset_map(&self) -> Option<OffsetMap> {
        match &self.arrangement {
            Arrangement::Padded(_) => return None,
            Arrangement::Linear(offsets) => return Some(offsets.clone()),
            Arrangement::Dense | Arrangement::Swizzled(_) => {}
        }
        let bases = (0..self.shape.len())
            .map(|axis| {
                let image = |bit: u32| {
                    let mut coordinate = vec![0; self.shape.len()];
                    coordinate[axis] = 1 << bit;
                    self.offset(&coordinate)
                };
                (0..self.shape[axis].ilog2()).map(image).collect()
            })
            .collect();
        Some(OffsetMap {
            bases,
            shape: self.shape.clone(),
            size: self.size(),
        })
    }

    /// The bank conflicts of loading or storing a tile of layout `layout`, `vector` adjacent registers at a time, for
    /// the warp and register group that fare worst. `vector` is at most [`LinearLayout::contiguous_elements`] along
    /// this layout's order; `layout` is that of one CTA ([`LinearLayout::within_block`]).
    ///
    /// # Errors
    /// If the tiles differ in shape.
    pub fn bank_conflicts(
        &self,
        layout: &LinearLayout,
        element_bits: u32,
        vector: usize,
    ) -> Result<BankReport, LayoutError> {
        if layout.shape() != self.shape {
            return Err(LayoutError::ShapeMismatch {
                expected: self.shape.clone(),
                got: layout.shape().to_vec(),
            });
        }
        let vector = vector.max(1);
        let access_bytes = (vector as u64 * u64::from(element_bits)).div_ceil(8).max(1);
        let lanes_at_once = (WAVEFRONT_BYTES / access_bytes.max(WORD_BYTES)).max(1) as usize;
        let lanes = layout.num_lanes();
        let cost = |warp: usize, register: usize| -> usize {
            (0..lanes)
                .step_by(lanes_at_once)
                .map(|first| {
                    let part = first..(first + lanes_at_once).min(lanes);
                    let starts = part.map(|lane| {
                        let index = HardwareIndex {
                            register,
                            lane,
                            warp,
                            block: 0,
                        };
                        self.offset(&layout.apply(index)) as u64 * u64::from(element_bits) / 8
                    });
                    wavefronts(starts, access_bytes)
                })
                .sum()
        };
        let groups = (0..layout.num_registers()).step_by(vector);
        let worst = groups.flat_map(|register| (0..layout.num_warps()).map(move |warp| (warp, register)));
        Ok(BankReport {
            wavefronts: worst
                .map(|(warp, register)| cost(warp, register))
                .max()
                .unwrap_or(0),
            least: lanes.div_ceil(lanes_at_once),
        })
    }

    fn dense_offset(&self, coordinate: &[i64]) -> i64 {
        self.order
            .iter()
            .rev()
            .fold(0, |offset, &axis| offset * self.shape[axis] + coordinate[axis])
    }
}

/// Wavefronts for lanes that each access `bytes` bytes from the given byte addresses.
fn wavefronts(starts: impl Iterator<Item = u64>, bytes: u64) -> usize {
    let words: HashSet<u64> = starts
        .flat_map(|start| start / WORD_BYTES..(start + bytes).div_ceil(WORD_BYTES))
        .collect();
    let mut per_bank = [0; BANKS as usize];
    for word in words {
        per_bank[(word % BANKS) as usize] += 1;
    }
    per_bank.into_iter().max().unwrap_or(0)
}

/// What one warp-wide shared-memory access costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BankReport {
    /// Wavefronts that the access takes.
    pub wavefronts: usize,
    /// Wavefronts that an access of this width takes without conflicts.
    pub least: usize,
}

impl BankReport {
    /// Wavefronts lost to conflicts.
    pub fn conflicts(&self) -> usize {
        self.wavefronts.saturating_sub(self.least)
    }
}

/// A linear map from tile coordinates to offsets `0..size`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OffsetMap {
    bases: Vec<Vec<i64>>,
    shape: Vec<i64>,
    size: i64,
}

impl OffsetMap {
    /// The tile's extents.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// One more than the largest offset; a power of two.
    pub fn size(&self) -> i64 {
        self.size
    }

    /// The offsets of one axis' bits, least significant first.
    pub fn bases(&self, axis: usize) -> &[i64] {
        &self.bases[axis]
    }

    /// The offset of `coordinate`, which has to lie in the tile.
    pub fn apply(&self, coordinate: &[i64]) -> i64 {
        let per_axis = coordinate.iter().zip(&self.bases);
        per_axis
            .flat_map(|(&value, bases)| set_bits(value as u64).map(|bit| bases[bit]))
            .fold(0, |sum, x| sum ^ x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::HardwareDim;
    use proptest::prelude::*;

    /// 32 lanes down a column of a 32 x 32 tile.
    fn column_of_lanes() -> LinearLayout {
        let lanes = LinearLayout::identity(HardwareDim::Lane, 0, 2, 32).unwrap();
        lanes
            .product(&LinearLayout::identity(HardwareDim::Register, 1, 2, 32).unwrap())
            .unwrap()
    }

    #[test]
    fn a_column_of_words_in_a_plain_tile_hits_one_bank() {
        let plain = SharedLayout::plain(&[32, 32], &[1, 0]).unwrap();
        let report = plain.bank_conflicts(&column_of_lanes(), 32, 1).unwrap();
        assert_eq!(
            report,
            BankReport {
                wavefronts: 32,
                least: 1
            }
        );
        assert_eq!(report.conflicts(), 31);
    }

    #[test]
    fn padding_or_a_swizzle_spreads_a_column_over_all_banks() {
        let padding = Padding {
            interval: 32,
            amount: 1,
        };
        let swizzle = Swizzle {
            vec: 1,
            per_phase: 1,
            max_phase: 32,
        };
        for shared in [
            SharedLayout::padded(&[32, 32], &[1, 0], padding).unwrap(),
            SharedLayout::swizzled(&[32, 32], &[1, 0], swizzle).unwrap(),
        ] {
            assert_eq!(
                shared
                    .bank_conflicts(&column_of_lanes(), 32, 1)
                    .unwrap()
                    .conflicts(),
                0
            );
        }
    }

    #[test]
    fn wide_accesses_are_served_in_parts_of_the_warp() {
        let lanes = |vector: i64| {
            let registers = LinearLayout::identity(HardwareDim::Register, 0, 1, vector).unwrap();
            registers
                .product(&LinearLayout::identity(HardwareDim::Lane, 0, 1, 32).unwrap())
                .unwrap()
        };
        for (vector, least) in [(1, 1), (2, 1), (4, 2), (8, 4)] {
            let layout = lanes(vector);
            let shared = SharedLayout::plain(layout.shape(), &[0]).unwrap();
            let report = shared.bank_conflicts(&layout, 16, vector as usize).unwrap();
            assert_eq!(
                report,
                BankReport {
                    wavefronts: least,
                    least
                }
            );
        }
    }

    #[test]
    fn lanes_that_read_one_word_do_not_conflict() {
        let lanes = LinearLayout::new([vec![], vec![vec![0]; 5], vec![], vec![]], vec![1]).unwrap();
        let shared = SharedLayout::plain(&[1], &[0]).unwrap();
        assert_eq!(shared.bank_conflicts(&lanes, 32, 1).unwrap().wavefronts, 1);
    }

    #[test]
    fn padding_makes_the_buffer_longer_and_nonlinear() {
        let shared = SharedLayout::padded(
            &[4, 8],
            &[1, 0],
            Padding {
                interval: 8,
                amount: 2,
            },
        )
        .unwrap();
        assert_eq!(shared.offset(&[1, 0]), 10);
        assert_eq!(shared.size(), 38);
        assert_eq!(shared.offset_map(), None);
    }

    #[test]
    fn with_negative_padding_runs_overlap() {
        let overlapping = |amount| SharedLayout::padded(&[4, 8], &[1, 0], Padding { interval: 8, amount });
        let shared = overlapping(-3).unwrap();
        assert_eq!(shared.offset(&[1, 0]), shared.offset(&[0, 5]));
        assert_eq!(shared.size(), 3 * 5 + 8);
        assert_eq!(shared.strides(), Some(vec![5, 1]));
        let split = SharedLayout::padded(
            &[4, 2, 4],
            &[2, 1, 0],
            Padding {
                interval: 8,
                amount: -3,
            },
        )
        .unwrap();
        assert_eq!(split.strides(), Some(vec![5, 4, 1]));
        let within = SharedLayout::padded(
            &[4, 8],
            &[1, 0],
            Padding {
                interval: 4,
                amount: 1,
            },
        )
        .unwrap();
        assert_eq!(within.strides(), None);
        let error = overlapping(-8).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected padding of more than -8 elements, got -8"
        );
    }

    #[test]
    fn a_buffer_has_at_most_2_to_the_30_elements() {
        let error = SharedLayout::plain(&[1 << 20, 1 << 11], &[1, 0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected at most 30 bits of shared-memory offset, got 31"
        );
    }

    #[test]
    fn a_swizzle_has_to_fit_in_a_row() {
        let swizzle = Swizzle {
            vec: 8,
            per_phase: 1,
            max_phase: 8,
        };
        assert_eq!(
            SharedLayout::swizzled(&[8, 32], &[1, 0], swizzle)
                .unwrap_err()
                .to_string(),
            "expected a swizzle of vec * max_phase at most 32 elements (the fastest extent), got 8 * 8"
        );
    }

    proptest! {
        #[test]
        fn a_swizzle_permutes_the_buffer_and_is_linear(
            vec in 0u32..3, per_phase in 0u32..3, phases in 0u32..3, transposed: bool,
        ) {
            let swizzle = Swizzle { vec: 1 << vec, per_phase: 1 << per_phase, max_phase: 1 << phases };
            let order = if transposed { [0, 1] } else { [1, 0] };
            let shared = SharedLayout::swizzled(&[16, 16], &order, swizzle).unwrap();
            let map = shared.offset_map().unwrap();
            let mut seen = HashSet::new();
            for coordinate in (0..256).map(|flat| [flat / 16, flat % 16]) {
                let offset = shared.offset(&coordinate);
                prop_assert_eq!(offset, map.apply(&coordinate));
                let (fast, slow) = (coordinate[order[0]], coordinate[order[1]]);
                let phase = slow / swizzle.per_phase % swizzle.max_phase;
                let group = (fast / swizzle.vec) ^ phase;
                prop_assert_eq!(offset, slow * 16 + group * swizzle.vec + fast % swizzle.vec);
                prop_assert!(offset < shared.size() && seen.insert(offset));
            }
        }

        #[test]
        fn composing_with_a_buffer_gives_each_places_offset(phases in 0u32..4) {
            let swizzle = Swizzle { vec: 2, per_phase: 1, max_phase: 1 << phases };
            let shared = SharedLayout::swizzled(&[32, 32], &[1, 0], swizzle).unwrap();
            let layout = column_of_lanes();
            let offsets = layout.compose(&shared.offset_map().unwrap()).unwrap();
            for index in layout.indices() {
                prop_assert_eq!(offsets.apply(index), [shared.offset(&layout.apply(index))]);
            }
            prop_assert_eq!(offsets.contiguous_elements(&[0]), if phases == 0 { 32 } else { 2 });
        }
    }
}
