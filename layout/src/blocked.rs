//! Blocked layouts: a thread owns a small box, lanes tile it over a warp, warps over a CTA, CTAs over the cluster.
//!
//! The meaning is that of Triton's and Gluon's `BlockedLayout`. Where the tile is larger than the box that all threads
//! cover, the box repeats, in further registers. Where it is smaller, lanes, warps and CTAs beyond the tile hold
//! copies (zero bases), and registers beyond it do not exist: a thread never holds an element twice.

use crate::error::LayoutError;
use crate::linear::{HardwareDim, LinearLayout, check_order, log2_of, unit_basis};

/// The parameters of a blocked layout; every list but `order` has one power of two per axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlockedParams {
    /// Adjacent elements that one thread holds.
    pub size_per_thread: Vec<i64>,
    /// Lanes along each axis; their product is the warp size.
    pub threads_per_warp: Vec<i64>,
    /// Warps along each axis.
    pub warps_per_cta: Vec<i64>,
    /// CTAs of the cluster along each axis; the tile is split between them before anything else.
    pub ctas_per_cluster: Vec<i64>,
    /// The axes from the fastest to the slowest.
    pub order: Vec<usize>,
}

impl LinearLayout {
    /// The blocked layout of a tile of this shape.
    ///
    /// # Errors
    /// If a list is not of the tile's rank, an entry is no power of two, or `order` is no permutation.
    pub fn blocked(params: &BlockedParams, shape: &[i64]) -> Result<Self, LayoutError> {
        let rank = shape.len();
        let lists = [
            ("size_per_thread", &params.size_per_thread),
            ("threads_per_warp", &params.threads_per_warp),
            ("warps_per_cta", &params.warps_per_cta),
            ("ctas_per_cluster", &params.ctas_per_cluster),
        ];
        for (what, list) in lists {
            if list.len() != rank {
                return Err(LayoutError::RankMismatch {
                    what,
                    expected: rank,
                    got: list.len(),
                });
            }
            list.iter()
                .try_for_each(|&entry| log2_of(what, entry).map(drop))?;
        }
        check_order(rank, &params.order)?;
        shape
            .iter()
            .try_for_each(|&extent| log2_of("a tile extent", extent).map(drop))?;

        let cta_shape: Vec<i64> = shape
            .iter()
            .zip(&params.ctas_per_cluster)
            .map(|(&extent, &ctas)| (extent / ctas).max(1))
            .collect();
        let mut bases: [Vec<_>; 4] = Default::default();
        // The coordinate of the next bit along each axis: each level starts where the finer ones ended.
        let mut next = vec![1_i64; rank];
        let levels = [
            (HardwareDim::Register, &params.size_per_thread),
            (HardwareDim::Lane, &params.threads_per_warp),
            (HardwareDim::Warp, &params.warps_per_cta),
        ];
        for (dim, extents) in levels {
            for &axis in &params.order {
                for _ in 0..extents[axis].ilog2() {
                    let inside = next[axis] < cta_shape[axis];
                    if inside {
                        bases[dim as usize].push(unit_basis(rank, axis, next[axis] as i32));
                        next[axis] *= 2;
                    } else if dim != HardwareDim::Register {
                        bases[dim as usize].push(vec![0; rank]);
                    }
                }
            }
        }
        for &axis in &params.order {
            while next[axis] < cta_shape[axis] {
                bases[HardwareDim::Register as usize].push(unit_basis(rank, axis, next[axis] as i32));
                next[axis] *= 2;
            }
        }
        for &axis in &params.order {
            for _ in 0..params.ctas_per_cluster[axis].ilog2() {
                let inside = next[axis] < shape[axis];
                bases[HardwareDim::Block as usize].push(if inside {
                    unit_basis(rank, axis, next[axis] as i32)
                } else {
                    vec![0; rank]
                });
                next[axis] *= if inside { 2 } else { 1 };
            }
        }
        Self::new(bases, shape.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::blocked_and_shape;
    use proptest::prelude::*;

    fn row_params() -> BlockedParams {
        BlockedParams {
            size_per_thread: vec![1, 4],
            threads_per_warp: vec![1, 32],
            warps_per_cta: vec![2, 2],
            ctas_per_cluster: vec![1, 1],
            order: vec![1, 0],
        }
    }

    #[test]
    fn a_tile_of_exactly_the_block_is_bijective() {
        let layout = LinearLayout::blocked(&row_params(), &[2, 256]).unwrap();
        assert!(layout.is_injective());
        assert_eq!(
            layout.to_string(),
            "[2, 256] register = [(0, 1), (0, 2)], lane = [(0, 4), (0, 8), (0, 16), (0, 32), (0, 64)], \
             warp = [(0, 128), (1, 0)]"
        );
    }

    #[test]
    fn a_larger_tile_repeats_in_registers_fastest_axis_first() {
        let layout = LinearLayout::blocked(&row_params(), &[4, 512]).unwrap();
        assert_eq!(
            layout.bases(HardwareDim::Register),
            [[0, 1], [0, 2], [0, 256], [2, 0]]
        );
    }

    #[test]
    fn a_smaller_tile_is_replicated_over_threads_but_not_registers() {
        let layout = LinearLayout::blocked(&row_params(), &[1, 2]).unwrap();
        assert_eq!(layout.num_registers(), 2);
        assert_eq!(layout.free_mask(HardwareDim::Lane), 31);
        assert_eq!(layout.free_mask(HardwareDim::Warp), 3);
    }

    #[test]
    fn ctas_split_the_tile_before_threads_do() {
        let params = BlockedParams {
            ctas_per_cluster: vec![1, 4],
            ..row_params()
        };
        let layout = LinearLayout::blocked(&params, &[2, 1024]).unwrap();
        assert_eq!(layout.bases(HardwareDim::Block), [[0, 256], [0, 512]]);
        assert_eq!(layout.within_block().unwrap().shape(), [2, 256]);
    }

    #[test]
    fn lists_are_checked() {
        let wrong_rank = BlockedParams {
            warps_per_cta: vec![4],
            ..row_params()
        };
        assert_eq!(
            LinearLayout::blocked(&wrong_rank, &[2, 256])
                .unwrap_err()
                .to_string(),
            "expected warps_per_cta to have 2 entries, one per axis, got 1"
        );
        let odd = BlockedParams {
            size_per_thread: vec![1, 3],
            ..row_params()
        };
        assert_eq!(
            LinearLayout::blocked(&odd, &[2, 256]).unwrap_err().to_string(),
            "expected size_per_thread to be a power of two, got 3"
        );
        let order = BlockedParams {
            order: vec![1, 1],
            ..row_params()
        };
        assert!(matches!(
            LinearLayout::blocked(&order, &[2, 256]),
            Err(LayoutError::BadOrder { .. })
        ));
    }

    proptest! {
        #[test]
        fn thread_counts_follow_the_parameters((params, shape) in blocked_and_shape()) {
            let layout = LinearLayout::blocked(&params, &shape).unwrap();
            prop_assert_eq!(layout.num_lanes() as i64, params.threads_per_warp.iter().product::<i64>());
            prop_assert_eq!(layout.num_warps() as i64, params.warps_per_cta.iter().product::<i64>());
            prop_assert_eq!(layout.num_blocks() as i64, params.ctas_per_cluster.iter().product::<i64>());
            prop_assert_eq!(layout.free_mask(HardwareDim::Register), 0);
            prop_assert!(layout.is_additive());
            prop_assert!(layout.within_block().is_ok());
        }
    }
}
