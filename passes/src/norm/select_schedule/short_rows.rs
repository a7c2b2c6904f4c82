//! Further schedules for a kernel whose rows are short in some calls, where their length is known only at run time.
//!
//! A row whose length is not bounded passes in loops, by the threads that a row of thousands of elements keeps busy. A kernel that is launched
//! for short rows alone holds them in registers, several in a warp if they are short enough.

use norma_dialects::norm::KernelOp;
use norma_targets::Target;

use super::better::{Better, cheapest_of, multiple_of_size, pays};
use crate::{
    kernel::space::Space,
    mlir::pass::PassError,
    schedule::{
        cost::cost,
        facts::{Access, Facts, Use},
        mapping::Mapping,
    },
};

/// The lengths up to which rows are taken together, in elements, longest first. Each kernel is made for the longest of its rows, and a row of
/// a quarter of that keeps a quarter of its threads or registers busy.
const LENGTHS: [u64; 5] = [2048, 512, 128, 32, 8];

/// Schedules for short rows, those for the shortest first. The last is better for its longest rows than `long`, the schedule for rows of any length,
/// and each of the others differs from the next one.
pub(super) fn short_rows<'c>(
    kernel: KernelOp<'c, '_>,
    facts: &Facts,
    long: &Mapping,
    target: &Target,
) -> Result<Vec<Better>, PassError<'c>> {
    let mut all = Vec::<Better>::new();
    let Some((dim, size)) = length_of_rows(&Space::of(kernel)?, facts) else {
        return Ok(all);
    };
    for length in LENGTHS {
        let mut space = Space::of(kernel)?;
        let known = space.size_bounds(size.0, size.1);
        if i64::try_from(length).is_ok_and(|length| !(known.least..known.most).contains(&length)) {
            continue;
        }
        space.assume_at_most(size.0, size.1, length as i64);
        let facts = Facts::of(&space)?;
        if !facts.dims[dim].is_known {
            continue;
        }
        let rival = all.last().map_or(long, |shorter| &shorter.mapping);
        let best = cheapest_of(&space, &facts, target);
        let (Some((mapping, best)), Some(cost_of_rival)) = (best, cost(&facts, rival, target)) else {
            continue;
        };
        // The time that is expected of a kernel for longer rows is too short here, because its registers are there whether a row fills them
        // or not: so any schedule other than that kernel's is taken.
        let is_short = !all.is_empty() && mapping != *rival;
        if is_short || pays(&best, &cost_of_rival) {
            all.push(Better {
                mapping,
                extent: length,
                cost: best,
                cost_of_rival,
                size,
                most: length,
            });
        }
    }
    all.reverse();
    Ok(all)
}

/// The dim along which rows lie whose length is not bounded, and the size that it is.
fn length_of_rows(space: &Space<'_, '_>, facts: &Facts) -> Option<(usize, (usize, usize))> {
    let dim = facts.lead().and_then(Access::contiguous)?;
    let of_dim = &facts.dims[dim];
    if of_dim.is_known || of_dim.is_counting || of_dim.usage == Use::Kept {
        return None;
    }
    let (symbol, points_of_one) = multiple_of_size(space, dim)?;
    (points_of_one == 1).then(|| (dim, space.sizes[symbol]))
}
