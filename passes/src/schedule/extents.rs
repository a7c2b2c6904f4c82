//! The extents that the choice of a schedule assumes for dims whose extents are known only at run time.

use melior::Error;
use norma_dialects::norm::ReduceOp;

use super::facts::{Access, Dim, Reduction, Use};
use crate::kernel::space::{DimSet, Space};

/// Bytes that a kernel is assumed to move in all: five times what the L2 of an H200 holds, so that memory bounds it.
const NOMINAL_BYTES: f64 = (1u64 << 28) as f64;
/// The largest extent assumed for a kept dim of a kernel with reductions, unless so many rows move less than [`LEAST_BYTES`]: the number
/// of rows with which short rows were measured.
const NOMINAL_ROWS: u64 = 32768;
/// The bytes that so many of the shortest rows of the first measurements move, of 128 bf16. RMSNorm over rows of 5 bf16 reaches 2993 GB/s
/// with a schedule for as many rows as move this, and 1062 with one for 32768 rows (H100, 400 MB).
const LEAST_BYTES: f64 = (1u64 << 24) as f64;
/// The extent assumed for a reduced dim along which results are broadcast again: the length of a row.
const NOMINAL_ROW: u64 = 4096;
/// The extent assumed for a dim that is reduced and not used again, such as the rows over which columns are summed.
const NOMINAL_WALK: u64 = 32768;
/// The largest number of kept points with which a reduced dim that only the run knows, and along which results are broadcast again, may
/// be the whole tensor rather than a row: the scale of all elements. So few CTAs leave most SMs idle if it is long.
const FEW_ROWS: u64 = 32;
/// A larger upper bound comes from a type or an address space, and says nothing about what is usual.
const LARGEST_BOUND: u64 = 1 << 31;

/// Returns the dims of a space. Of several kept dims whose extents only the run knows, the first has the extent `open` and the
/// others have one point; where there is none and at most [`FEW_ROWS`] points are kept, the first reduced dim along which results are
/// broadcast again has it. With `None` that extent is as large as it takes to move [`NOMINAL_BYTES`]. If `carrier` names such a dim, it
/// has the extent in the place of the first.
///
/// # Errors
///
/// The kernel is not one that its verifier accepts.
pub(super) fn dims(
    space: &Space<'_, '_>,
    reductions: &[Reduction],
    accesses: &[Access],
    open: Option<u64>,
    carrier: Option<usize>,
) -> Result<Vec<Dim>, Error> {
    // A dim without points is taken as one with a point: costs divide by extents, and whatever suits one point suits none.
    let known = |dim: usize| {
        let extent = space.extents[dim];
        extent
            .is_constant()
            .then(|| extent.constant_value().max(1) as u64)
    };
    let scans = space.scans().into_iter();
    // A CTA has to visit all points of these dims: a scan needs them in order, and a reduction with several results passes over
    // them for each result.
    let reductions_again = space
        .reductions()
        .into_iter()
        .filter(|reduce| reduce.nth().is_some());
    let again = reductions_again
        .flat_map(|reduce| space.dims_reduced_by(reduce))
        .collect::<DimSet>();
    let whole = scans
        .flat_map(|scan| space.dims_scanned_by(scan))
        .chain(again.iter().copied())
        .collect::<DimSet>();
    let counting = space.dims_of_nth();
    let usage = |dim: usize| {
        let is_reduced = reductions.iter().any(|reduction| reduction.over[dim]);
        let is_reduced = is_reduced || whole.contains(&dim) || counting.contains(&dim);
        let is_kept = reductions.iter().any(|reduction| reduction.keeps[dim]);
        match (is_reduced, is_kept) {
            (false, _) => Use::Kept,
            (true, false) => Use::Reduced,
            (true, true) => Use::Both,
        }
    };
    let count = space.dims.len();
    let mut is_revisited = vec![false; count];
    for crossing in space.crossings() {
        let access = space.access(space.ops[crossing.read])?;
        let reduce = ReduceOp::from_op(space.ops[crossing.reduction]);
        if let (Some(access), Some(reduce)) = (access, reduce) {
            for dim in access.dims().intersection(&space.dims_reduced_by(reduce)) {
                is_revisited[*dim] = true;
            }
        }
    }
    for dim in &again {
        is_revisited[*dim] = true;
    }
    // A dim that is not static needs a place in the tile, which one with a single point does not get.
    let most = |dim: usize| {
        let most = u64::try_from(space.extent_bounds(dim).bound()?).unwrap_or(0);
        (most <= LARGEST_BOUND).then_some(most.max(2))
    };
    let is_open = |dim: &usize| known(*dim).is_none() && matches!(usage(*dim), Use::Kept | Use::Both);
    let kept = (0..count).filter(|dim| usage(*dim) != Use::Reduced);
    let kept = kept
        .map(|dim| known(dim).unwrap_or(u64::MAX))
        .fold(1, u64::saturating_mul);
    let is_long = |dim: &usize| {
        let is_row = usage(*dim) == Use::Reduced && is_revisited[*dim] && !whole.contains(dim);
        kept <= FEW_ROWS && is_row && known(*dim).is_none() && most(*dim).is_none()
    };
    let long = (0..count).find(is_long);
    // `first` is the extent of the first kept dim that only the run knows, or of the long one.
    let with = |first: u64| -> Vec<Dim> {
        let mut first = first;
        let mut nominal = |dim: usize| {
            let least = u64::try_from(space.extent_bounds(dim).least).unwrap_or(0);
            let usual = match (usage(dim), most(dim)) {
                _ if Some(dim) == long => first,
                // Assume the longest row, so that a tile holds any row as a whole.
                (Use::Reduced | Use::Both, Some(most)) if is_revisited[dim] => most,
                (Use::Reduced | Use::Both, _) if is_revisited[dim] || whole.contains(&dim) => NOMINAL_ROW,
                (Use::Reduced, _) => NOMINAL_WALK,
                (Use::Kept | Use::Both, _) if carrier.is_some_and(|carrier| carrier != dim) => 1,
                (Use::Kept | Use::Both, _) => std::mem::replace(&mut first, 1),
            };
            usual
                .max(least.min(LARGEST_BOUND))
                .min(most(dim).unwrap_or(u64::MAX))
        };
        let dim = |dim: usize| {
            let extent = known(dim).unwrap_or_else(|| nominal(dim));
            Dim {
                extent,
                is_known: known(dim).is_some() || most(dim) == Some(extent),
                usage: usage(dim),
                is_whole: whole.contains(&dim),
                is_counting: counting.contains(&dim),
                is_revisited: is_revisited[dim],
            }
        };
        (0..count).map(dim).collect()
    };
    if let Some(open) = open {
        return Ok(with(open));
    }
    let dims = with(1);
    let varies =
        |access: &&Access| (0..count).any(|dim| access.uses[dim] && (is_open(&dim) || Some(dim) == long));
    let bytes_of_one = accesses
        .iter()
        .filter(varies)
        .map(|access| access.total_bytes(&dims))
        .sum::<f64>();
    // A power of two is a multiple of every tile, so that a nominal extent counts against none of them.
    let as_many_as_move = |bytes: f64| (bytes / bytes_of_one.max(1.0)).log2().round().exp2() as u64;
    let largest = match long.is_some() || (reductions.is_empty() && whole.is_empty()) {
        true => LARGEST_BOUND,
        false => NOMINAL_ROWS.max(as_many_as_move(LEAST_BYTES)),
    };
    Ok(with(as_many_as_move(NOMINAL_BYTES).clamp(1, largest)))
}
