//! The layout itself: a surjective GF(2)-linear map from hardware index bits to tile coordinate bits.
//!
//! Invariants of a [`LinearLayout`]: extents are powers of two, every basis lies in the tile, every element is held
//! somewhere, and both sides have at most [`MAX_BITS`] bits, so that either fits one word. Elements may be held more
//! than once; the bits that only repeat data have zero bases ([`LinearLayout::free_mask`]).

use std::fmt;

use crate::bits::{self, Span};
use crate::error::LayoutError;
use crate::shared::OffsetMap;

/// The most bits that a hardware index, or a tile coordinate, may have in all.
pub const MAX_BITS: usize = 62;

/// The image of one index bit: a tile coordinate, one entry per axis.
pub type Basis = Vec<i32>;

/// A level of the hardware that holds data, from the finest to the coarsest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HardwareDim {
    /// A thread's own values.
    Register,
    /// A thread within its warp.
    Lane,
    /// A warp within its CTA.
    Warp,
    /// A CTA within its cluster.
    Block,
}

impl HardwareDim {
    /// Every dim, finest first; also the order of index bits in the matrix of a layout.
    pub const ALL: [Self; 4] = [Self::Register, Self::Lane, Self::Warp, Self::Block];
}

impl fmt::Display for HardwareDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Register => "register",
            Self::Lane => "lane",
            Self::Warp => "warp",
            Self::Block => "block",
        })
    }
}

/// Where a value is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct HardwareIndex {
    /// The value's number within its thread.
    pub register: usize,
    /// The thread within its warp.
    pub lane: usize,
    /// The warp within its CTA.
    pub warp: usize,
    /// The CTA within its cluster.
    pub block: usize,
}

impl HardwareIndex {
    /// The index's part along `dim`.
    pub fn get(&self, dim: HardwareDim) -> usize {
        match dim {
            HardwareDim::Register => self.register,
            HardwareDim::Lane => self.lane,
            HardwareDim::Warp => self.warp,
            HardwareDim::Block => self.block,
        }
    }

    pub(crate) fn from_parts(parts: [usize; 4]) -> Self {
        let [register, lane, warp, block] = parts;
        Self {
            register,
            lane,
            warp,
            block,
        }
    }

    pub(crate) fn xor(self, other: Self) -> Self {
        Self {
            register: self.register ^ other.register,
            lane: self.lane ^ other.lane,
            warp: self.warp ^ other.warp,
            block: self.block ^ other.block,
        }
    }
}

/// A distribution of a tile over registers, lanes, warps and CTAs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LinearLayout {
    bases: [Vec<Basis>; 4],
    shape: Vec<i64>,
}

impl LinearLayout {
    /// The layout with these bases, listed per dim in the order of [`HardwareDim::ALL`], least significant bit first.
    ///
    /// # Errors
    /// If an extent is no power of two, a basis lies outside `shape` or has another rank, some element is never
    /// reached, or either side has more than [`MAX_BITS`] bits.
    pub fn new(bases: [Vec<Basis>; 4], shape: Vec<i64>) -> Result<Self, LayoutError> {
        for &extent in &shape {
            log2_of("a tile extent", extent)?;
        }
        for dim in HardwareDim::ALL {
            for (bit, basis) in bases[dim as usize].iter().enumerate() {
                if basis.len() != shape.len() {
                    return Err(LayoutError::RankMismatch {
                        what: "a basis",
                        expected: shape.len(),
                        got: basis.len(),
                    });
                }
                for (axis, (&value, &extent)) in basis.iter().zip(&shape).enumerate() {
                    if value < 0 || i64::from(value) >= extent {
                        return Err(LayoutError::BasisOutOfRange {
                            dim,
                            bit,
                            axis,
                            extent,
                            value,
                        });
                    }
                }
            }
        }
        let layout = Self { bases, shape };
        let index_bits = HardwareDim::ALL.iter().map(|&dim| layout.bits(dim)).sum();
        check_bits("hardware index", index_bits)?;
        check_bits("tile coordinate", layout.tile_bits())?;
        let rank = Span::of(layout.columns()).rank();
        if rank != layout.tile_bits() {
            return Err(LayoutError::NotSurjective {
                expected: layout.tile_bits(),
                got: rank,
            });
        }
        Ok(layout)
    }

    /// The layout of a tile with one element of rank `rank`, held by one thread.
    pub fn unit(rank: usize) -> Self {
        Self {
            bases: Default::default(),
            shape: vec![1; rank],
        }
    }

    /// `extent` elements along `axis` spread over `dim` in order; the other axes of the rank-`rank` tile are 1.
    ///
    /// # Errors
    /// If `extent` is no power of two below 2^31 or `axis` is not below `rank`.
    pub fn identity(dim: HardwareDim, axis: usize, rank: usize, extent: i64) -> Result<Self, LayoutError> {
        if axis >= rank {
            return Err(LayoutError::NoSuchAxis { axis, rank });
        }
        let mut layout = Self::unit(rank);
        layout.shape[axis] = extent;
        layout.bases[dim as usize] = (0..log2_of("an extent", extent)?)
            .map(|bit| unit_basis(rank, axis, 1 << bit))
            .collect();
        Ok(layout)
    }

    /// The product of two layouts: `self`, the inner one, gives the low bits of each dim and each axis, `outer` the high ones.
    ///
    /// # Errors
    /// If the ranks differ or the product has too many bits.
    pub fn product(&self, outer: &Self) -> Result<Self, LayoutError> {
        if self.rank() != outer.rank() {
            return Err(LayoutError::RankMismatch {
                what: "the outer layout",
                expected: self.rank(),
                got: outer.rank(),
            });
        }
        let shape: Vec<i64> = self.shape.iter().zip(&outer.shape).map(|(a, b)| a * b).collect();
        check_extents(&shape)?;
        let mut bases = self.bases.clone();
        for dim in HardwareDim::ALL {
            bases[dim as usize].extend(outer.bases(dim).iter().map(|basis| {
                basis
                    .iter()
                    .zip(&self.shape)
                    .map(|(&value, &inner)| value * inner as i32)
                    .collect::<Basis>()
            }));
        }
        Self::new(bases, shape)
    }

    /// The tile's extents.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The number of tile axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The bases of one dim, least significant bit first.
    pub fn bases(&self, dim: HardwareDim) -> &[Basis] {
        &self.bases[dim as usize]
    }

    /// log2 of [`Self::extent`].
    pub fn bits(&self, dim: HardwareDim) -> usize {
        self.bases[dim as usize].len()
    }

    /// How many indices a dim has.
    pub fn extent(&self, dim: HardwareDim) -> usize {
        1 << self.bits(dim)
    }

    /// Values per thread.
    pub fn num_registers(&self) -> usize {
        self.extent(HardwareDim::Register)
    }

    /// Threads per warp.
    pub fn num_lanes(&self) -> usize {
        self.extent(HardwareDim::Lane)
    }

    /// Warps per CTA.
    pub fn num_warps(&self) -> usize {
        self.extent(HardwareDim::Warp)
    }

    /// CTAs per cluster.
    pub fn num_blocks(&self) -> usize {
        self.extent(HardwareDim::Block)
    }

    /// The coordinate of the element held at `index`. Bits beyond a dim's extent are ignored.
    pub fn apply(&self, index: HardwareIndex) -> Vec<i64> {
        let mut coordinate = vec![0; self.rank()];
        for dim in HardwareDim::ALL {
            for (bit, basis) in self.bases(dim).iter().enumerate() {
                if index.get(dim) >> bit & 1 == 1 {
                    coordinate
                        .iter_mut()
                        .zip(basis)
                        .for_each(|(sum, &value)| *sum ^= i64::from(value));
                }
            }
        }
        coordinate
    }

    /// Every hardware index, register fastest and block slowest.
    pub fn indices(&self) -> impl Iterator<Item = HardwareIndex> + use<> {
        let [registers, lanes, warps, blocks] = HardwareDim::ALL.map(|dim| self.extent(dim));
        (0..registers * lanes * warps * blocks).map(move |flat| HardwareIndex {
            register: flat % registers,
            lane: flat / registers % lanes,
            warp: flat / registers / lanes % warps,
            block: flat / registers / lanes / warps,
        })
    }

    /// A layout's right inverse: for each element one place that holds it. It is the inverse where the layout is
    /// injective; otherwise the copy in the finest dims and the lowest bits is preferred.
    pub fn invert(&self) -> InverseLayout {
        let span = Span::of(self.columns());
        let bases = (0..self.rank())
            .map(|axis| {
                let low = self.axis_offset(axis);
                let high = low + self.shape[axis].ilog2() as usize;
                // A layout is surjective, so every unit vector can be expressed.
                (low..high)
                    .map(|row| self.unflatten_index(span.express(1 << row).unwrap_or(0)))
                    .collect()
            })
            .collect();
        InverseLayout { bases }
    }

    /// Composes this layout with `map`: the result is the layout of a one-axis tile in which each element has the offset that `map`
    /// gives it.
    ///
    /// # Errors
    /// If `map` is not of this tile's shape, or not onto its range.
    pub fn compose(&self, map: &OffsetMap) -> Result<Self, LayoutError> {
        if map.shape() != self.shape {
            return Err(LayoutError::ShapeMismatch {
                expected: self.shape.clone(),
                got: map.shape().to_vec(),
            });
        }
        check_extents(&[map.size()])?;
        let bases = HardwareDim::ALL.map(|dim| {
            let through_map = |basis: &Basis| {
                let coordinate: Vec<i64> = basis.iter().map(|&value| i64::from(value)).collect();
                vec![map.apply(&coordinate) as i32]
            };
            self.bases(dim).iter().map(through_map).collect()
        });
        Self::new(bases, vec![map.size()])
    }

    /// Whether no element is held twice.
    pub fn is_injective(&self) -> bool {
        HardwareDim::ALL.iter().map(|&dim| self.bits(dim)).sum::<usize>() == self.tile_bits()
    }

    /// The bits of `dim` that do not change the element: threads that differ only there hold copies.
    pub fn free_mask(&self, dim: HardwareDim) -> usize {
        let zero = |basis: &Basis| basis.iter().all(|&value| value == 0);
        self.bases(dim)
            .iter()
            .enumerate()
            .filter(|(_, basis)| zero(basis))
            .map(|(bit, _)| 1 << bit)
            .sum()
    }

    /// The bits of `dim` that may be left 0 without missing an element: every element is held at exactly one index that
    /// has none of these bits of any dim. Finer dims and lower bits are kept, so a thread keeps the registers that it has.
    pub fn copies(&self, dim: HardwareDim) -> usize {
        let mut span = Span::default();
        let mut copies = [0; 4];
        for level in HardwareDim::ALL {
            for (bit, &column) in self.dim_columns(level).iter().enumerate() {
                if span.insert(column, 0).is_some() {
                    copies[level as usize] |= 1 << bit;
                }
            }
        }
        copies[dim as usize]
    }

    /// This tile with an axis of extent 1 inserted before `axis` (`axis == rank` appends), as `expand_dims` needs.
    ///
    /// # Errors
    /// If `axis` is above the rank.
    pub fn with_unit_axis(&self, axis: usize) -> Result<Self, LayoutError> {
        if axis > self.rank() {
            return Err(LayoutError::NoSuchAxis {
                axis,
                rank: self.rank() + 1,
            });
        }
        let mut layout = self.clone();
        layout.shape.insert(axis, 1);
        layout
            .bases
            .iter_mut()
            .flatten()
            .for_each(|basis| basis.insert(axis, 0));
        Ok(layout)
    }

    /// The axes permuted: axis `i` of the result is axis `permutation[i]` of this layout.
    ///
    /// # Errors
    /// If `permutation` does not name every axis once.
    pub fn transpose(&self, permutation: &[usize]) -> Result<Self, LayoutError> {
        check_order(self.rank(), permutation)?;
        let pick = |basis: &Basis| permutation.iter().map(|&axis| basis[axis]).collect::<Basis>();
        let bases = HardwareDim::ALL.map(|dim| self.bases(dim).iter().map(pick).collect());
        Self::new(bases, permutation.iter().map(|&axis| self.shape[axis]).collect())
    }

    /// The layout of the tile's part that one CTA holds: shapes of shared-memory buffers come from it.
    ///
    /// # Errors
    /// If block bases are not the highest bits of an axis each, so that a CTA's part is no contiguous tile.
    pub fn within_block(&self) -> Result<Self, LayoutError> {
        let mut shape = self.shape.clone();
        let mut split: Vec<&Basis> = self
            .bases(HardwareDim::Block)
            .iter()
            .filter(|basis| basis.iter().any(|&value| value != 0))
            .collect();
        split.sort_by_key(|basis| std::cmp::Reverse(basis.iter().max()));
        for basis in split {
            let interleaved = || LayoutError::InterleavedBlocks { basis: basis.clone() };
            let mut moved = (0..self.rank()).filter(|&axis| basis[axis] != 0);
            let (Some(axis), None) = (moved.next(), moved.next()) else {
                return Err(interleaved());
            };
            if i64::from(basis[axis]) * 2 != shape[axis] {
                return Err(interleaved());
            }
            shape[axis] /= 2;
        }
        let mut bases = self.bases.clone();
        bases[HardwareDim::Block as usize].clear();
        let reaches_another_block = bases.iter().flatten().find(|basis| {
            basis
                .iter()
                .zip(&shape)
                .any(|(&value, &extent)| i64::from(value) >= extent)
        });
        match reaches_another_block {
            Some(basis) => Err(LayoutError::InterleavedBlocks { basis: basis.clone() }),
            None => Self::new(bases, shape),
        }
    }

    pub(crate) fn check_axis(&self, axis: usize) -> Result<(), LayoutError> {
        if axis < self.rank() {
            Ok(())
        } else {
            Err(LayoutError::NoSuchAxis {
                axis,
                rank: self.rank(),
            })
        }
    }

    /// A packed coordinate as a basis.
    pub(crate) fn unpack(&self, column: u64) -> Basis {
        (0..self.rank())
            .map(|axis| ((column & self.axis_mask(axis)) >> self.axis_offset(axis)) as i32)
            .collect()
    }

    /// Replaces the bases of a dim by others that, with the rest, still reach every element.
    pub(crate) fn set_bases(&mut self, dim: HardwareDim, bases: Vec<Basis>) {
        self.bases[dim as usize] = bases;
    }

    /// log2 of the element count.
    pub(crate) fn tile_bits(&self) -> usize {
        self.axis_offset(self.rank())
    }

    /// The first bit of `axis` in a packed coordinate; axis 0 has the lowest bits.
    pub(crate) fn axis_offset(&self, axis: usize) -> usize {
        self.shape[..axis]
            .iter()
            .map(|extent| extent.ilog2() as usize)
            .sum()
    }

    /// The bits of `axis` in a packed coordinate.
    pub(crate) fn axis_mask(&self, axis: usize) -> u64 {
        (self.shape[axis] as u64 - 1) << self.axis_offset(axis)
    }

    /// The bases of one dim as packed coordinates.
    pub(crate) fn dim_columns(&self, dim: HardwareDim) -> Vec<u64> {
        let pack = |basis: &Basis| {
            basis.iter().enumerate().fold(0, |word, (axis, &value)| {
                word | (value as u64) << self.axis_offset(axis)
            })
        };
        self.bases(dim).iter().map(pack).collect()
    }

    /// Every basis as a packed coordinate, in the order of [`HardwareDim::ALL`].
    pub(crate) fn columns(&self) -> Vec<u64> {
        HardwareDim::ALL
            .iter()
            .flat_map(|&dim| self.dim_columns(dim))
            .collect()
    }

    /// The position of `dim`'s first bit in a packed hardware index, whose low bits are the register's.
    pub(crate) fn index_offset(&self, dim: HardwareDim) -> usize {
        HardwareDim::ALL
            .iter()
            .take_while(|&&finer| finer < dim)
            .map(|&finer| self.bits(finer))
            .sum()
    }

    pub(crate) fn unflatten_index(&self, packed: u64) -> HardwareIndex {
        HardwareIndex::from_parts(
            HardwareDim::ALL.map(|dim| (packed >> self.index_offset(dim)) as usize & (self.extent(dim) - 1)),
        )
    }
}

/// Where each element is held: a linear map from coordinates to hardware indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InverseLayout {
    bases: Vec<Vec<HardwareIndex>>,
}

impl InverseLayout {
    /// A place that holds the element at `coordinate`. Bits beyond an axis' extent are ignored.
    pub fn apply(&self, coordinate: &[i64]) -> HardwareIndex {
        let mut index = HardwareIndex::default();
        for (&value, bases) in coordinate.iter().zip(&self.bases) {
            for bit in bits::set_bits(value as u64).filter(|&bit| bit < bases.len()) {
                index = index.xor(bases[bit]);
            }
        }
        index
    }

    /// The bases of one axis, least significant bit first.
    pub fn bases(&self, axis: usize) -> &[HardwareIndex] {
        &self.bases[axis]
    }
}

/// `[4, 8] register = [(0, 1)], lane = [(0, 2), (0, 4)], warp = [(1, 0), (2, 0)]`; a dim without bases is left out.
impl fmt::Display for LinearLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shape)?;
        let dims = HardwareDim::ALL.into_iter().filter(|&dim| self.bits(dim) > 0);
        for (i, dim) in dims.enumerate() {
            let coordinate = |basis: &Basis| {
                let values: Vec<String> = basis.iter().map(i32::to_string).collect();
                format!("({})", values.join(", "))
            };
            let bases: Vec<String> = self.bases(dim).iter().map(coordinate).collect();
            write!(
                f,
                "{} {dim} = [{}]",
                if i == 0 { "" } else { "," },
                bases.join(", ")
            )?;
        }
        Ok(())
    }
}

pub(crate) fn unit_basis(rank: usize, axis: usize, value: i32) -> Basis {
    let mut basis = vec![0; rank];
    basis[axis] = value;
    basis
}

pub(crate) fn log2_of(what: &'static str, value: i64) -> Result<usize, LayoutError> {
    if value <= 0 || value & (value - 1) != 0 {
        return Err(LayoutError::NotPowerOfTwo { what, value });
    }
    let bits = value.ilog2() as usize;
    // Bases are i32 coordinates.
    if bits > 30 {
        Err(LayoutError::TooLarge {
            what,
            limit: 30,
            got: bits,
        })
    } else {
        Ok(bits)
    }
}

pub(crate) fn check_order(rank: usize, order: &[usize]) -> Result<(), LayoutError> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sorted.iter().copied().eq(0..rank) {
        Ok(())
    } else {
        Err(LayoutError::BadOrder {
            rank,
            order: order.to_vec(),
        })
    }
}

fn check_extents(shape: &[i64]) -> Result<(), LayoutError> {
    shape
        .iter()
        .try_for_each(|&extent| log2_of("a tile extent", extent).map(drop))
}

fn check_bits(what: &'static str, got: usize) -> Result<(), LayoutError> {
    if got > MAX_BITS {
        Err(LayoutError::TooLarge {
            what,
            limit: MAX_BITS,
            got,
        })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::sampling::any_layout;
    use proptest::prelude::*;

    fn line(register: &[i32], lane: &[i32], extent: i64) -> Result<LinearLayout, LayoutError> {
        let bases = |values: &[i32]| values.iter().map(|&value| vec![value]).collect();
        LinearLayout::new([bases(register), bases(lane), vec![], vec![]], vec![extent])
    }

    #[test]
    fn construction_checks_extents_ranges_and_coverage() {
        let message = |layout: Result<LinearLayout, LayoutError>| layout.unwrap_err().to_string();
        assert_eq!(
            message(line(&[1], &[2], 6)),
            "expected a tile extent to be a power of two, got 6"
        );
        assert_eq!(
            message(line(&[1], &[4], 4)),
            "expected lane basis 0 to lie in [0, 4) along axis 0, got 4"
        );
        assert_eq!(
            message(line(&[1], &[1], 4)),
            "expected the bases to reach every element (rank 2), got rank 1"
        );
        let two_axes = LinearLayout::new([vec![vec![1]], vec![], vec![], vec![]], vec![2, 1]);
        assert_eq!(
            message(two_axes),
            "expected a basis to have 2 entries, one per axis, got 1"
        );
    }

    #[test]
    fn a_coordinate_is_the_xor_of_the_bases_of_set_bits() {
        let layout = line(&[1, 3], &[4], 8).unwrap();
        let at = |register, lane| {
            layout.apply(HardwareIndex {
                register,
                lane,
                ..Default::default()
            })
        };
        assert_eq!([at(1, 0), at(2, 0), at(3, 0), at(3, 1)], [[1], [3], [2], [6]]);
    }

    #[test]
    fn a_product_tiles_the_inner_layout() {
        let inner = LinearLayout::identity(HardwareDim::Register, 1, 2, 4).unwrap();
        let outer = LinearLayout::identity(HardwareDim::Lane, 1, 2, 2).unwrap();
        let rows = LinearLayout::identity(HardwareDim::Register, 0, 2, 2).unwrap();
        let layout = inner.product(&outer).unwrap().product(&rows).unwrap();
        assert_eq!(
            layout.to_string(),
            "[2, 8] register = [(0, 1), (0, 2), (1, 0)], lane = [(0, 4)]"
        );
    }

    #[test]
    fn copies_are_visible_as_free_bits() {
        let layout = line(&[1], &[0, 2, 0], 4).unwrap();
        assert_eq!(layout.free_mask(HardwareDim::Lane), 0b101);
        assert!(!layout.is_injective());
    }

    #[test]
    fn interleaved_blocks_have_no_tile_of_their_own() {
        let bases = [vec![vec![2]], vec![], vec![], vec![vec![1]]];
        let layout = LinearLayout::new(bases, vec![4]).unwrap();
        assert_eq!(
            layout.within_block(),
            Err(LayoutError::InterleavedBlocks { basis: vec![1] })
        );
    }

    #[test]
    fn transposing_permutes_axes() {
        let row = LinearLayout::identity(HardwareDim::Lane, 1, 2, 4).unwrap();
        assert_eq!(
            row.transpose(&[1, 0]).unwrap(),
            LinearLayout::identity(HardwareDim::Lane, 0, 2, 4).unwrap()
        );
    }

    proptest! {
        #[test]
        fn the_inverse_finds_a_holder_of_every_element(layout in any_layout()) {
            let inverse = layout.invert();
            let mut held = HashSet::new();
            for index in layout.indices() {
                let coordinate = layout.apply(index);
                let found = inverse.apply(&coordinate);
                prop_assert_eq!(&layout.apply(found), &coordinate);
                if layout.is_injective() {
                    prop_assert_eq!(found, index);
                }
                held.insert(coordinate);
            }
            prop_assert_eq!(held.len() as i64, layout.shape().iter().product::<i64>());
        }

        #[test]
        fn without_copies_every_element_is_held_once(layout in any_layout()) {
            let copies = HardwareDim::ALL.map(|dim| layout.copies(dim));
            let is_first = |index: &HardwareIndex| HardwareDim::ALL.iter().all(|&dim| index.get(dim) & copies[dim as usize] == 0);
            let held = layout.indices().filter(is_first).map(|index| layout.apply(index)).collect::<Vec<_>>();
            prop_assert_eq!(held.len() as i64, layout.shape().iter().product::<i64>());
            prop_assert_eq!(held.iter().collect::<HashSet<_>>().len(), held.len());
            for dim in HardwareDim::ALL {
                prop_assert_eq!(layout.free_mask(dim) & !copies[dim as usize], 0);
            }
        }

        #[test]
        fn free_bits_are_exactly_those_that_change_nothing(layout in any_layout()) {
            for dim in HardwareDim::ALL {
                for bit in 0..layout.bits(dim) {
                    let mut parts = [0; 4];
                    parts[dim as usize] = 1 << bit;
                    let moved = layout.apply(HardwareIndex::from_parts(parts)).iter().any(|&value| value != 0);
                    prop_assert_eq!(layout.free_mask(dim) >> bit & 1 == 0, moved);
                }
            }
        }
    }
}
