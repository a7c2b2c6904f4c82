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
/// The extent assumed for a reduced dim along which results are broadcast again, but no elements are neighbours, where results are broadcast along
/// another one too, such as for the batch or the channels over which an image is normalized, and a third says how many rows there are.
const NOMINAL_OUTER: u64 = 128;
/// The extent assumed for a dim that is reduced and not used again, such as the rows over which columns are summed.
const NOMINAL_WALK: u64 = 32768;
/// The largest number of kept points with which a reduced dim of dynamic extent may be the whole tensor rather than a row, such as for the sum or
/// the scale of all elements. So few CTAs leave most SMs idle if it is long.
const FEW_ROWS: u64 = 32;
/// A larger upper bound comes from a type or an address space, and says nothing about what is usual.
const LARGEST_BOUND: u64 = 1 << 31;

/// Returns the dims of a space. Of several kept dims of dynamic extents, the first has the extent `open`, and the others have one point,
/// or at least [`NOMINAL_ROW`] where an access is contiguous along them. Where there is none and at most [`FEW_ROWS`] points are kept, the first reduced
/// dim has it, as has the first along which columns are normalized. With `None` that extent is as large as it takes to move [`NOMINAL_BYTES`]. If `carrier` names such a dim, it has the extent in the
/// place of the first.
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
    let extents = Extents::of(space, reductions, accesses, carrier)?;
    if let Some(open) = open {
        return Ok(extents.dims(open, true));
    }
    let dims = extents.dims(1, false);
    let is_open = |dim: usize| {
        extents
            .long
            .map_or_else(|| extents.is_open(dim), |long| dim == long)
    };
    let varies = |access: &&Access| (0..dims.len()).any(|dim| access.uses[dim] && is_open(dim));
    let bytes_of_one = accesses
        .iter()
        .filter(varies)
        .map(|access| access.total_bytes(&dims))
        .sum::<f64>();
    // A power of two is a multiple of every tile, so that a nominal extent counts against none of them.
    let as_many_as_move = |bytes: f64| (bytes / bytes_of_one.max(1.0)).log2().round().exp2() as u64;
    let largest = match extents.long.is_some() || (reductions.is_empty() && extents.whole.is_empty()) {
        true => LARGEST_BOUND,
        false => NOMINAL_ROWS.max(as_many_as_move(LEAST_BYTES)),
    };
    Ok(extents.dims(as_many_as_move(NOMINAL_BYTES).clamp(1, largest), false))
}

/// What is known of the dims of a space whatever the dynamic extents are. All lists are by dim.
struct Extents {
    usages: Vec<Use>,
    is_revisited: Vec<bool>,
    /// The dims all of whose points a CTA has to visit: a scan needs them in order, and a reduction with several results passes over
    /// them for each result.
    whole: DimSet,
    /// The dims that count the results of reductions.
    counting: DimSet,
    /// The dims along which an access is contiguous that varies over as many dims as any other access.
    contiguous: DimSet,
    /// Numbers that divide the extents: a dim of a multiple of many elements is likely to be several rows of so many.
    multiples: Vec<u64>,
    /// The static extents. A dim without points is taken as one with a point: costs divide by extents, and whatever suits one point
    /// suits none.
    known: Vec<Option<u64>>,
    /// The least extents.
    least: Vec<u64>,
    /// The largest extents, as far as they are bounded.
    most: Vec<Option<u64>>,
    /// The reduced dim that may be the whole tensor.
    long: Option<usize>,
    carrier: Option<usize>,
}

impl Extents {
    fn of(
        space: &Space<'_, '_>,
        reductions: &[Reduction],
        accesses: &[Access],
        carrier: Option<usize>,
    ) -> Result<Self, Error> {
        let reductions_again = space
            .reductions()
            .into_iter()
            .filter(|reduce| reduce.nth().is_some());
        let again = reductions_again
            .flat_map(|reduce| space.dims_reduced_by(reduce))
            .collect::<DimSet>();
        let scans = space.scans().into_iter();
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
        let known = |dim: usize| {
            let extent = space.extents[dim];
            extent
                .is_constant()
                .then(|| extent.constant_value().max(1) as u64)
        };
        // A dim that is not static needs a place in the tile, which one with a single point does not get.
        let most = |dim: usize| {
            let most = u64::try_from(space.extent_bounds(dim).bound()?).unwrap_or(0);
            (most <= LARGEST_BOUND).then_some(most.max(2))
        };
        let least = |dim: usize| u64::try_from(space.extent_bounds(dim).least).unwrap_or(0);
        let dims_of = |access: &Access| access.uses.iter().filter(|uses| **uses).count();
        let most_dims = accesses.iter().map(dims_of).max();
        let largest = accesses
            .iter()
            .filter(|access| Some(dims_of(access)) == most_dims);
        let dims = 0..space.dims.len();
        let mut extents = Self {
            usages: dims.clone().map(usage).collect(),
            is_revisited: revisited(space, &again)?,
            multiples: dims
                .clone()
                .map(|dim| space.run_multiple(dim).unsigned_abs())
                .collect(),
            known: dims.clone().map(known).collect(),
            least: dims.clone().map(least).collect(),
            most: dims.map(most).collect(),
            whole,
            counting,
            contiguous: largest.filter_map(Access::contiguous).collect(),
            long: None,
            carrier,
        };
        extents.long = extents.long();
        Ok(extents)
    }

    /// Whether a dim is a kept one of dynamic extent.
    fn is_open(&self, dim: usize) -> bool {
        self.known[dim].is_none() && self.usages[dim] != Use::Reduced
    }

    /// The reduced dim that may be the whole tensor, or all rows of one that is normalized along its columns, if any.
    fn long(&self) -> Option<usize> {
        let dims = 0..self.usages.len();
        let kept = dims.clone().filter(|dim| self.usages[*dim] != Use::Reduced);
        let kept = kept
            .map(|dim| self.known[dim].unwrap_or(u64::MAX))
            .fold(1, u64::saturating_mul);
        let is_long = |dim: &usize| {
            let is_tensor = self.usages[*dim] == Use::Reduced && kept <= FEW_ROWS;
            let is_of_columns = self.is_outer(*dim) && !self.counts_rows();
            let is_open = self.known[*dim].is_none() && self.most[*dim].is_none();
            is_open && !self.whole.contains(dim) && (is_tensor || is_of_columns)
        };
        dims.into_iter().find(is_long)
    }

    /// Whether results of reductions over a dim are broadcast along it again, and no elements are neighbours along it.
    fn is_outer(&self, dim: usize) -> bool {
        self.is_revisited[dim] && !self.whole.contains(&dim) && !self.contiguous.contains(&dim)
    }

    fn has_other_revisited(&self, dim: usize) -> bool {
        (0..self.is_revisited.len()).any(|other| other != dim && self.is_revisited[other])
    }

    /// Whether a dim of dynamic extent, along which no elements are neighbours, says how many rows there are.
    fn counts_rows(&self) -> bool {
        let is_of_rows = |dim: usize| !self.whole.contains(&dim) && !self.contiguous.contains(&dim);
        let mut dims = 0..self.usages.len();
        dims.any(|dim| self.is_open(dim) && !self.is_revisited[dim] && is_of_rows(dim))
    }

    /// The dims, where `open` is the extent of the first kept dim of dynamic extent, or of the long one, which is given or nominal.
    fn dims(&self, open: u64, is_given: bool) -> Vec<Dim> {
        let mut first = Some(open).filter(|_| self.long.is_none());
        let mut nominal = |dim: usize| {
            let (is_revisited, is_whole) = (self.is_revisited[dim], self.whole.contains(&dim));
            let further = match self.contiguous.contains(&dim) {
                true => NOMINAL_ROW.max(self.multiples[dim].saturating_mul(NOMINAL_OUTER)),
                false => 1,
            };
            let usual = match (self.usages[dim], self.most[dim]) {
                _ if Some(dim) == self.long => open,
                // Assume the longest row, so that a tile holds any row as a whole.
                (Use::Reduced | Use::Both, Some(most)) if is_revisited => most,
                _ if self.is_outer(dim) && self.has_other_revisited(dim) => NOMINAL_OUTER,
                (Use::Reduced | Use::Both, _) if is_revisited || is_whole => NOMINAL_ROW,
                (Use::Reduced, _) => NOMINAL_WALK,
                (Use::Kept | Use::Both, _) if self.carrier.is_some_and(|carrier| carrier != dim) => further,
                (Use::Kept | Use::Both, _) => first.take().unwrap_or(further),
            };
            usual
                .max(self.least[dim].min(LARGEST_BOUND))
                .min(self.most[dim].unwrap_or(u64::MAX))
        };
        let dim = |dim: usize| {
            let known = self.known[dim];
            let extent = known.unwrap_or_else(|| nominal(dim));
            let is_known = known.is_some() || self.most[dim] == Some(extent);
            Dim {
                extent,
                is_known,
                is_assumed: !is_known && !is_given,
                usage: self.usages[dim],
                is_whole: self.whole.contains(&dim),
                is_counting: self.counting.contains(&dim),
                is_revisited: self.is_revisited[dim],
            }
        };
        (0..self.usages.len()).map(dim).collect()
    }
}

/// By dim, whether its points are needed behind a reduction over it; those of the dims `again` are, for the next result.
fn revisited(space: &Space<'_, '_>, again: &DimSet) -> Result<Vec<bool>, Error> {
    let mut is_revisited = vec![false; space.dims.len()];
    for crossing in space.crossings() {
        let access = space.access(space.ops[crossing.read])?;
        let reduce = ReduceOp::from_op(space.ops[crossing.reduction]);
        if let (Some(access), Some(reduce)) = (access, reduce) {
            for dim in access.dims().intersection(&space.dims_reduced_by(reduce)) {
                is_revisited[*dim] = true;
            }
        }
    }
    for dim in again {
        is_revisited[*dim] = true;
    }
    Ok(is_revisited)
}
