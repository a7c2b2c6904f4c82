//! A thread's coordinate as code: shifts and masks of lane, warp and block ids, and one constant per register.
//!
//! Along an axis the coordinate is the XOR of the bases of set index bits. Where no two bases share a bit of the axis
//! ([`LinearLayout::is_additive`]; true of every blocked layout) XOR is addition, so the per-register part can be an
//! immediate offset of a load. Neighbouring index bits with neighbouring contributions become one term, so
//! `lane * 8` is one multiply and not five selects.

use crate::error::LayoutError;
use crate::linear::{HardwareDim, LinearLayout};

/// `((id >> shift) & mask) * multiplier`, where `id` is the index along `dim`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StridedTerm {
    /// The level whose id is used.
    pub dim: HardwareDim,
    /// The first bit used.
    pub shift: u32,
    /// The bits used after the shift; `None` if the term reaches the id's last bit, where no mask is needed.
    pub mask: Option<u32>,
    /// What one step of the masked id moves; a power of two where the term has several bits, so that the product is
    /// linear over GF(2) too.
    pub multiplier: i64,
}

impl StridedTerm {
    /// The term's value for an id.
    pub fn value(&self, id: usize) -> i64 {
        let shifted = (id >> self.shift) as i64;
        self.mask.map_or(shifted, |mask| shifted & i64::from(mask)) * self.multiplier
    }
}

/// A coordinate along one axis, split into what depends on the thread and what on the register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetSplit {
    /// The thread's part, to be combined over all terms.
    pub thread_terms: Vec<StridedTerm>,
    /// The register's part, one constant per register.
    pub register_offsets: Vec<i64>,
    /// Whether the parts may be added; otherwise they have to be XORed.
    pub additive: bool,
}

impl LinearLayout {
    /// Whether along every axis XOR of bases equals their sum.
    pub fn is_additive(&self) -> bool {
        (0..self.rank()).all(|axis| self.is_additive_along(axis))
    }

    /// The coordinate along `axis` as thread terms and register constants.
    ///
    /// # Errors
    /// If there is no such axis.
    pub fn offset_split(&self, axis: usize) -> Result<OffsetSplit, LayoutError> {
        self.check_axis(axis)?;
        let registers = self.bases(HardwareDim::Register);
        let constant = |register: usize| {
            registers
                .iter()
                .enumerate()
                .filter(|(bit, _)| register >> bit & 1 == 1)
                .fold(0, |sum, (_, basis)| sum ^ i64::from(basis[axis]))
        };
        let mut thread_terms = Vec::new();
        for dim in [HardwareDim::Lane, HardwareDim::Warp, HardwareDim::Block] {
            thread_terms.extend(self.strided_terms(dim, axis)?);
        }
        Ok(OffsetSplit {
            thread_terms,
            register_offsets: (0..self.num_registers()).map(constant).collect(),
            additive: self.is_additive_along(axis),
        })
    }

    /// Returns what `dim` contributes to the coordinate along `axis`, as one term for each run of doubling bases.
    ///
    /// # Errors
    /// If there is no such axis.
    pub fn strided_terms(&self, dim: HardwareDim, axis: usize) -> Result<Vec<StridedTerm>, LayoutError> {
        self.check_axis(axis)?;
        let contributions: Vec<i64> = self
            .bases(dim)
            .iter()
            .map(|basis| i64::from(basis[axis]))
            .collect();
        let mut terms = Vec::new();
        let mut first = 0;
        while first < contributions.len() {
            let multiplier = contributions[first];
            let mut end = first + 1;
            if multiplier == 0 {
                first = end;
                continue;
            }
            let doubles = |bit: usize| contributions.get(bit) == Some(&(multiplier << (bit - first)));
            while multiplier.count_ones() == 1 && doubles(end) {
                end += 1;
            }
            let mask = (end < contributions.len()).then(|| (1_u32 << (end - first)) - 1);
            terms.push(StridedTerm {
                dim,
                shift: first as u32,
                mask,
                multiplier,
            });
            first = end;
        }
        Ok(terms)
    }

    fn is_additive_along(&self, axis: usize) -> bool {
        let mut seen = 0;
        HardwareDim::ALL
            .iter()
            .flat_map(|&dim| self.bases(dim))
            .all(|basis| {
                let disjoint = seen & basis[axis] == 0;
                seen |= basis[axis];
                disjoint
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::any_layout;
    use proptest::prelude::*;

    fn line(lane: &[i32], extent: i64) -> LinearLayout {
        let bases = lane.iter().map(|&value| vec![value]).collect();
        LinearLayout::new([vec![], bases, vec![], vec![]], vec![extent]).unwrap()
    }

    #[test]
    fn consecutive_lanes_are_one_multiply_without_a_mask() {
        let layout = LinearLayout::new(
            [
                vec![vec![1], vec![2], vec![4]],
                vec![vec![8], vec![16]],
                vec![vec![32]],
                vec![],
            ],
            vec![64],
        )
        .unwrap();
        let split = layout.offset_split(0).unwrap();
        let term = |dim, multiplier| StridedTerm {
            dim,
            shift: 0,
            mask: None,
            multiplier,
        };
        assert_eq!(
            split.thread_terms,
            [term(HardwareDim::Lane, 8), term(HardwareDim::Warp, 32)]
        );
        assert_eq!(split.register_offsets, (0..8).collect::<Vec<_>>());
        assert!(split.additive);
    }

    #[test]
    fn a_break_in_the_doubling_starts_a_new_term() {
        let terms = line(&[1, 2, 0, 8, 4], 16)
            .strided_terms(HardwareDim::Lane, 0)
            .unwrap();
        let term = |shift, mask, multiplier| StridedTerm {
            dim: HardwareDim::Lane,
            shift,
            mask,
            multiplier,
        };
        assert_eq!(
            terms,
            [term(0, Some(3), 1), term(3, Some(1), 8), term(4, None, 4)]
        );
    }

    #[test]
    fn bases_of_several_bits_stay_single_terms() {
        // As one term lane 3 would be at 3 * 3 = 9, and is at 3 ^ 6 = 5.
        let layout = line(&[3, 6, 4], 8);
        let terms = layout.strided_terms(HardwareDim::Lane, 0).unwrap();
        assert_eq!(
            terms.iter().map(|term| term.multiplier).collect::<Vec<_>>(),
            [3, 6, 4]
        );
    }

    #[test]
    fn overlapping_bases_are_not_additive() {
        let layout = line(&[3, 2], 4);
        assert!(!layout.is_additive());
        assert!(!layout.offset_split(0).unwrap().additive);
    }

    proptest! {
        #[test]
        fn the_split_recombines_to_the_coordinate(layout in any_layout(), pick in 0usize..3) {
            let axis = pick % layout.rank();
            let split = layout.offset_split(axis).unwrap();
            for index in layout.indices() {
                let parts: Vec<i64> = split
                    .thread_terms
                    .iter()
                    .map(|term| term.value(index.get(term.dim)))
                    .chain([split.register_offsets[index.register]])
                    .collect();
                let expected = layout.apply(index)[axis];
                prop_assert_eq!(parts.iter().fold(0, |sum, part| sum ^ part), expected);
                if split.additive {
                    prop_assert_eq!(parts.iter().sum::<i64>(), expected);
                }
            }
        }
    }
}
