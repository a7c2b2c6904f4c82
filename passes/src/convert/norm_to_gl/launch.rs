//! How the host launches a kernel: grid and traffic as functions of the buffers' sizes.

use melior::ir::{AffineExpr, AffineMap, attribute::DenseI64ArrayAttribute};
use norma_dialects::{
    affine_map_attribute,
    attributes::scratch,
    gl::LaunchAttr,
    norm::{CachePlace, Level},
};

use crate::kernel::space::Space;
use crate::mlir::{context, pass::PassError};

use super::placement::Placement;
use crate::schedule::mapping::Mapping;

/// The alignment in bytes of a buffer about which nothing is promised.
const NO_ALIGNMENT: i64 = 1;
/// The shared-memory carve-out of a kernel that leaves it to the driver.
const DEFAULT_CARVEOUT: i64 = -1;
/// The smallest carve-out, which leaves L1 the most room for data that is read again from there.
const SMALLEST_CARVEOUT: i64 = 0;

/// The `#gl.launch` of a tiled kernel.
pub(super) fn attribute<'c>(
    space: &Space<'c, '_>,
    placement: &Placement,
    mapping: &Mapping,
) -> Result<LaunchAttr<'c>, PassError<'c>> {
    let context = context::of(space.location());
    let constant = |value: i64| AffineExpr::constant(context, value);
    let drawn = placement.drawn(mapping);
    let of_cluster = constant(mapping.ctas_per_cluster());
    let ctas = match drawn {
        // CTAs and clusters beyond the number of tiles would have nothing to do.
        Some(dim) => vec![
            of_cluster * constant(mapping.extent(Level::Grid)),
            of_cluster * space.extents[dim],
        ],
        None => {
            let extents = placement.grid().map(|dim| space.extents[dim]);
            vec![extents.fold(of_cluster, |ctas, extent| ctas * extent)]
        }
    };
    let traffic = space.traffic()?;
    let over_sizes = |results: &[AffineExpr<'c>]| {
        affine_map_attribute(AffineMap::new(context, 0, space.sizes.len(), results))
    };
    let kernel = space.kernel()?;
    let mut alignments = kernel
        .alignments()
        .unwrap_or_else(|| vec![NO_ALIGNMENT; space.buffers.len()]);
    alignments.extend(drawn.map(|_| scratch::ALIGNMENT));
    let carveout = if mapping.keep.contains(&CachePlace::L1) {
        SMALLEST_CARVEOUT
    } else {
        DEFAULT_CARVEOUT
    };
    let attribute_of = |numbers: Vec<i64>| DenseI64ArrayAttribute::new(context, &numbers).into();
    Ok(LaunchAttr::get(
        context,
        over_sizes(&ctas),
        over_sizes(&[traffic.read, traffic.written]),
        &kernel.sizes()?,
        &alignments,
        kernel.multiples().map(attribute_of),
        kernel.bounds().map(attribute_of),
        kernel.aliases().map(attribute_of),
        mapping.ctas_per_cluster(),
        carveout,
        mapping.dependent_launch,
    ))
}
