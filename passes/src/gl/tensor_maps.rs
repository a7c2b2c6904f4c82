//! Which buffers a tensor map can describe, as far as a kernel and its launch say.

use melior::ir::{AffineExpr, AffineMap, Location, Value, ValueLike};
use norma_bundle::manifest::MAX_TENSOR_MAP_RANK;
use norma_targets::{COPY_ENGINE_GRANULE, LONGEST_OF_TENSOR_MAP};

use crate::{
    gcd::gcd,
    mlir::{context, diagnostic::Diagnostic, types},
};

use super::access::address_divisor;

/// Refuses a buffer that a tensor map cannot describe, or that the launch does not guarantee it can.
///
/// # Errors
///
/// Unsupported, at `location`: too many axes, a stride other than 1 along the last one, more elements along an axis than the
/// coordinates of a box can address, or an address or strides that may not be multiples of 16 bytes.
pub fn check<'c>(buffer: Value<'c, '_>, location: Location<'c>) -> Result<(), Diagnostic<'c>> {
    let ty = buffer.r#type();
    let refused = |what: String| {
        Err(Diagnostic::unsupported(
            location,
            format!("a tensor map of {what}"),
        ))
    };
    let (strides, _) = types::strides_and_offset(ty)
        .ok_or_else(|| Diagnostic::unsupported(location, format!("expected a strided buffer, got {ty}")))?;
    let rank = strides.len();
    if !(1..=MAX_TENSOR_MAP_RANK).contains(&rank) {
        return refused(format!(
            "a buffer of {rank} axes; supported: 1 to {MAX_TENSOR_MAP_RANK}"
        ));
    }
    let shape = types::shape(ty).unwrap_or_default();
    let longest = LONGEST_OF_TENSOR_MAP;
    if let Some(extent) = shape
        .iter()
        .flatten()
        .find(|extent| !(1..=longest).contains(*extent))
    {
        return refused(format!(
            "a buffer of {extent} elements along an axis; supported: 1 to {longest}"
        ));
    }
    if strides.last() != Some(&Some(1)) {
        return refused(format!(
            "a buffer whose elements are no neighbours along its last axis, {ty}; supported: a stride of 1 there"
        ));
    }
    let context = context::of(location);
    let coordinates = (0..rank)
        .map(|axis| AffineExpr::dim(context, axis))
        .collect::<Vec<_>>();
    let identity = AffineMap::new(context, rank, 0, &coordinates);
    // The engine demands no alignment along the last axis: a box may begin at any element of a row.
    let mut dims = vec![1; rank];
    dims[rank - 1] = 0;
    let bytes = types::element_bytes(types::element(ty)).unwrap_or(1);
    let divisor = address_divisor(buffer, identity, &dims, bytes).unwrap_or(1);
    match divisor % COPY_ENGINE_GRANULE {
        0 => Ok(()),
        _ => refused(format!(
            "a buffer whose address and strides are multiples of {} bytes; supported: of {COPY_ENGINE_GRANULE}",
            gcd(divisor, COPY_ENGINE_GRANULE)
        )),
    }
}
