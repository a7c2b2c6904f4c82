//! Schedules that are better than a kernel's for some of its sizes.

use norma_targets::Target;

use crate::{
    kernel::space::Space,
    mlir::linear_form::LinearForm,
    schedule::{
        candidates::candidates,
        cost::{Assembled, Cost, SHORT_LAUNCH_US, cheapest},
        exchanges,
        facts::Facts,
        mapping::Mapping,
        plan,
    },
};

/// The factor by which a kernel's schedule has to be slower at some size than another, launch included, for a further kernel to be worth it. Of
/// schedules for the same kernel the model orders those that differ by more than this right in most cases.
const GAIN: f64 = 1.07;

/// A schedule that is better up to some size.
pub(super) struct Better {
    /// The schedule.
    pub(super) mapping: Mapping,
    /// The extent at which the two schedules were compared.
    pub(super) extent: u64,
    /// Its expected cost at that extent, and that of the schedule that is launched for larger sizes.
    pub(super) cost: Cost,
    pub(super) cost_of_rival: Cost,
    /// The size that the extent follows from, as (buffer, axis).
    pub(super) size: (usize, usize),
    /// The largest such size tried for which it is better.
    pub(super) most: u64,
}

/// The cheapest schedule that applies to a kernel as `space` and `facts` say it is for some sizes, with its expected cost; nothing of it has been
/// assembled.
pub(super) fn cheapest_of(space: &Space<'_, '_>, facts: &Facts, target: &Target) -> Option<(Mapping, Cost)> {
    let is_legal =
        |mapping: &Mapping| plan::check(space, mapping).is_ok() && exchanges::fit(facts, mapping, target);
    cheapest(
        facts,
        candidates(facts, target),
        target,
        &Assembled::default(),
        is_legal,
    )
}

/// Whether a schedule is so much better than another that it is worth a kernel of its own.
pub(super) fn pays(cost: &Cost, of_rival: &Cost) -> bool {
    of_rival.total() + SHORT_LAUNCH_US > GAIN * (cost.total() + SHORT_LAUNCH_US)
}

/// Returns the size of which a dim's extent is a multiple, and the multiple: a tensor of m rows of 4096 elements has m * 4096 points.
/// `None` for any other extent.
pub(super) fn multiple_of_size(space: &Space<'_, '_>, dim: usize) -> Option<(usize, u64)> {
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
