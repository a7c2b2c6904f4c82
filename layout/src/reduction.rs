//! Reducing along an axis, level by level: registers, then lanes, then warps, then CTAs.
//!
//! Let `L` be the layout and `S` its slice without the axis. The places that hold the addends of one result differ by
//! a vector of ker `S`, and copies of one addend by a vector of ker `L`. For each level, finest first, vectors of that
//! level's part of ker `S` are taken as long as their images under `L` are independent. When the images span the axis,
//! then the sum over the taken vectors meets every element of the axis exactly once, whatever is replicated and
//! however coordinates are permuted; when they do not, no level-by-level reduction exists
//! ([`LayoutError::EntangledAxis`]). For blocked layouts the vectors are single bits.
//!
//! Warps exchange partials through their CTA's shared memory, so the threads of a CTA must all hold addends of the same
//! CTA's share of the axis; a layout where they do not is rejected as entangled too.

use crate::bits::{Span, combine, kernel, subspace};
use crate::error::LayoutError;
use crate::linear::{Basis, HardwareDim, LinearLayout};

/// The registers, lanes, warps and CTAs that a reduction along one axis combines. The result has the layout of
/// [`LinearLayout::slice`], and after each level every thread of that level holds the same value, so no broadcast is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReductionPlan {
    /// For each register of the slice, the registers that are combined into it.
    pub registers: Vec<Vec<usize>>,
    /// Lane XOR masks of the butterfly shuffles, to be done in any order.
    pub lane_shuffles: Vec<usize>,
    /// Warps that differ by XORs of these masks hold partials of one result.
    pub warp_masks: Vec<usize>,
    /// CTAs that differ by XORs of these masks hold partials of one result.
    pub block_masks: Vec<usize>,
}

impl ReductionPlan {
    /// Partials per result and CTA that warps exchange; 1 if the reduction stays within a warp.
    pub fn warps(&self) -> usize {
        1 << self.warp_masks.len()
    }

    /// Partials per result that CTAs exchange; 1 if the reduction stays within a CTA.
    pub fn blocks(&self) -> usize {
        1 << self.block_masks.len()
    }
}

impl LinearLayout {
    /// How to reduce along `axis`.
    ///
    /// # Errors
    /// If there is no such axis, or it does not split into levels.
    pub fn reduction(&self, axis: usize) -> Result<ReductionPlan, LayoutError> {
        let [registers, lanes, warps, blocks] = self.reduction_masks(axis)?;
        let combined = subspace(&registers);
        let group = |&parent: &usize| {
            let mut members: Vec<usize> = combined.iter().map(|&mask| parent ^ mask as usize).collect();
            members.sort_unstable();
            members
        };
        let narrow = |masks: Vec<u64>| masks.into_iter().map(|mask| mask as usize).collect();
        Ok(ReductionPlan {
            registers: self.slice(axis)?.parent_register.iter().map(group).collect(),
            lane_shuffles: narrow(lanes),
            warp_masks: narrow(warps),
            block_masks: narrow(blocks),
        })
    }

    /// The levels that a reduction along `axis` has to combine, finest first.
    ///
    /// # Errors
    /// As [`Self::reduction`].
    pub fn levels_crossed(&self, axis: usize) -> Result<Vec<HardwareDim>, LayoutError> {
        let masks = self.reduction_masks(axis)?;
        Ok(HardwareDim::ALL
            .into_iter()
            .filter(|&dim| !masks[dim as usize].is_empty())
            .collect())
    }

    /// The tile of partials once a reduction along `axis` has combined every level below `dim`: the axis' extent is the
    /// number of partials per result that units of `dim` hold, and each thread holds its own unit's. The register
    /// numbers are those of the slice. For [`HardwareDim::Warp`] it is one CTA's own tile of partials.
    ///
    /// # Errors
    /// As [`Self::reduction`], and if `dim` is neither warp nor block.
    pub fn partial_layout(&self, axis: usize, dim: HardwareDim) -> Result<Self, LayoutError> {
        let masks = self.reduction_masks(axis)?;
        check_partials(dim)?;
        // Coordinates along the axis modulo what finer levels have combined; tags number what is left.
        let mut quotient = Span::default();
        for level in HardwareDim::ALL {
            let columns = self.dim_columns(level);
            for (i, &mask) in masks[level as usize].iter().enumerate() {
                quotient.insert(combine(&columns, mask), if level == dim { 1 << i } else { 0 });
            }
        }
        let slice = self.slice(axis)?;
        let partial = |level: HardwareDim| -> Vec<Basis> {
            let parents = match level {
                HardwareDim::Register => (0..slice.layout.bits(level))
                    .map(|bit| slice.parent_register[1 << bit].ilog2() as usize)
                    .collect(),
                _ => (0..self.bits(level)).collect::<Vec<_>>(),
            };
            let columns = self.dim_columns(level);
            parents
                .into_iter()
                .map(|bit| {
                    let mut basis = self.bases(level)[bit].clone();
                    // The masks span the axis, so every coordinate along it can be expressed.
                    basis[axis] = quotient.express(columns[bit] & self.axis_mask(axis)).unwrap_or(0) as i32;
                    basis
                })
                .collect()
        };
        let mut shape = self.shape().to_vec();
        shape[axis] = 1 << masks[dim as usize].len();
        Self::new(HardwareDim::ALL.map(partial), shape)
    }

    /// The tile of [`Self::partial_layout`] with all partials of a result in each thread's registers, adjacent and in
    /// the lowest register bits: reading it back and reducing registers alone finishes the reduction.
    ///
    /// # Errors
    /// As [`Self::partial_layout`].
    pub fn gathered_layout(&self, axis: usize, dim: HardwareDim) -> Result<Self, LayoutError> {
        let masks = self.reduction_masks(axis)?;
        check_partials(dim)?;
        let along_axis = Self::identity(
            HardwareDim::Register,
            axis,
            self.rank(),
            1 << masks[dim as usize].len(),
        )?;
        along_axis.product(&self.slice(axis)?.layout.with_unit_axis(axis)?)
    }

    /// Returns for each dim independent index vectors that move along `axis` alone; those of all dims together span the axis.
    fn reduction_masks(&self, axis: usize) -> Result<[Vec<u64>; 4], LayoutError> {
        self.check_axis(axis)?;
        // Only images of block masks have tags: a position of a thread that needs one to be expressed is in another CTA's share.
        let mut spanned = Span::default();
        let masks = HardwareDim::ALL.map(|dim| {
            let columns = self.dim_columns(dim);
            let mut masks = kernel(self.columns_without(axis, dim));
            masks.retain(|&mask| {
                let tag = u64::from(dim == HardwareDim::Block) << spanned.rank();
                spanned.insert(combine(&columns, mask), tag).is_none()
            });
            masks
        });
        let covers_axis = spanned.rank() == self.shape()[axis].ilog2() as usize;
        let within_block = HardwareDim::ALL
            .into_iter()
            .filter(|&dim| dim < HardwareDim::Block);
        let blocks_apart = within_block
            .flat_map(|dim| self.dim_columns(dim))
            .all(|column| spanned.express(column & self.axis_mask(axis)) == Some(0));
        if covers_axis && blocks_apart {
            Ok(masks)
        } else {
            Err(LayoutError::EntangledAxis { axis })
        }
    }
}

fn check_partials(dim: HardwareDim) -> Result<(), LayoutError> {
    match dim {
        HardwareDim::Warp | HardwareDim::Block => Ok(()),
        HardwareDim::Register | HardwareDim::Lane => Err(LayoutError::NoPartialsPer(dim)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::blocked::BlockedParams;
    use crate::linear::HardwareIndex;
    use crate::sampling::{any_layout, blocked_layout};
    use proptest::prelude::*;

    type Values = HashMap<HardwareIndex, i64>;

    /// A value per element such that a sum tells a dropped from a doubled element.
    fn element(layout: &LinearLayout, coordinate: &[i64]) -> i64 {
        let flat = coordinate
            .iter()
            .zip(layout.shape())
            .fold(0, |flat, (&i, &extent)| flat * extent + i);
        (flat * flat * 31 + flat * 7 + 1) % 1_000_003
    }

    fn without(coordinate: &[i64], axis: usize) -> Vec<i64> {
        let mut rest = coordinate.to_vec();
        rest.remove(axis);
        rest
    }

    fn butterfly(
        values: Values,
        masks: &[usize],
        flip: impl Fn(HardwareIndex, usize) -> HardwareIndex,
    ) -> Values {
        masks.iter().fold(values, |values, &mask| {
            values
                .iter()
                .map(|(&index, &value)| (index, value + values[&flip(index, mask)]))
                .collect()
        })
    }

    fn after_registers_and_lanes(
        layout: &LinearLayout,
        plan: &ReductionPlan,
        slice: &LinearLayout,
    ) -> Values {
        let in_registers = slice
            .indices()
            .map(|index| {
                let addend =
                    |&register: &usize| element(layout, &layout.apply(HardwareIndex { register, ..index }));
                (index, plan.registers[index.register].iter().map(addend).sum())
            })
            .collect();
        butterfly(in_registers, &plan.lane_shuffles, |i, mask| HardwareIndex {
            lane: i.lane ^ mask,
            ..i
        })
    }

    fn direct_sums(layout: &LinearLayout, axis: usize) -> HashMap<Vec<i64>, i64> {
        let inverse = layout.invert();
        let count: i64 = layout.shape().iter().product();
        let mut sums = HashMap::new();
        for flat in 0..count {
            let mut rest = flat;
            let mut coordinate = vec![0; layout.rank()];
            for i in (0..layout.rank()).rev() {
                coordinate[i] = rest % layout.shape()[i];
                rest /= layout.shape()[i];
            }
            assert_eq!(layout.apply(inverse.apply(&coordinate)), coordinate);
            *sums.entry(without(&coordinate, axis)).or_insert(0) += element(layout, &coordinate);
        }
        sums
    }

    fn check_reduction(layout: &LinearLayout, axis: usize) {
        let plan = layout.reduction(axis).unwrap();
        let slice = layout.slice(axis).unwrap().layout;
        let expected = direct_sums(layout, axis);
        let per_warp = after_registers_and_lanes(layout, &plan, &slice);
        let per_block = butterfly(per_warp.clone(), &plan.warp_masks, |i, mask| HardwareIndex {
            warp: i.warp ^ mask,
            ..i
        });
        let done = butterfly(per_block.clone(), &plan.block_masks, |i, mask| HardwareIndex {
            block: i.block ^ mask,
            ..i
        });
        for (&index, &value) in &done {
            assert_eq!(
                value,
                expected[&slice.apply(index)],
                "{layout} axis {axis} at {index:?}"
            );
        }
        check_exchange(layout, axis, HardwareDim::Warp, &per_warp, &per_block);
        check_exchange(layout, axis, HardwareDim::Block, &per_block, &done);
    }

    /// Writes partials through `partial_layout`, reads them through `gathered_layout` and sums registers.
    fn check_exchange(
        layout: &LinearLayout,
        axis: usize,
        dim: HardwareDim,
        partials: &Values,
        sums: &Values,
    ) {
        let written = layout.partial_layout(axis, dim).unwrap();
        let gathered = layout.gathered_layout(axis, dim).unwrap();
        assert_eq!(written.shape(), gathered.shape());
        // Warps exchange through their own CTA's memory, CTAs through one they all see.
        let memory_of = |index: HardwareIndex| if dim == HardwareDim::Warp { index.block } else { 0 };
        let mut memory: HashMap<(usize, Vec<i64>), i64> = HashMap::new();
        for (&index, &value) in partials {
            let previous = memory.insert((memory_of(index), written.apply(index)), value);
            assert!(
                previous.is_none_or(|previous| previous == value),
                "copies of a partial differ"
            );
        }
        let plan = gathered.reduction(axis).unwrap();
        assert_eq!((plan.lane_shuffles.len(), plan.warps(), plan.blocks()), (0, 1, 1));
        for (&index, &sum) in sums {
            let read = |&register: &usize| {
                memory[&(
                    memory_of(index),
                    gathered.apply(HardwareIndex { register, ..index }),
                )]
            };
            assert_eq!(plan.registers[index.register].iter().map(read).sum::<i64>(), sum);
        }
    }

    fn one_row_per_cta(ctas: i64) -> LinearLayout {
        let params = BlockedParams {
            size_per_thread: vec![1, 8],
            threads_per_warp: vec![1, 32],
            warps_per_cta: vec![1, 4],
            ctas_per_cluster: vec![1, ctas],
            order: vec![1, 0],
        };
        LinearLayout::blocked(&params, &[1, 2048 * ctas]).unwrap()
    }

    #[test]
    fn a_row_over_a_cta_uses_registers_shuffles_and_warps() {
        let layout = one_row_per_cta(1);
        let plan = layout.reduction(1).unwrap();
        assert_eq!(plan.registers, [(0..16).collect::<Vec<_>>()]);
        assert_eq!(plan.lane_shuffles, [1, 2, 4, 8, 16]);
        assert_eq!((plan.warps(), plan.blocks()), (4, 1));
        assert_eq!(
            layout.levels_crossed(1).unwrap(),
            [HardwareDim::Register, HardwareDim::Lane, HardwareDim::Warp]
        );
        assert_eq!(
            layout.partial_layout(1, HardwareDim::Warp).unwrap().to_string(),
            "[1, 4] lane = [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0)], warp = [(0, 1), (0, 2)]"
        );
        assert_eq!(
            layout
                .gathered_layout(1, HardwareDim::Warp)
                .unwrap()
                .bases(HardwareDim::Register),
            [[0, 1], [0, 2]]
        );
    }

    #[test]
    fn a_row_over_a_cluster_also_crosses_blocks() {
        let layout = one_row_per_cta(2);
        assert_eq!(layout.reduction(1).unwrap().block_masks, [1]);
        assert_eq!(
            layout.partial_layout(1, HardwareDim::Warp).unwrap().shape(),
            [1, 4]
        );
        assert_eq!(
            layout.partial_layout(1, HardwareDim::Block).unwrap().shape(),
            [1, 2]
        );
        check_reduction(&layout, 1);
    }

    #[test]
    fn replicated_lanes_are_not_added_twice() {
        let params = BlockedParams {
            size_per_thread: vec![1],
            threads_per_warp: vec![32],
            warps_per_cta: vec![2],
            ctas_per_cluster: vec![1],
            order: vec![0],
        };
        let layout = LinearLayout::blocked(&params, &[8]).unwrap();
        let plan = layout.reduction(0).unwrap();
        assert_eq!(plan.lane_shuffles, [1, 2, 4]);
        assert_eq!(plan.warps(), 1);
        check_reduction(&layout, 0);
    }

    #[test]
    fn an_axis_entangled_across_levels_is_rejected() {
        let bases = [vec![vec![1, 1]], vec![vec![0, 1]], vec![], vec![]];
        let layout = LinearLayout::new(bases, vec![2, 2]).unwrap();
        assert_eq!(layout.reduction(0), Err(LayoutError::EntangledAxis { axis: 0 }));
        check_reduction(&layout, 1);
    }

    #[test]
    fn threads_of_one_cta_with_addends_of_several_shares_are_rejected() {
        // Lanes hold rows 0 and 1, at columns that belong to different CTAs' shares.
        let bases = [vec![], vec![vec![1, 1]], vec![], vec![vec![0, 1]]];
        let layout = LinearLayout::new(bases, vec![2, 2]).unwrap();
        assert_eq!(layout.reduction(1), Err(LayoutError::EntangledAxis { axis: 1 }));
    }

    #[test]
    fn partials_exist_per_warp_or_block_only() {
        assert_eq!(
            one_row_per_cta(1).partial_layout(1, HardwareDim::Lane),
            Err(LayoutError::NoPartialsPer(HardwareDim::Lane))
        );
    }

    proptest! {
        #[test]
        fn blocked_layouts_reduce_every_element_exactly_once(layout in blocked_layout(), pick in 0usize..3) {
            check_reduction(&layout, pick % layout.rank());
        }

        #[test]
        fn whatever_is_not_entangled_reduces_every_element_exactly_once(layout in any_layout(), pick in 0usize..3) {
            let axis = pick % layout.rank();
            if layout.reduction(axis).is_ok() {
                check_reduction(&layout, axis);
            }
        }
    }
}
