//! How the host launches a kernel: grid and traffic as functions of the buffers' sizes.

use melior::ir::{AffineExpr, AffineMap};
use norma_dialects::{affine_map_attribute, gl::LaunchAttr};

use crate::kernel::space::Space;
use crate::mlir::{context, pass::PassError};

use super::placement::Placement;

/// The alignment in bytes of a buffer that nothing is promised of.
const NO_ALIGNMENT: i64 = 1;
/// The shared-memory carve-out of a kernel that leaves it to the driver.
const DEFAULT_CARVEOUT: i64 = -1;

/// The `#gl.launch` of a tiled kernel.
pub(super) fn attribute<'c>(
    space: &Space<'c, '_>,
    placement: &Placement,
) -> Result<LaunchAttr<'c>, PassError<'c>> {
    let context = context::of(space.location());
    let ctas = placement
        .grid()
        .map(|dim| space.extents[dim])
        .fold(AffineExpr::constant(context, 1), |ctas, extent| ctas * extent);
    let traffic = space.traffic()?;
    let over_sizes = |results: &[AffineExpr<'c>]| {
        affine_map_attribute(AffineMap::new(context, 0, space.sizes.len(), results))
    };
    let alignments = space
        .kernel
        .alignments()
        .unwrap_or_else(|| vec![NO_ALIGNMENT; space.buffers.len()]);
    let schedule = space.kernel.schedule();
    Ok(LaunchAttr::get(
        context,
        over_sizes(&[ctas]),
        over_sizes(&[traffic.read, traffic.written]),
        &space.kernel.sizes()?,
        &alignments,
        schedule.map_or(1, |schedule| schedule.cluster()),
        DEFAULT_CARVEOUT,
        schedule.is_some_and(|schedule| schedule.dependent_launch()),
    ))
}
