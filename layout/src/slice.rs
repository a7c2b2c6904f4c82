//! Dropping an axis, as a reduction or a broadcast operand does, and finding the way back.
//!
//! The slice of a layout is the layout followed by the projection along the axis. Lanes, warps and CTAs stay, so a
//! value that many threads hold is visibly replicated (zero bases); registers that would repeat another are dropped.

use crate::bits::{Span, combine};
use crate::error::LayoutError;
use crate::linear::{Basis, HardwareDim, LinearLayout};

/// A layout without one of its axes, and how its registers relate to the parent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// The layout of the tile without the axis.
    pub layout: LinearLayout,
    /// For each slice register the parent register that it stands for, the lowest of its kind.
    pub parent_register: Vec<usize>,
    /// For each parent register the slice register with the same remaining coordinates; broadcasting a sliced value
    /// back along the axis reads through this map.
    pub slice_register: Vec<usize>,
}

impl LinearLayout {
    /// This layout without `axis`.
    ///
    /// # Errors
    /// If there is no such axis.
    pub fn slice(&self, axis: usize) -> Result<Slice, LayoutError> {
        self.check_axis(axis)?;
        let columns = self.columns_without(axis, HardwareDim::Register);
        let mut span = Span::default();
        let mut kept = Vec::new();
        for (bit, &column) in columns.iter().enumerate() {
            if span.insert(column, 1 << kept.len()).is_none() {
                kept.push(bit);
            }
        }
        let slice_register = (0..self.num_registers())
            // Kept columns span all columns, so every register can be expressed.
            .map(|register| span.express(combine(&columns, register as u64)).unwrap_or(0) as usize)
            .collect();
        let spread = |register: usize| {
            kept.iter()
                .enumerate()
                .map(|(i, &bit)| (register >> i & 1) << bit)
                .sum::<usize>()
        };
        let without_axis = |basis: &Basis| {
            let mut basis = basis.clone();
            basis.remove(axis);
            basis
        };
        let bases = HardwareDim::ALL.map(|dim| match dim {
            HardwareDim::Register => kept
                .iter()
                .map(|&bit| without_axis(&self.bases(dim)[bit]))
                .collect(),
            _ => self.bases(dim).iter().map(without_axis).collect(),
        });
        let mut shape = self.shape().to_vec();
        shape.remove(axis);
        Ok(Slice {
            layout: Self::new(bases, shape)?,
            parent_register: (0..1 << kept.len()).map(spread).collect(),
            slice_register,
        })
    }

    /// The packed bases of `dim` with the bits of `axis` cleared.
    pub(crate) fn columns_without(&self, axis: usize, dim: HardwareDim) -> Vec<u64> {
        self.dim_columns(dim)
            .iter()
            .map(|column| column & !self.axis_mask(axis))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::HardwareIndex;
    use crate::sampling::any_layout;
    use proptest::prelude::*;

    #[test]
    fn slicing_keeps_threads_as_replicas_and_drops_registers() {
        let layout = LinearLayout::new(
            [
                vec![vec![0, 1], vec![2, 0]],
                vec![vec![0, 2], vec![0, 4]],
                vec![vec![1, 0]],
                vec![],
            ],
            vec![4, 8],
        )
        .unwrap();
        let slice = layout.slice(1).unwrap();
        assert_eq!(
            slice.layout.to_string(),
            "[4] register = [(2)], lane = [(0), (0)], warp = [(1)]"
        );
        assert_eq!(slice.parent_register, [0, 2]);
        assert_eq!(slice.slice_register, [0, 0, 1, 1]);
    }

    #[test]
    fn slicing_the_only_axis_leaves_a_scalar_in_every_thread() {
        let layout = LinearLayout::identity(HardwareDim::Lane, 0, 1, 32).unwrap();
        let slice = layout.slice(0).unwrap();
        assert_eq!(slice.layout.rank(), 0);
        assert_eq!(slice.layout.free_mask(HardwareDim::Lane), 31);
    }

    proptest! {
        #[test]
        fn the_slice_agrees_with_the_parent_and_repeats_no_register(layout in any_layout(), pick in 0usize..3) {
            let axis = pick % layout.rank();
            let slice = layout.slice(axis).unwrap();
            for index in layout.indices() {
                let mut expected = layout.apply(index);
                expected.remove(axis);
                let register = slice.slice_register[index.register];
                prop_assert_eq!(slice.layout.apply(HardwareIndex { register, ..index }), expected);
            }
            for (register, &parent) in slice.parent_register.iter().enumerate() {
                prop_assert_eq!(slice.slice_register[parent], register);
            }
            prop_assert_eq!(slice.layout.free_mask(HardwareDim::Register), 0);
        }
    }
}
