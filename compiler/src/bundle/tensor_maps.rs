//! Tensor maps among a kernel's parameters: what a launcher encodes, and for which sizes it can.

use melior::ir::OperationRef;
use norma_bundle::manifest::TensorMap;
use norma_dialects::gl::{ParamAttr, ParamKind};
use norma_passes::mlir::interval::Interval;
use norma_targets::{COPY_ENGINE_GRANULE, LONGEST_OF_TENSOR_MAP};

use super::host::{Buffer, HostFunction, Launch, Role};
use super::kernel::params;
use super::sizes::Sizes;
use crate::error::{Error, Result};

/// The sizes that the tensor maps of a lowered kernel are for: buffer, axis, and where its size lies.
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

/// Refuses maps of scratch: the manifest's are of tensors.
///
/// # Errors
///
/// Unsupported, where a launch's kernel has one.
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

/// The map of a buffer for a parameter; `None` where its sizes or strides are not known. Its axes count from the innermost there.
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
    // No map has an extent of 0; a kernel copies nothing then.
    let size = |axis: usize| Some(sizes.size(buffer, axis)?.maximum(1));
    let stride = |axis: usize| {
        let stride = sizes.stride(buffer, axis)? * bytes;
        // Along an axis of one element a caller's stride may be any number, which the engine has to take all the same.
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
        swizzle: 0,
        l2_promotion: 0,
    })
}
