//! The parameters of a kernel: a pointer for each buffer, then the scalars, then the dynamic sizes, the dynamic strides and the
//! tensor maps that the body needs; their types, and what LLVM is told of them.

use std::collections::BTreeSet;

use melior::{
    Context, Error,
    dialect::llvm,
    ir::{
        Attribute, BlockLike, BlockRef, OperationRef, Type, Value, ValueLike,
        attribute::DenseI64ArrayAttribute, operation::OperationLike, r#type::IntegerType,
    },
};
use norma_dialects::{
    gl::{LaunchAttr, LoadOp, ParamAttr, ParamKind, TensorMapOp, TensorMapType},
    integer_of,
};

use crate::{
    gl::{global_memory, tensor_maps},
    mlir::{
        address_space, context,
        diagnostic::Diagnostic,
        pass::PassError,
        types,
        values::{argument_number, definition},
        walk,
    },
};

use super::tensor;

/// An axis of a buffer, each by its position.
type BufferAxis = (i64, i64);

/// The parameters that a kernel with this body has, in their order.
///
/// # Errors
///
/// Arguments that are no buffers and scalars, in this order, and sizes of anything but arguments.
pub(super) fn parameters<'c>(
    kernel: OperationRef<'c, '_>,
    block: BlockRef<'c, '_>,
) -> Result<Vec<ParamAttr<'c>>, PassError<'c>> {
    let context = context::of(kernel.location());
    let arguments = arguments(kernel, block)?;
    let mut sizes = BTreeSet::new();
    let mut strides = Vec::new();
    for (buffer, argument) in arguments.iter().enumerate() {
        if argument.kind()? == ParamKind::Pointer {
            let ty = block.argument(buffer)?.r#type();
            sizes.extend(inner_sizes(ty).map(|axis| (buffer as i64, axis)));
            strides.extend(dynamic_strides(ty).map(|axis| (buffer as i64, axis)));
        }
    }
    sizes.extend(outermost_sizes_of_loads(kernel)?);
    sizes.extend(queried_sizes(kernel)?);
    let of_axis =
        |kind| move |(buffer, axis): BufferAxis| ParamAttr::get(context, kind, buffer, axis, &[], 0);
    let maps = tensor_maps(kernel)?;
    let maps = maps.iter().map(|(buffer, extents, swizzle)| {
        ParamAttr::get(context, ParamKind::TensorMap, *buffer, 0, extents, *swizzle)
    });
    Ok(arguments
        .into_iter()
        .chain(sizes.into_iter().map(of_axis(ParamKind::Size)))
        .chain(strides.into_iter().map(of_axis(ParamKind::Stride)))
        .chain(maps)
        .collect())
}

/// The parameters that stand for the kernel's arguments, one for each.
fn arguments<'c>(
    kernel: OperationRef<'c, '_>,
    block: BlockRef<'c, '_>,
) -> Result<Vec<ParamAttr<'c>>, PassError<'c>> {
    let context = context::of(kernel.location());
    let mut arguments = Vec::new();
    let mut has_scalars = false;
    for index in 0..block.argument_count() {
        let ty = block.argument(index)?.r#type();
        let is_buffer = types::is_memref(ty);
        let is_scalar = types::is_index(ty) || types::bit_width(ty).is_some_and(|bits| bits >= 32);
        if !is_buffer && !is_scalar {
            return Err(Diagnostic::unsupported(
                kernel.location(),
                format!("expected kernel arguments to be memrefs or scalars of 32 or 64 bits, got {ty}"),
            )
            .into());
        }
        if is_buffer && has_scalars {
            let message = "expected kernel arguments to be memrefs and scalars after them";
            return Err(Diagnostic::user(kernel.location(), message).into());
        }
        has_scalars |= !is_buffer;
        let kind = match is_buffer {
            true => ParamKind::Pointer,
            false => ParamKind::Scalar,
        };
        arguments.push(ParamAttr::get(context, kind, index as i64, 0, &[], 0));
    }
    Ok(arguments)
}

/// The axes of a contiguous buffer whose sizes are needed for its strides: the dynamic ones, apart from the outermost.
fn inner_sizes(buffer: Type<'_>) -> impl Iterator<Item = i64> {
    let shape = types::shape(buffer).filter(|_| types::is_contiguous(buffer));
    let shape = shape.unwrap_or_default().into_iter().enumerate().skip(1);
    shape.filter_map(|(axis, size)| size.is_none().then_some(axis as i64))
}

/// The axes of a strided buffer whose strides are dynamic.
fn dynamic_strides(buffer: Type<'_>) -> impl Iterator<Item = i64> {
    let layout = types::strides_and_offset(buffer).filter(|_| !types::is_contiguous(buffer));
    let strides = layout.map(|(strides, _)| strides).unwrap_or_default();
    let strides = strides.into_iter().enumerate();
    strides.filter_map(|(axis, stride)| stride.is_none().then_some(axis as i64))
}

/// The dynamic outermost sizes of buffers that a load with an alignment reads: it reads whole words up to the buffer's end.
fn outermost_sizes_of_loads<'c>(kernel: OperationRef<'c, '_>) -> Result<Vec<BufferAxis>, PassError<'c>> {
    let mut sizes = Vec::new();
    for load in walk::all(kernel, LoadOp::from_op) {
        let buffer = load.buffer()?;
        let outermost = types::shape(buffer.r#type()).and_then(|shape| shape.first().copied());
        if let (Some(_), Some(None), Some(argument)) = (load.alignment(), outermost, argument_number(buffer))
        {
            sizes.push((argument as i64, 0));
        }
    }
    Ok(sizes)
}

/// The dynamic sizes that a `memref.dim` asks for.
fn queried_sizes<'c>(kernel: OperationRef<'c, '_>) -> Result<Vec<BufferAxis>, PassError<'c>> {
    let mut sizes = Vec::new();
    for dim in walk::named(kernel, "memref.dim") {
        let (buffer, axis) = queried(dim).ok_or_else(|| {
            Diagnostic::unsupported(
                dim.location(),
                "expected the size of a constant axis of a kernel argument",
            )
        })?;
        let shape = types::shape(dim.operand(0)?.r#type()).unwrap_or_default();
        if shape.get(axis as usize).copied().flatten().is_none() {
            sizes.push((buffer, axis));
        }
    }
    Ok(sizes)
}

/// The buffer and axis of a `memref.dim` of a kernel argument and a constant axis.
fn queried(dim: OperationRef<'_, '_>) -> Option<BufferAxis> {
    let buffer = argument_number(dim.operand(0).ok()?)?;
    Some((buffer as i64, constant_index(dim.operand(1).ok()?)?))
}

/// The value of an `arith.constant` of type index.
pub(super) fn constant_index(value: Value<'_, '_>) -> Option<i64> {
    let op = definition(value)?;
    integer_of(op, "value")
}

/// The tensor maps of a kernel, each as its buffer, its box and its swizzle.
fn tensor_maps<'c>(kernel: OperationRef<'c, '_>) -> Result<BTreeSet<(i64, Vec<i64>, i64)>, PassError<'c>> {
    let mut maps = BTreeSet::new();
    for map in walk::all(kernel, TensorMapOp::from_op) {
        let location = map.op().location();
        let buffer = argument_number(map.buffer()?).ok_or_else(|| {
            Diagnostic::unsupported(location, "expected the tensor map of a kernel argument")
        })?;
        let ty = TensorMapType::from_type(map.map()?.r#type())
            .ok_or_else(|| Diagnostic::internal(location, "expected a tensor map"))?;
        tensor_maps::check(map.buffer()?, location)?;
        maps.insert((buffer as i64, ty.r#box().to_vec(), ty.swizzle()));
    }
    Ok(maps)
}

/// The type of a parameter of a kernel with this body.
///
/// # Errors
///
/// The parameter is not one of this kernel.
pub(super) fn type_of<'c>(
    context: &'c Context,
    block: BlockRef<'c, '_>,
    param: ParamAttr<'c>,
) -> Result<Type<'c>, Error> {
    let index: Type<'c> = IntegerType::new(context, 64).into();
    Ok(match param.kind()? {
        ParamKind::Pointer => llvm::r#type::pointer(context, address_space::GLOBAL),
        ParamKind::TensorMap => llvm::r#type::pointer(context, address_space::GENERIC),
        ParamKind::Size | ParamKind::Stride => index,
        ParamKind::Scalar => {
            let ty = block.argument(param.argument() as usize)?.r#type();
            if types::is_index(ty) { index } else { ty }
        }
    })
}

/// The attributes of a parameter. Buffers do not alias, except those that the launch says may be the same memory; buffers that
/// nothing is stored to may be read through the read-only path.
pub(super) fn attributes_of(
    kernel: OperationRef<'_, '_>,
    block: BlockRef<'_, '_>,
    param: ParamAttr<'_>,
    launch: LaunchAttr<'_>,
) -> Result<String, Error> {
    match param.kind()? {
        ParamKind::Pointer => {}
        ParamKind::TensorMap => return Ok(tensor::PARAMETER.to_owned()),
        ParamKind::Size | ParamKind::Stride | ParamKind::Scalar => return Ok("{}".to_owned()),
    }
    let index = param.argument() as usize;
    let buffer = block.argument(index).ok().map(Value::from);
    let stored = buffer.is_some_and(|buffer| global_memory::writes(kernel, buffer));
    let readonly = if stored { "" } else { ", llvm.readonly" };
    let alignment = launch.alignments().get(index).copied().unwrap_or(1);
    // ptxas may move a load of memory that nothing else writes ahead of `griddepcontrol.wait` (seen with 13.0).
    if launch_numbers(launch.aliases()).contains(&param.argument()) || launch.dependent_launch() {
        return Ok(format!("{{llvm.align = {alignment} : i64}}"));
    }
    Ok(format!(
        "{{llvm.noalias{readonly}, llvm.align = {alignment} : i64}}"
    ))
}

/// A list of `gl.launch`, which may be absent.
fn launch_numbers(list: Option<Attribute<'_>>) -> Vec<i64> {
    let list = list.and_then(|list| DenseI64ArrayAttribute::try_from(list).ok());
    list.map_or_else(Vec::new, |list| {
        (0..list.len())
            .filter_map(|index| list.element(index).ok())
            .collect()
    })
}
