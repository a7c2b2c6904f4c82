//! Layouts that suit an access to memory: which registers form vectors, which lanes are neighbours in memory, and the sectors that
//! a warp's requests touch.
//!
//! An access is described by its stride along each axis, in bytes. `None` is a stride that is known only at run time; it is assumed to be
//! longer than a sector.

use crate::error::LayoutError;
use crate::linear::{Basis, HardwareDim, LinearLayout, unit_basis};

/// The bytes that memory moves as a unit.
pub const SECTOR_BYTES: i64 = 32;
/// The bytes of a cache line: four neighbouring sectors, which one request fetches together.
pub const LINE_BYTES: i64 = 4 * SECTOR_BYTES;

/// Sectors that an access touches, for each warp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sectors {
    /// Sectors of all requests of a warp; a sector that several requests touch counts for each.
    pub asked: f64,
    /// Cache lines of these sectors, counted for each request.
    pub lines: f64,
    /// Distinct sectors that the CTA touches, divided by its number of warps.
    pub distinct: f64,
}

impl LinearLayout {
    /// This layout with its registers renumbered, so that those that differ by 1, 2, 4, ... elements along `axis` are the lowest:
    /// they become runs for [`Self::contiguous_elements`]. Each thread holds the same elements as before.
    pub fn with_runs_lowest(&self, axis: usize) -> Self {
        let registers = self.bases(HardwareDim::Register);
        let run: Vec<&Basis> = (0..registers.len())
            .map_while(|bit| {
                let wanted = unit_basis(self.rank(), axis, 1 << bit);
                registers.iter().find(|basis| **basis == wanted)
            })
            .collect();
        let rest = registers.iter().filter(|basis| !run.contains(basis));
        let mut renumbered = self.clone();
        renumbered.set_bases(
            HardwareDim::Register,
            run.iter().copied().chain(rest).cloned().collect(),
        );
        renumbered
    }

    /// The layout of this tile, over as many lanes and warps, in which neighbours in memory lie first in the `vector`
    /// registers of one access, then in neighbouring lanes, then in neighbouring warps, and then in further registers.
    ///
    /// # Errors
    /// If there are not as many `strides` as axes, or data crosses CTAs.
    pub fn along_memory(&self, strides: &[Option<i64>], vector: usize) -> Result<Self, LayoutError> {
        self.check_strides(strides)?;
        if self.bits(HardwareDim::Block) > 0 {
            return Err(LayoutError::CrossesBlocks);
        }
        let mut bits: Vec<(Option<i64>, usize, i32)> = (0..self.rank())
            .flat_map(|axis| {
                (0..self.shape()[axis].ilog2()).map(move |bit| {
                    let distance =
                        strides[axis].map(|stride| stride.saturating_mul(1 << bit).saturating_abs());
                    (distance.filter(|distance| *distance > 0), axis, 1 << bit)
                })
            })
            .collect();
        bits.sort_by_key(|(distance, axis, value)| (distance.unwrap_or(i64::MAX), *axis, *value));
        let mut left = bits
            .into_iter()
            .map(|(_, axis, value)| unit_basis(self.rank(), axis, value));
        let mut registers: Vec<Basis> = left.by_ref().take(vector.max(1).ilog2() as usize).collect();
        let mut threads = [HardwareDim::Lane, HardwareDim::Warp].map(|dim| {
            let mut bases: Vec<Basis> = left.by_ref().take(self.bits(dim)).collect();
            bases.resize(self.bits(dim), vec![0; self.rank()]);
            bases
        });
        registers.extend(left);
        let [lanes, warps] = &mut threads;
        Self::new(
            [
                registers,
                std::mem::take(lanes),
                std::mem::take(warps),
                Vec::new(),
            ],
            self.shape().to_vec(),
        )
    }

    /// Returns the sectors that this tile touches, in accesses of `vector` elements of `element_bytes` each. The tile is assumed to
    /// begin at the start of a sector.
    ///
    /// # Errors
    /// If there are not as many `strides` as axes.
    pub fn sectors(
        &self,
        strides: &[Option<i64>],
        vector: usize,
        element_bytes: i64,
    ) -> Result<Sectors, LayoutError> {
        self.check_strides(strides)?;
        let copies = self.copies(HardwareDim::Register);
        let bytes = vector as i64 * element_bytes;
        let [registers, lanes, warps] =
            [HardwareDim::Register, HardwareDim::Lane, HardwareDim::Warp].map(|dim| self.coordinates(dim));
        // Each sector is a pair of the coordinate along axes of unknown stride, and its number among the sectors that share this
        // coordinate. Sorted vectors, not sets: this runs for each layout that an access might have, and sets would take most of
        // its time.
        let (mut all, mut request): (Vec<(i64, i64)>, _) = (Vec::new(), Vec::new());
        let (mut asked, mut lines) = (0, 0);
        for warp in &warps {
            let accesses = registers.iter().enumerate().step_by(vector.max(1));
            for (_, register) in accesses.filter(|(register, _)| register & copies == 0) {
                request.clear();
                for lane in &lanes {
                    let (mut apart, mut offset) = (0_i64, 0_i64);
                    for (axis, stride) in strides.iter().enumerate() {
                        let value = register[axis] ^ lane[axis] ^ warp[axis];
                        match stride {
                            Some(stride) => offset = offset.saturating_add(value.saturating_mul(*stride)),
                            None => apart = apart * self.shape()[axis] + value,
                        }
                    }
                    let last = offset.saturating_add(bytes - 1);
                    let sectors = offset.div_euclid(SECTOR_BYTES)..=last.div_euclid(SECTOR_BYTES);
                    request.extend(sectors.map(|sector| (apart, sector)));
                }
                request.sort_unstable();
                request.dedup();
                let line_of =
                    |(apart, sector): &(i64, i64)| (*apart, sector.div_euclid(LINE_BYTES / SECTOR_BYTES));
                asked += request.len();
                lines += request.chunk_by(|a, b| line_of(a) == line_of(b)).count();
                all.extend_from_slice(&request);
            }
        }
        all.sort_unstable();
        all.dedup();
        let warps = self.num_warps() as f64;
        Ok(Sectors {
            asked: asked as f64 / warps,
            lines: lines as f64 / warps,
            distinct: all.len() as f64 / warps,
        })
    }

    /// Returns the coordinates of each index of `dim` with all other dims at 0. The coordinate of a whole index is the XOR of those
    /// of its parts.
    fn coordinates(&self, dim: HardwareDim) -> Vec<Vec<i64>> {
        let mut coordinates = vec![vec![0; self.rank()]];
        for basis in self.bases(dim) {
            for index in 0..coordinates.len() {
                let with_bit = coordinates[index].iter().zip(basis);
                coordinates.push(with_bit.map(|(sum, &value)| sum ^ i64::from(value)).collect());
            }
        }
        coordinates
    }

    fn check_strides(&self, strides: &[Option<i64>]) -> Result<(), LayoutError> {
        match strides.len() == self.rank() {
            true => Ok(()),
            false => Err(LayoutError::RankMismatch {
                what: "the strides",
                expected: self.rank(),
                got: strides.len(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::linear::HardwareIndex;
    use crate::sampling::any_layout;
    use proptest::prelude::*;

    /// 64 rows of 64 elements in 4 warps: a lane has 8 columns of a row in two registers of rows.
    fn rows() -> LinearLayout {
        let pairs = |pairs: &[(i32, i32)]| pairs.iter().map(|&(m, n)| vec![m, n]).collect::<Vec<_>>();
        LinearLayout::new(
            [
                pairs(&[(0, 1), (0, 2), (0, 4), (16, 0), (32, 0)]),
                pairs(&[(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)]),
                pairs(&[(4, 0), (8, 0)]),
                vec![],
            ],
            vec![64, 64],
        )
        .unwrap()
    }

    #[test]
    fn runs_are_found_on_any_register_bits() {
        let bases = |values: &[(i32, i32)]| values.iter().map(|&(m, j)| vec![m, j]).collect::<Vec<_>>();
        let layout = LinearLayout::new(
            [
                bases(&[(1, 0), (0, 2), (0, 1), (0, 4)]),
                bases(&[(2, 0), (4, 0)]),
                vec![],
                vec![],
            ],
            vec![8, 8],
        )
        .unwrap();
        assert_eq!(layout.contiguous_elements(&[1]), 1);
        let renumbered = layout.with_runs_lowest(1);
        assert_eq!(renumbered.contiguous_elements(&[1]), 8);
        assert_eq!(
            renumbered.bases(HardwareDim::Register),
            bases(&[(0, 1), (0, 2), (0, 4), (1, 0)])
        );
        assert_eq!(layout.with_runs_lowest(0), layout);
    }

    #[test]
    fn a_run_needs_each_of_its_bits_in_a_register_of_its_own() {
        let bases = |values: &[i32]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
        let layout = LinearLayout::new([bases(&[4, 1]), bases(&[2, 8]), vec![], vec![]], vec![16]).unwrap();
        assert_eq!(layout.with_runs_lowest(0).contiguous_elements(&[0]), 2);
        let swizzled = LinearLayout::new([bases(&[3, 2]), bases(&[4, 8]), vec![], vec![]], vec![16]).unwrap();
        assert_eq!(swizzled.with_runs_lowest(0), swizzled);
    }

    #[test]
    fn rows_of_a_transposed_tile_waste_most_of_each_sector() {
        // 32 elements of bf16 of a lane, 2 KB of a warp: 64 sectors.
        let (along_n, along_m) = ([None, Some(2)], [Some(2), None]);
        let sectors = |layout: LinearLayout, strides, vector| {
            let sectors = layout.sectors(strides, vector, 2).unwrap();
            (sectors.asked, sectors.distinct)
        };
        assert_eq!(sectors(rows(), &along_n, 8), (64.0, 64.0));
        // Each of 32 requests of one element touches 8 columns, in each 4 rows; 4 warps share what they touch.
        assert_eq!(sectors(rows(), &along_m, 1), (32.0 * 8.0, 64.0));
        let moved = rows().along_memory(&along_m, 8).unwrap();
        assert_eq!(sectors(moved.clone(), &along_m, 8), (64.0, 64.0));
        assert_eq!(moved.contiguous_elements(&[0]), 8);
        assert_eq!(moved.num_registers(), 32);
    }

    #[test]
    fn pieces_of_rows_touch_a_line_each() {
        let bases = |values: [i32; 4], axis: usize| {
            let basis = |value| if axis == 0 { vec![value, 0] } else { vec![0, value] };
            values.map(basis).to_vec()
        };
        let line = |lanes: Vec<Basis>, shape: [i64; 2]| {
            LinearLayout::new([bases([1, 2, 4, 8], 1), lanes, vec![], vec![]], shape.to_vec()).unwrap()
        };
        let lines = |layout: LinearLayout, vector| {
            let sectors = layout.sectors(&[Some(1 << 10), Some(1)], vector, 1).unwrap();
            sectors.lines
        };
        // 16 lanes have 16 bytes each: of rows that are 1 KB apart, or of one row.
        let (apart, together) = (bases([1, 2, 4, 8], 0), bases([16, 32, 64, 128], 1));
        assert_eq!(lines(line(apart.clone(), [16, 16]), 16), 16.0);
        assert_eq!(lines(line(apart, [16, 16]), 8), 32.0);
        assert_eq!(lines(line(together.clone(), [1, 256]), 16), 2.0);
        assert_eq!(lines(line(together, [1, 256]), 8), 4.0);
    }

    #[test]
    fn narrow_accesses_touch_sectors_again() {
        let strides = [None, Some(1)];
        let asked = |vector| rows().sectors(&strides, vector, 1).map(|sectors| sectors.asked);
        assert_eq!(asked(8), Ok(4.0 * 8.0));
        assert_eq!(asked(1), Ok(8.0 * 4.0 * 8.0));
    }

    #[test]
    fn what_a_cta_leaves_of_a_sector_is_moved_too() {
        let bases = |values: &[i32]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
        let line = LinearLayout::new([vec![], bases(&[1, 2]), bases(&[4]), vec![]], vec![8]).unwrap();
        let sectors = |stride| line.sectors(&[stride], 1, 2).map(|sectors| sectors.distinct);
        assert_eq!(sectors(Some(2)), Ok(0.5));
        assert_eq!(sectors(Some(64)), Ok(4.0));
        assert_eq!(sectors(None), Ok(4.0));
    }

    #[test]
    fn a_small_tile_leaves_threads_with_copies() {
        let bases = |values: &[i32]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
        let line =
            LinearLayout::new([bases(&[8]), bases(&[1, 2, 4]), bases(&[0]), vec![]], vec![16]).unwrap();
        let moved = line.along_memory(&[Some(4)], 4).unwrap();
        assert_eq!(moved.bases(HardwareDim::Lane), bases(&[4, 8, 0]));
        assert_eq!(moved.num_registers(), 4);
        assert!(line.along_memory(&[], 1).is_err());
    }

    proptest! {
        #[test]
        fn renumbering_moves_nothing_between_threads(layout in any_layout(), pick in 0usize..3) {
            let axis = pick % layout.rank();
            let renumbered = layout.with_runs_lowest(axis);
            let map = layout.register_map_to(&renumbered).unwrap();
            prop_assert!(map.is_some());
            prop_assert!(renumbered.contiguous_elements(&[axis]) >= layout.contiguous_elements(&[axis]));
        }

        #[test]
        fn distinct_sectors_are_those_of_all_elements(layout in any_layout(), strides in prop::collection::vec(prop::option::of(-40i64..40), 3)) {
            let strides = &strides[..layout.rank()];
            let mut sectors = HashSet::new();
            for index in layout.indices().map(|index| HardwareIndex { block: 0, ..index }) {
                let at = layout.apply(index);
                let offset: i64 = at.iter().zip(strides).filter_map(|(value, stride)| Some(value * (*stride)?)).sum();
                let apart: Vec<i64> =
                    at.iter().zip(strides).filter(|(_, stride)| stride.is_none()).map(|(value, _)| *value).collect();
                sectors.insert((apart, offset.div_euclid(SECTOR_BYTES)));
            }
            let counted = layout.sectors(strides, 1, 1).unwrap();
            prop_assert_eq!(counted.distinct * layout.num_warps() as f64, sectors.len() as f64);
            prop_assert!(counted.lines <= counted.asked && counted.distinct <= counted.asked);
        }

        #[test]
        fn along_memory_holds_every_element(layout in any_layout(), strides in prop::collection::vec(prop::option::of(0i64..40), 3), vector in 0u32..4) {
            let strides = &strides[..layout.rank()];
            match layout.along_memory(strides, 1 << vector) {
                Ok(moved) => {
                    prop_assert_eq!(moved.num_lanes(), layout.num_lanes());
                    prop_assert_eq!(moved.num_warps(), layout.num_warps());
                    prop_assert_eq!(moved.shape(), layout.shape());
                }
                Err(error) => prop_assert_eq!(error, LayoutError::CrossesBlocks),
            }
        }
    }
}
