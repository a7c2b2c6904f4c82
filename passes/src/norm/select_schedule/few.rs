//! Further schedules for a kernel that is called with few points as well as with many.
//!
//! The schedule for many fills the GPU with CTAs of few threads or of several rows each. With only as many rows as there are SMs it
//! leaves most of each SM idle, and more threads for each row would finish sooner. Where the points are those of one row, the
//! schedule for many splits it over CTAs and takes several kernels, and one CTA finishes a short row sooner.

use melior::Error;
use norma_dialects::norm::KernelOp;
use norma_targets::Target;

use super::better::{Better, cheapest_of, multiple_of_size, pays};
use crate::{
    kernel::space::Space,
    mlir::pass::PassError,
    schedule::{
        cost::cost,
        facts::{Facts, Use},
        mapping::Mapping,
        plan,
    },
};

/// The numbers of points that are tried, as divisors of the target's number of SMs: a point for each SM; and fewer, so that each may
/// have the SMs of a cluster. LayerNorm of 16 rows of 16384 columns takes 3.3 us by one CTA for each row, and 2.4 us in clusters of 8
/// (docs/measurements/few-rows.md).
const SHARES: [u64; 3] = [1, 4, 16];

/// The numbers of points of a row that are tried.
const ROW_POINTS: [u64; 2] = [1 << 15, 1 << 17];

/// Schedules for few points of the kernel's dynamic dim, those for the fewest first. Each is better at its number of points, by [`pays`], than
/// the next one, and the last than `many`, the schedule for many points.
pub(super) fn few<'c>(
    space: &Space<'c, '_>,
    facts: &Facts,
    many: &Mapping,
    target: &Target,
) -> Result<Vec<Better>, PassError<'c>> {
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
    let mut all = Vec::<Better>::new();
    for points in tried
        .into_iter()
        .filter(|points| (1..many_extent).contains(points))
    {
        let rival = all.last().map_or(many, |few| &few.mapping);
        let facts = Facts::with_open_extent(space, points)?;
        let best = cheapest_of(space, &facts, target);
        let (Some((mapping, best)), Some(cost_of_rival)) = (best, cost(&facts, rival, target)) else {
            continue;
        };
        if !pays(&best, &cost_of_rival) {
            continue;
        }
        let beyond = all.last().map_or(many_extent, |few| few.most * points_of_one);
        let most = most_points(space, (&mapping, rival), (points, beyond), target)? / points_of_one;
        let size = space.sizes[symbol];
        if most > 0 && applies_up_to(space.kernel()?, &mapping, size, most)? {
            all.push(Better {
                mapping,
                extent: points,
                cost: best,
                cost_of_rival,
                size,
                most,
            });
        }
    }
    all.reverse();
    Ok(all)
}

/// Whether a schedule also applies where a size, as (buffer, axis), is known to be at most `most`: a loop over parts of one step each is none,
/// and has no steps for groups of consumers to take in turns.
fn applies_up_to<'c>(
    kernel: KernelOp<'c, '_>,
    mapping: &Mapping,
    size: (usize, usize),
    most: u64,
) -> Result<bool, PassError<'c>> {
    let mut space = Space::of(kernel)?;
    if let Ok(most) = i64::try_from(most) {
        space.assume_at_most(size.0, size.1, most);
    }
    Ok(plan::check(&space, mapping).is_ok())
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
