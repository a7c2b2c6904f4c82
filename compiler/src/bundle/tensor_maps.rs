//! Tensor maps among a kernel's parameters: what a launcher encodes, and for which sizes it can be encoded.

use std::iter;

use melior::ir::OperationRef;
use norma_bundle::manifest::TensorMap;
use norma_dialects::gl::{ParamAttr, ParamKind};
use norma_passes::mlir::interval::Interval;
use norma_targets::{COPY_ENGINE_GRANULE, LONGEST_OF_TENSOR_MAP, SWIZZLE_SPANS};

use super::host::{Buffer, HostFunction, Launch, Role};
use super::kernel::params;
use super::sizes::Sizes;
use crate::error::{Error, Result};

/// The bounds that the tensor maps of a lowered kernel put on sizes: buffer, axis, and interval.
pub(super) fn bounds(kernel: OperationRef) -> Vec<(usize, usize, Interval)> {
    let maps = params(kernel)
        .into_iter()
        .filter(|param| param.kind() == Ok(ParamKind::TensorMap));
    let axes = maps.flat_map(|param| {
        let buffer = usize::try_from(param.argument()).unwrap_or_default();
        (0..param.r#box().len()).map(move |axis| (buffer, axis))
    });
    let bound = |(buffer, axis)| {
        let size = Interval {
            least: 0,
            most: LONGEST_OF_TENSOR_MAP,
        };
        (buffer, axis, size)
    };
    axes.map(bound).collect()
}

/// Refuses a tensor map of scratch: the manifest has maps of tensors only.
///
/// # Errors
///
/// Unsupported, if the kernel of a launch has such a map.
pub(super) fn check(kernel: OperationRef, host: &HostFunction, launch: &Launch) -> Result<()> {
    for param in params(kernel) {
        let buffer = usize::try_from(param.argument()).ok();
        let buffer = buffer.and_then(|buffer| launch.buffers.get(buffer));
        let tensor = buffer.and_then(|buffer| host.tensors.get(buffer.tensor));
        if let Some(tensor) = tensor.filter(|_| param.kind() == Ok(ParamKind::TensorMap))
            && matches!(tensor.role, Role::Scratch { .. })
        {
            return Err(Error::unsupported(format!(
                "kernel '{}' copies '{}', which is scratch, by a tensor map; supported: tensors of the function",
                launch.kernel, tensor.name
            )));
        }
    }
    Ok(())
}

/// The `CUtensorMapSwizzle` of a swizzle over `span` bytes, 0 for none; `None` if there is no such swizzle.
fn swizzle_number(span: i64) -> Option<u32> {
    let spans = iter::once(0).chain(SWIZZLE_SPANS);
    let mut numbers = (0..).zip(spans);
    numbers.find_map(|(number, known)| (known == span).then_some(number))
}

/// Describes the map of a buffer for a parameter; `None` if a size or a stride is unknown. A map lists its axes from the
/// innermost.
pub(super) fn describe(
    param: ParamAttr,
    host: &HostFunction,
    buffer: &Buffer,
    sizes: &Sizes,
) -> Option<TensorMap> {
    let tensor = host.tensors.get(buffer.tensor)?;
    let extents = param.r#box();
    let axes = || (0..extents.len()).rev();
    let bytes = tensor.element.bytes() as i64;
    // A tensor map cannot have an extent of 0; the kernel copies nothing in that case.
    let size = |axis: usize| Some(sizes.size(buffer, axis)?.maximum(1));
    let stride = |axis: usize| {
        let stride = sizes.stride(buffer, axis)? * bytes;
        // Along an axis of one element a caller may pass any stride; rounding makes it one that the copy engine accepts.
        let is_callers = tensor.strides.is_some() && stride.as_integer().is_none();
        Some(match is_callers {
            true => stride.ceil_divide(COPY_ENGINE_GRANULE) * COPY_ENGINE_GRANULE,
            false => stride,
        })
    };
    Some(TensorMap {
        tensor: tensor.name.clone(),
        element: tensor.element,
        dims: axes().map(size).collect::<Option<_>>()?,
        strides_bytes: axes().skip(1).map(stride).collect::<Option<_>>()?,
        box_dims: axes()
            .map(|axis| u32::try_from(extents[axis]).ok())
            .collect::<Option<_>>()?,
        swizzle: swizzle_number(param.swizzle())?,
        l2_promotion: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::swizzle_number;

    #[test]
    fn swizzles_have_the_numbers_of_the_driver() {
        let numbers = [0, 32, 64, 128, 16].map(swizzle_number);
        assert_eq!(numbers, [Some(0), Some(1), Some(2), Some(3), None]);
    }
}
