//! The tile that a cluster holds at a time, as the mapping lays it out over registers, lanes, warps and CTAs.
//!
//! The axes are those of the dims that [`super::plan`] makes of cluster, thread and register factors, in the same order. The bits
//! of a factor are columns of a linear layout. Within a level, the lowest bits belong to the innermost factor of the last dim, so
//! that neighbouring lanes hold neighbouring elements of the last dim.

use norma_dialects::norm::{DimRole, Level};
use norma_layout::{Basis, LayoutError, LinearLayout};
use norma_targets::WARP_SIZE;

use super::mapping::{Factor, Mapping};

/// The layout of a kernel's tile.
///
/// # Errors
///
/// The tile is larger than a layout may be.
pub fn layout(mapping: &Mapping) -> Result<LinearLayout, LayoutError> {
    let axes = axes(mapping);
    let rank = axes.len();
    let bases = |levels: &[Level]| -> Vec<Basis> {
        let mut bases = Vec::new();
        for level in levels {
            for (axis, factors) in axes.iter().enumerate().rev() {
                let mut offset = 1_i32;
                for factor in factors.iter().rev() {
                    let size = factor.size.unwrap_or(1) as i32;
                    if factor.level == *level {
                        bases.extend((0..size.ilog2()).map(|bit| {
                            let mut basis = vec![0; rank];
                            basis[axis] = offset << bit;
                            basis
                        }));
                    }
                    offset *= size;
                }
            }
        }
        bases
    };
    let mut lanes = bases(&[Level::Lane]);
    lanes.resize(WARP_SIZE.ilog2() as usize, vec![0; rank]);
    let shape = axes
        .iter()
        .map(|factors| factors.iter().filter_map(|factor| factor.size).product())
        .collect();
    LinearLayout::new(
        [
            bases(&[Level::Vector, Level::Register]),
            lanes,
            bases(&[Level::Warp]),
            bases(&[Level::Cluster]),
        ],
        shape,
    )
}

/// Returns the factors of each axis: runs of neighbouring factors of a dim that have the same role.
fn axes(mapping: &Mapping) -> Vec<Vec<Factor>> {
    let mut axes = Vec::<Vec<Factor>>::new();
    for dim in &mapping.spread {
        let mut last: Option<DimRole> = None;
        for factor in dim.iter().filter(|factor| factor.size != Some(1)) {
            let role = factor.role().filter(|_| factor.is_in_tile());
            match axes.last_mut() {
                Some(axis) if role.is_some() && last == role => axis.push(*factor),
                _ if role.is_some() => axes.push(vec![*factor]),
                _ => {}
            }
            last = role;
        }
    }
    axes
}

#[cfg(test)]
mod tests {
    use norma_dialects::norm::Level;

    use super::{Factor, Mapping, layout};

    fn layout_of(spread: &[&[(Level, i64)]]) -> Option<String> {
        let factors = |dim: &&[(Level, i64)]| {
            dim.iter()
                .map(|(level, size)| Factor::new(*level, *size))
                .collect()
        };
        let mapping = Mapping::new(spread.iter().map(factors).collect());
        layout(&mapping).ok().map(|layout| layout.to_string())
    }

    #[test]
    fn registers_and_threads_lie_along_axes_of_their_own() {
        let row = [
            (Level::Register, 2),
            (Level::Warp, 2),
            (Level::Lane, 32),
            (Level::Vector, 4),
        ];
        assert_eq!(
            layout_of(&[&row]).as_deref(),
            Some(
                "[2, 64, 4] register = [(0, 0, 1), (0, 0, 2), (1, 0, 0)], \
                 lane = [(0, 1, 0), (0, 2, 0), (0, 4, 0), (0, 8, 0), (0, 16, 0)], warp = [(0, 32, 0)]"
            )
        );
    }

    #[test]
    fn the_last_dim_has_the_lowest_lanes() {
        let rows = [(Level::Lane, 8)];
        let columns = [(Level::Lane, 4)];
        assert_eq!(
            layout_of(&[&rows, &columns]).as_deref(),
            Some("[8, 4] lane = [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)]")
        );
    }

    #[test]
    fn lanes_that_no_dim_takes_hold_what_others_hold() {
        assert_eq!(
            layout_of(&[&[(Level::Lane, 4)]]).as_deref(),
            Some("[4] lane = [(1), (2), (0), (0), (0)]")
        );
    }

    #[test]
    fn the_ctas_of_a_cluster_hold_parts_of_one_tile() {
        let row = [(Level::Cluster, 4), (Level::Warp, 2), (Level::Lane, 32)];
        assert_eq!(
            layout_of(&[&row]).as_deref(),
            Some(
                "[4, 64] lane = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16)], warp = [(0, 32)], block = [(1, 0), (2, 0)]"
            )
        );
    }

    #[test]
    fn a_factor_between_keeps_the_parts_of_a_dim_apart() {
        let rows = [(Level::Register, 2), (Level::Grid, 8), (Level::Register, 4)];
        assert_eq!(
            layout_of(&[&rows]).as_deref(),
            Some(
                "[2, 4] register = [(0, 1), (0, 2), (1, 0)], lane = [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0)]"
            )
        );
    }
}
