//! A second schedule for a kernel that is called with few points as well as with many.
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
        cost::{Assembled, Cost, KERNEL_US, cheapest, cost},
        facts::{Facts, Use},
        mapping::Mapping,
        plan,
    },
};

/// The factor by which the schedule for many points has to be slower at few points, launch included, for a second kernel to be worth
/// it: the model's errors are below a tenth.
const GAIN: f64 = 1.1;

/// The numbers of points that are tried, as divisors of the target's number of SMs: a point for each SM; and fewer, so that each may
/// have the SMs of a cluster. By the model RMSNorm of 16 rows of 65536 columns takes 3.9 us in clusters of 8 CTAs; with a row for each
/// SM, clusters are no faster than one CTA for each row.
const SHARES: [u64; 3] = [1, 4, 8];

/// The numbers of points of a row that are tried.
const ROW_POINTS: [u64; 2] = [1 << 15, 1 << 17];

/// A schedule that is better for few points.
pub(super) struct Few {
    /// The schedule.
    pub(super) mapping: Mapping,
    /// The number of points at which the two schedules were compared.
    pub(super) points: u64,
    /// Its expected cost at that number of points, and that of the schedule for many.
    pub(super) cost: Cost,
    pub(super) cost_of_many: Cost,
    /// The size that the number of points follows from, as (buffer, axis).
    pub(super) size: (usize, usize),
    /// The largest such size tried for which it is better.
    pub(super) most: u64,
}

/// A schedule for few points of the kernel's dynamic dim, if `many`, the one for many points, is worse there by [`GAIN`].
pub(super) fn few(
    space: &Space<'_, '_>,
    facts: &Facts,
    many: &Mapping,
    target: &Target,
) -> Result<Option<Few>, Error> {
    let least = Facts::with_open_extent(space, 1)?;
    let differs = |dim: &usize| facts.dims[*dim].extent != least.dims[*dim].extent;
    let Some(dim) = (0..facts.dims.len()).find(differs) else {
        return Ok(None);
    };
    let Some((symbol, points_of_one)) = multiple_of_size(space, dim) else {
        return Ok(None);
    };
    let many_extent = facts.dims[dim].extent;
    let at = |extent: u64| Facts::with_open_extent(space, extent);
    let is_legal = |mapping: &Mapping| plan::check(space, mapping).is_ok();
    let sms = u64::from(target.part.sms);
    let tried = match facts.dims[dim].usage {
        Use::Reduced => ROW_POINTS.to_vec(),
        Use::Kept | Use::Both if points_of_one == 1 => SHARES.iter().map(|share| sms / share).collect(),
        // Where several points belong to a row, as many points as SMs are less than a row.
        Use::Kept | Use::Both => return Ok(None),
    };
    let mut gained = None;
    for points in tried
        .into_iter()
        .filter(|points| (1..many_extent).contains(points))
    {
        let facts = at(points)?;
        let all = candidates(&facts, target);
        let best = cheapest(&facts, all, target, &Assembled::default(), is_legal);
        let (Some((mapping, best)), Some(cost_of_many)) = (best, cost(&facts, many, target)) else {
            continue;
        };
        if cost_of_many.total() + KERNEL_US > GAIN * (best.total() + KERNEL_US) {
            gained = Some((points, mapping, best, cost_of_many));
            break;
        }
    }
    let Some((points, mapping, best, cost_of_many)) = gained else {
        return Ok(None);
    };
    let mut most = points;
    for extent in std::iter::successors(Some(2 * points), |extent| Some(2 * extent)) {
        if extent >= many_extent {
            break;
        }
        let facts = at(extent)?;
        let is_better = cost(&facts, &mapping, target)
            .zip(cost(&facts, many, target))
            .is_some_and(|(few, many)| few.total() < many.total());
        if !is_better {
            break;
        }
        most = extent;
    }
    let most = most / points_of_one;
    Ok((most > 0).then(|| Few {
        mapping,
        points,
        cost: best,
        cost_of_many,
        size: space.sizes[symbol],
        most,
    }))
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
