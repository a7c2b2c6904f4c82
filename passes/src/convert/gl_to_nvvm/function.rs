//! Rebuilds kernels as `llvm.func`. The parameters are a pointer for each buffer, then the scalars, then the sizes, strides and
//! tensor maps that the body needs.
//!
//! Inside, a buffer stays a memref, a view of its pointer parameter, until its users are converted. The meaning of each
//! parameter is written to `gl.params`, from which the bundle's manifest and the patterns read it.

use std::collections::BTreeSet;

use melior::Error;
use melior::dialect::llvm;
use melior::ir::{
    Attribute, BlockLike, BlockRef, OperationRef, Region, RegionLike, Type, TypeLike, Value, ValueLike,
    attribute::{
        ArrayAttribute, DenseI32ArrayAttribute, DenseI64ArrayAttribute, IntegerAttribute, StringAttribute,
        TypeAttribute,
    },
    block::BlockArgument,
    operation::{OperationLike, OperationResult},
    r#type::IntegerType,
};
use mlir_sys::{mlirBlockAddArgument, mlirBlockEraseArgument, mlirValueReplaceAllUsesOfWith};
use norma_dialects::{
    attributes::kernel as attribute,
    gl::{
        BulkStoreOp, DrawTileOp, LaunchAttr, LoadOp, ParamAttr, ParamKind, StoreOp, TensorMapOp,
        TensorMapType, TensorStoreOp,
    },
    integer_of,
};
use norma_targets::WARP_SIZE;

use crate::gl::tensor_maps;
use crate::mlir::{builder::Builder, context, diagnostic::Diagnostic, pass::PassError, region, types, walk};

use super::tensor;

/// Shared memory that a kernel may declare statically, in bytes; more is allocated at launch.
/// CUDA C++ Programming Guide, technical specifications per compute capability.
const STATIC_SHARED_LIMIT: i64 = 48 * 1024;

/// Attributes that a kernel keeps for the bundle.
const KEPT: [&str; 3] = [attribute::LAUNCH, attribute::SCHEDULE, attribute::CHOICE];

/// Replaces a `gpu.func` by an `llvm.func` whose body still works on memrefs.
pub(super) fn lower<'c>(kernel: OperationRef<'c, '_>) -> Result<(), PassError<'c>> {
    let location = kernel.location();
    let context = context::of(location);
    let name = norma_dialects::symbol_name(kernel)
        .ok_or_else(|| Diagnostic::user(location, "expected a kernel with a name"))?;
    let warps = integer_of(kernel, attribute::NUM_WARPS)
        .ok_or_else(|| Diagnostic::user(location, "expected a kernel with gl.num_warps"))?;
    let launch =
        launch_of(kernel).ok_or_else(|| Diagnostic::user(location, "expected a kernel with gl.launch"))?;
    let block = kernel
        .region(0)?
        .first_block()
        .ok_or_else(|| Diagnostic::user(location, "expected a kernel with a body"))?;

    let params = parameters(kernel, block)?;
    let pointer = llvm::r#type::pointer(context, 1);
    let i64_type: Type<'c> = IntegerType::new(context, 64).into();
    let param_types = params
        .iter()
        .map(|param| {
            Ok(match param.kind()? {
                ParamKind::Pointer => pointer,
                ParamKind::TensorMap => llvm::r#type::pointer(context, 0),
                ParamKind::Size | ParamKind::Stride => i64_type,
                ParamKind::Scalar => {
                    let ty = block.argument(param.argument() as usize)?.r#type();
                    if types::is_index(ty) { i64_type } else { ty }
                }
            })
        })
        .collect::<Result<Vec<_>, PassError<'c>>>()?;
    let function_type = llvm::r#type::function(llvm::r#type::void(context), &param_types, false);
    let parse = |text: &str| {
        Attribute::parse(context, text)
            .ok_or_else(|| Diagnostic::internal(location, format!("no attribute {text}")))
    };
    let arguments = (0..params.len())
        .map(|position| {
            let text = argument_attributes(kernel, block, params[position], launch)?;
            Ok(parse(&text)?)
        })
        .collect::<Result<Vec<_>, PassError<'c>>>()?;
    let params = params.into_iter().map(Into::into).collect::<Vec<Attribute<'c>>>();
    let threads = DenseI32ArrayAttribute::new(context, &[(warps * WARP_SIZE) as i32, 1, 1]);
    let mut attributes: Vec<(&str, Attribute<'c>)> = vec![
        ("sym_name", StringAttribute::new(context, name).into()),
        ("function_type", TypeAttribute::new(function_type).into()),
        ("linkage", parse("#llvm.linkage<external>")?),
        ("CConv", parse("#llvm.cconv<ccc>")?),
        ("arg_attrs", ArrayAttribute::new(context, &arguments).into()),
        ("gpu.kernel", Attribute::unit(context)),
        ("nvvm.kernel", Attribute::unit(context)),
        ("nvvm.reqntid", threads.into()),
        (attribute::PARAMS, ArrayAttribute::new(context, &params).into()),
    ];
    attributes.extend(
        KEPT.iter()
            .filter_map(|name| Some((*name, kernel.attribute(name).ok()?))),
    );

    if launch.cluster() > 1 {
        let cluster = DenseI32ArrayAttribute::new(context, &[launch.cluster() as i32, 1, 1]);
        attributes.push(("nvvm.cluster_dim", cluster.into()));
    }
    if let Some(bound) = integer_of(kernel, attribute::MIN_CTAS_PER_SM) {
        let bound = IntegerAttribute::new(IntegerType::new(context, 32).into(), bound);
        attributes.push(("nvvm.minctasm", bound.into()));
    }
    if let Some(start) = integer_of(kernel, attribute::START_REGISTERS) {
        let start = IntegerAttribute::new(IntegerType::new(context, 32).into(), start);
        attributes.push(("nvvm.maxnreg", start.into()));
    }

    let shared = integer_of(kernel, attribute::SHARED_BYTES).unwrap_or(0);
    let dynamic = if shared > STATIC_SHARED_LIMIT { shared } else { 0 };
    if dynamic > 0 {
        attributes.push((
            attribute::DYNAMIC_SHARED,
            IntegerAttribute::new(i64_type, dynamic).into(),
        ));
    }

    let b = Builder::before(kernel);
    if shared > 0 {
        shared_memory(&b, name, shared, dynamic > 0)?;
    }
    let region = region::taken_from(kernel.region(0)?);
    let function = b.op_with("llvm.func", &[], &[], &attributes, vec![region]);
    replace_arguments(walk::entry_block(function)?, &param_types, location)?;
    b.erase(kernel);
    Ok(())
}

/// How a kernel is launched.
pub(super) fn launch_of<'c>(kernel: OperationRef<'c, '_>) -> Option<LaunchAttr<'c>> {
    LaunchAttr::from_attribute(kernel.attribute(attribute::LAUNCH).ok()?)
}

/// The name of a kernel's shared memory.
pub(super) fn shared_symbol(kernel: &str) -> String {
    format!("{kernel}_shared")
}

/// The parameters of a kernel: one pointer for each buffer, then the scalars, then the dynamic sizes that a `memref.dim`, an
/// inner extent or a load up to the buffer's end needs, then strides, then tensor maps.
fn parameters<'c>(
    kernel: OperationRef<'c, '_>,
    block: BlockRef<'c, '_>,
) -> Result<Vec<ParamAttr<'c>>, PassError<'c>> {
    let context = context::of(kernel.location());
    let mut sizes = Vec::new();
    let mut strides = Vec::new();
    let mut arguments = Vec::new();
    for index in 0..block.argument_count() {
        let ty = block.argument(index)?.r#type();
        let buffer = index as i64;
        if !types::is_memref(ty) {
            let is_scalar = types::is_index(ty) || types::bit_width(ty).is_some_and(|bits| bits >= 32);
            if !is_scalar {
                return Err(Diagnostic::unsupported(
                    kernel.location(),
                    format!("expected kernel arguments to be memrefs or scalars of 32 or 64 bits, got {ty}"),
                )
                .into());
            }
            arguments.push(ParamAttr::get(context, ParamKind::Scalar, buffer, 0, &[]));
            continue;
        }
        if arguments.len() != index
            || arguments
                .iter()
                .any(|param: &ParamAttr| param.kind() == Ok(ParamKind::Scalar))
        {
            let message = "expected kernel arguments to be memrefs and scalars after them";
            return Err(Diagnostic::user(kernel.location(), message).into());
        }
        arguments.push(ParamAttr::get(context, ParamKind::Pointer, buffer, 0, &[]));
        let shape = types::shape(ty).unwrap_or_default();
        if types::is_contiguous(ty) {
            let inner = (1..shape.len()).filter(|axis| shape[*axis].is_none());
            sizes.extend(inner.map(|axis| (buffer, axis as i64)));
        } else if let Some((all, _)) = types::strides_and_offset(ty) {
            let dynamic = (0..all.len()).filter(|axis| all[*axis].is_none());
            strides.extend(
                dynamic.map(|axis| ParamAttr::get(context, ParamKind::Stride, buffer, axis as i64, &[])),
            );
        }
    }
    for load in walk::named(kernel, LoadOp::NAME)
        .into_iter()
        .filter_map(LoadOp::from_op)
    {
        // A load with an alignment reads whole words up to the buffer's end.
        let buffer = load.buffer()?;
        let outermost = types::shape(buffer.r#type()).and_then(|shape| shape.first().copied());
        if let (Some(_), Some(None), Ok(argument)) =
            (load.alignment(), outermost, BlockArgument::try_from(buffer))
        {
            sizes.push((argument.argument_number() as i64, 0));
        }
    }
    for dim in walk::named(kernel, "memref.dim") {
        let (buffer, axis) = measured(dim).ok_or_else(|| {
            Diagnostic::unsupported(
                dim.location(),
                "expected the size of a constant axis of a kernel argument",
            )
        })?;
        let ty = dim.operand(0)?.r#type();
        if types::shape(ty)
            .and_then(|shape| shape.get(axis as usize).copied())
            .flatten()
            .is_none()
        {
            sizes.push((buffer, axis));
        }
    }
    sizes.sort_unstable();
    sizes.dedup();
    let sizes = sizes
        .into_iter()
        .map(|(buffer, axis)| ParamAttr::get(context, ParamKind::Size, buffer, axis, &[]));
    let maps = tensor_maps(kernel)?;
    let maps = maps
        .iter()
        .map(|(buffer, extents)| ParamAttr::get(context, ParamKind::TensorMap, *buffer, 0, extents));
    Ok(arguments
        .into_iter()
        .chain(sizes)
        .chain(strides)
        .chain(maps)
        .collect())
}

/// The tensor maps of a kernel, each as its buffer and its box.
fn tensor_maps<'c>(kernel: OperationRef<'c, '_>) -> Result<BTreeSet<(i64, Vec<i64>)>, PassError<'c>> {
    let mut maps = BTreeSet::new();
    for map in walk::named(kernel, TensorMapOp::NAME)
        .into_iter()
        .filter_map(TensorMapOp::from_op)
    {
        let location = map.op().location();
        let buffer = BlockArgument::try_from(map.buffer()?)
            .map_err(|_| Diagnostic::unsupported(location, "expected the tensor map of a kernel argument"))?;
        let ty = TensorMapType::from_type(map.map()?.r#type())
            .ok_or_else(|| Diagnostic::internal(location, "expected a tensor map"))?;
        tensor_maps::check(map.buffer()?, location)?;
        maps.insert((buffer.argument_number() as i64, ty.r#box().to_vec()));
    }
    Ok(maps)
}

/// The buffer and axis of a `memref.dim` of a kernel argument and a constant axis.
fn measured(dim: OperationRef<'_, '_>) -> Option<(i64, i64)> {
    let buffer = BlockArgument::try_from(dim.operand(0).ok()?)
        .ok()?
        .argument_number();
    Some((buffer as i64, constant_index(dim.operand(1).ok()?)?))
}

/// The value of an `arith.constant` of type index.
pub(super) fn constant_index(value: Value<'_, '_>) -> Option<i64> {
    let op = OperationResult::try_from(value).ok()?.owner();
    integer_of(op, "value")
}

/// The attributes of a parameter. Buffers do not alias, except those that the launch says may be the same memory; buffers that
/// nothing is stored to may be read through the read-only path.
fn argument_attributes(
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
    let stored = walk::pre_order(kernel).into_iter().any(|op| {
        let written = match norma_dialects::op_name(op) {
            StoreOp::NAME | BulkStoreOp::NAME => op.operand(1).ok(),
            TensorStoreOp::NAME => mapped(op),
            DrawTileOp::NAME => op.operand(0).ok(),
            _ => None,
        };
        written.is_some() && written == buffer
    });
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

/// The buffer that a `gl.tensor_store` writes to.
fn mapped<'c, 'a>(store: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
    let map = OperationResult::try_from(store.operand(1).ok()?).ok()?.owner();
    TensorMapOp::from_op(map)?.buffer().ok()
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

/// Gives the block the parameters' types; each memref becomes the view of its pointer, and a scalar its parameter.
fn replace_arguments<'c>(
    block: BlockRef<'c, '_>,
    param_types: &[Type<'c>],
    location: melior::ir::Location<'c>,
) -> Result<(), PassError<'c>> {
    let arguments = block.argument_count();
    for ty in param_types {
        // SAFETY: block, type and location are alive.
        unsafe { mlirBlockAddArgument(block.to_raw(), ty.to_raw(), location.to_raw()) };
    }
    let b = Builder::at_start(block, location);
    for index in 0..arguments {
        let argument: Value<'c, '_> = block.argument(index)?.into();
        let param: Value<'c, '_> = block.argument(arguments + index)?.into();
        let view = if argument.r#type() == param.r#type() {
            param
        } else {
            b.value("builtin.unrealized_conversion_cast", &[param], argument.r#type())
        };
        // SAFETY: both values are alive.
        unsafe { mlirValueReplaceAllUsesOfWith(argument.to_raw(), view.to_raw()) };
    }
    for _ in 0..arguments {
        // SAFETY: the argument has no uses left.
        unsafe { mlirBlockEraseArgument(block.to_raw(), 0) };
    }
    Ok(())
}

/// Declares the kernel's shared memory, aligned to 128 bytes as tensor copies require.
fn shared_memory<'c>(
    b: &Builder<'c, '_>,
    kernel: &str,
    bytes: i64,
    dynamic: bool,
) -> Result<(), Diagnostic<'c>> {
    let context = b.context();
    let parse = |text: &str| {
        Attribute::parse(context, text)
            .ok_or_else(|| Diagnostic::internal(b.location(), format!("no attribute {text}")))
    };
    let linkage = if dynamic {
        "#llvm.linkage<external>"
    } else {
        "#llvm.linkage<internal>"
    };
    let size = if dynamic { 0 } else { bytes };
    let attributes = [
        (
            "sym_name",
            StringAttribute::new(context, &shared_symbol(kernel)).into(),
        ),
        ("global_type", parse(&format!("!llvm.array<{size} x i8>"))?),
        ("linkage", parse(linkage)?),
        ("addr_space", parse("3 : i32")?),
        ("alignment", parse("128 : i64")?),
    ];
    b.op_with("llvm.mlir.global", &[], &[], &attributes, vec![Region::new()]);
    Ok(())
}
