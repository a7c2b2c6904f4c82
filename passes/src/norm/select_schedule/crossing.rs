//! Kernels for which no schedule is legal because their reductions cross: results of one, over a row, are needed at the row's points
//! again, for reductions over rows.
//!
//! A CTA that walks over rows holds each of them, or both dims would be loops that have to enclose each other. If a row is too long
//! to hold, or of unknown length, the kernel becomes two: one that reduces rows and leaves the results in scratch, and one behind it
//! that reads them. Of LayerNorm's gradient the first has the statistics and the sums of each row, and the second sums over rows.

use melior::ir::OperationRef;
use norma_dialects::norm::KernelOp;

use crate::{
    kernel::space::Space,
    mlir::pass::PassError,
    norm::split_reductions::{Made, come_back, mark},
    schedule::facts::{Facts, Use},
};

/// Takes apart a kernel with two dims of which each is reduced and has results of the other's reductions. Returns the kernel that is
/// new; `None` if the kernel has no such dims, or no results that are needed again.
pub(super) fn take_apart<'c: 'a, 'a>(
    module: OperationRef<'c, 'a>,
    kernel: KernelOp<'c, 'a>,
) -> Result<Option<KernelOp<'c, 'a>>, PassError<'c>> {
    let facts = Facts::of(&Space::of(kernel)?)?;
    let crossing = (0..facts.dims.len())
        .filter(|dim| facts.dims[*dim].usage == Use::Both)
        .collect::<Vec<_>>();
    if crossing.len() < 2 {
        return Ok(None);
    }
    mark(kernel);
    let mut made = Made::of(module)?;
    for dim in crossing {
        if let Some(apart) = come_back::take_out(kernel, dim, come_back::Writes::All, &[], &mut made)? {
            return Ok(Some(apart));
        }
    }
    Ok(None)
}
