//! A second schedule for a kernel that is called with few points as well as with many.
//!
//! The schedule for many fills the machine with CTAs of few threads or of several rows each. With as many rows as there are
//! SMs it leaves most of each SM idle, and more threads for a row would end sooner.

use melior::Error;
use norma_targets::Target;

use crate::{
    kernel::space::Space,
    schedule::{
        candidates::candidates,
        cost::{Assembled, Cost, KERNEL_US, cheapest, cost},
        facts::Facts,
        mapping::Mapping,
        plan,
    },
};

/// How many times as long a call with the schedule for many points must take with few of them, its launch included, lest a
/// second kernel be worth nothing: the model's errors are below a tenth.
const GAIN: f64 = 1.1;

/// What is better for few points.
pub(super) struct Few {
    /// The schedule.
    pub(super) mapping: Mapping,
    /// What it is expected to take with as many points as the target has SMs, and what the schedule for many would.
    pub(super) cost: Cost,
    pub(super) cost_of_many: Cost,
    /// The size that counts the points, as (buffer, axis).
    pub(super) size: (usize, usize),
    /// The largest size tried for which it is better.
    pub(super) most: u64,
}

/// The schedule for few points of the one dim that only the run knows, if `many`, the one for many, is that much worse.
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
    let extent = space.extents[dim];
    if !extent.is_symbol() {
        return Ok(None);
    }
    let many_extent = facts.dims[dim].extent;
    let at = |extent: u64| Facts::with_open_extent(space, extent);
    let few_extent = u64::from(target.part.sms);
    if few_extent >= many_extent {
        return Ok(None);
    }
    let facts = at(few_extent)?;
    let all = candidates(&facts, target);
    let is_legal = |mapping: &Mapping| plan::check(space, mapping).is_ok();
    let best = cheapest(&facts, all, target, &Assembled::default(), is_legal);
    let (Some((mapping, best)), Some(cost_of_many)) = (best, cost(&facts, many, target)) else {
        return Ok(None);
    };
    if cost_of_many.total() + KERNEL_US <= GAIN * (best.total() + KERNEL_US) {
        return Ok(None);
    }
    let mut most = few_extent;
    for extent in std::iter::successors(Some(2 * few_extent), |extent| Some(2 * extent)) {
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
    Ok(Some(Few {
        mapping,
        cost: best,
        cost_of_many,
        size: space.sizes[extent.symbol_position()],
        most,
    }))
}
