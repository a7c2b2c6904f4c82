//! Further schedules for a kernel that is called with few points as well as with many.
//!
//! The schedule for many fills the GPU with CTAs of few threads or of several rows each. With only as many rows as there are SMs it
//! leaves most of each SM idle, and more threads for each row would finish sooner. Where the points are those of one row, the
//! schedule for many splits it over CTAs and takes several kernels, and one CTA finishes a short row sooner.

use melior::Error;
use norma_targets::Target;

use crate::{
    kernel::space::Space,
    mlir::linear_form::LinearForm,
    schedule::{
        candidates::candidates,
        cost::{Assembled, Cost, SHORT_LAUNCH_US, cheapest, cost},
        exchanges,
        facts::{Facts, Use},
        mapping::Mapping,
        plan,
    },
};

/// The factor by which the schedule for more points has to be slower at few points, launch included, for a further kernel to be worth it. Of
/// schedules for the same kernel the model orders those that differ by more than this right in most cases.
const GAIN: f64 = 1.07;

/// The numbers of points that are tried, as divisors of the target's number of SMs: a point for each SM; and fewer, so that each may
/// have the SMs of a cluster. LayerNorm of 16 rows of 16384 columns takes 3.3 us by one CTA for each row, and 2.4 us in clusters of 8
/// (docs/measurements/few-rows.md).
const SHARES: [u64; 3] = [1, 4, 16];

/// The numbers of points of a row that are tried.
const ROW_POINTS: [u64; 2] = [1 << 15, 1 << 17];

/// A schedule that is better for few points.
pub(super) struct Few {
    /// The schedule.
    pub(super) mapping: Mapping,
    /// The number of points at which the two schedules were compared.
    pub(super) points: u64,
    /// Its expected cost at that number of points, and that of the schedule that is launched for more points.
    pub(super) cost: Cost,
    pub(super) cost_of_rival: Cost,
    /// The size that the number of points follows from, as (buffer, axis).
    pub(super) size: (usize, usize),
    /// The largest such size tried for which it is better.
    pub(super) most: u64,
}

/// Schedules for few points of the kernel's dynamic dim, those for the fewest first. Each is better at its number of points, by [`GAIN`], than
/// the next one, and the last than `many`, the schedule for many points.
pub(super) fn few(
    space: &Space<'_, '_>,
    facts: &Facts,
    many: &Mapping,
    target: &Target,
) -> Result<Vec<Few>, Error> {
    let least = Facts::with_open_extent(space, 1)?;
    let differs = |dim: &usize| facts.dims[*dim].extent != least.dims[*dim].extent;
    let Some(dim) = (0..facts.dims.len()).find(differs) else {
        return Ok(Vec::new());
    };
    let Some((symbol, points_of_one)) = multiple_of_size(space, dim) else {
        return Ok(Vec::new());
    };
    let sms = u64::from(target.part.sms);
    let mut tried = match facts.dims[dim].usage {
        Use::Reduced => ROW_POINTS.to_vec(),
        Use::Kept | Use::Both if points_of_one == 1 => SHARES.iter().map(|share| sms / share).collect(),
        // Where several points belong to a row, as many points as SMs are less than a row.
        Use::Kept | Use::Both => return Ok(Vec::new()),
    };
    // A schedule for fewer points has to be better than the one that would be launched there otherwise.
    tried.sort_by_key(|points| std::cmp::Reverse(*points));
    let many_extent = facts.dims[dim].extent;
    let mut all = Vec::<Few>::new();
    for points in tried
        .into_iter()
        .filter(|points| (1..many_extent).contains(points))
    {
        let rival = all.last().map_or(many, |few| &few.mapping);
        let facts = Facts::with_open_extent(space, points)?;
        let is_legal = |mapping: &Mapping| {
            plan::check(space, mapping).is_ok() && exchanges::fit(&facts, mapping, target)
        };
        let best = cheapest(
            &facts,
            candidates(&facts, target),
            target,
            &Assembled::default(),
            is_legal,
        );
        let (Some((mapping, best)), Some(cost_of_rival)) = (best, cost(&facts, rival, target)) else {
            continue;
        };
        if cost_of_rival.total() + SHORT_LAUNCH_US <= GAIN * (best.total() + SHORT_LAUNCH_US) {
            continue;
        }
        let beyond = all.last().map_or(many_extent, |few| few.most * points_of_one);
        let most = most_points(space, (&mapping, rival), (points, beyond), target)? / points_of_one;
        if most > 0 {
            all.push(Few {
                mapping,
                points,
                cost: best,
                cost_of_rival,
                size: space.sizes[symbol],
                most,
            });
        }
    }
    all.reverse();
    Ok(all)
}

/// Returns the most points, among doublings of `points` below `beyond`, up to which the first of two schedules is the better one.
fn most_points(
    space: &Space<'_, '_>,
    (mapping, rival): (&Mapping, &Mapping),
    (points, beyond): (u64, u64),
    target: &Target,
) -> Result<u64, Error> {
    let mut most = points;
    for extent in std::iter::successors(Some(2 * points), |extent| Some(2 * extent)) {
        if extent >= beyond {
            break;
        }
        let facts = Facts::with_open_extent(space, extent)?;
        let is_better = cost(&facts, mapping, target)
            .zip(cost(&facts, rival, target))
            .is_some_and(|(few, rival)| few.total() < rival.total());
        if !is_better {
            break;
        }
        most = extent;
    }
    Ok(most)
}

/// Returns the size of which a dim's extent is a multiple, and the multiple: a tensor of m rows of 4096 elements has m * 4096 points.
/// `None` for any other extent.
fn multiple_of_size(space: &Space<'_, '_>, dim: usize) -> Option<(usize, u64)> {
    let extent = LinearForm::of(space.extents[dim], 0, space.sizes.len())?;
    let mut used = extent
        .symbols
        .iter()
        .enumerate()
        .filter(|(_, factor)| **factor != 0);
    let (symbol, factor) = used.next()?;
    let is_multiple = used.next().is_none() && extent.constant == 0;
    is_multiple.then_some((symbol, u64::try_from(*factor).ok()?))
}
