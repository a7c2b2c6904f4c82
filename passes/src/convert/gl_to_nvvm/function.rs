//! Rebuilds kernels as `llvm.func`, with the parameters that [`super::params`] lists.
//!
//! Inside, a buffer stays a memref, a view of its pointer parameter, until its users are converted. The meaning of each
//! parameter is written to `gl.params`, from which the bundle's manifest and the patterns read it.

use melior::{
    Context,
    dialect::llvm,
    ir::{
        Attribute, BlockLike, BlockRef, Location, OperationRef, Region, RegionLike, Type, TypeLike, Value,
        ValueLike,
        attribute::{
            ArrayAttribute, DenseI32ArrayAttribute, IntegerAttribute, StringAttribute, TypeAttribute,
        },
        operation::OperationLike,
        r#type::IntegerType,
    },
};
use mlir_sys::{mlirBlockAddArgument, mlirBlockEraseArgument, mlirValueReplaceAllUsesOfWith};
use norma_dialects::{
    attributes::kernel as attribute,
    gl::{LaunchAttr, ParamAttr},
    integer_of,
};
use norma_targets::{BOX_ALIGNMENT, STATIC_SHARED_BYTES, Target, WARP_SIZE};

use crate::gl::{launch, swizzled};
use crate::mlir::{
    address_space, builder::Builder, context, diagnostic::Diagnostic, pass::PassError, region, walk,
};

use super::params;

/// An attribute and its name.
type NamedAttribute<'c> = (&'static str, Attribute<'c>);

/// Attributes that a kernel keeps for the bundle.
const KEPT: [&str; 3] = [attribute::LAUNCH, attribute::SCHEDULE, attribute::CHOICE];

/// Replaces a `gpu.func` by an `llvm.func` whose body still works on memrefs.
///
/// # Errors
///
/// User: a kernel without what says how it is launched, or one that wants more CTAs on an SM of `target` than the SM has room for.
pub(super) fn lower<'c>(kernel: OperationRef<'c, '_>, target: &Target) -> Result<(), PassError<'c>> {
    let location = kernel.location();
    let context = context::of(location);
    let name = norma_dialects::symbol_name(kernel)
        .ok_or_else(|| Diagnostic::user(location, "expected a kernel with a name"))?;
    let warps = integer_of(kernel, attribute::NUM_WARPS)
        .ok_or_else(|| Diagnostic::user(location, "expected a kernel with gl.num_warps"))?;
    let launch =
        launch::of(kernel).ok_or_else(|| Diagnostic::user(location, "expected a kernel with gl.launch"))?;
    let block = kernel
        .region(0)?
        .first_block()
        .ok_or_else(|| Diagnostic::user(location, "expected a kernel with a body"))?;

    let params = params::parameters(kernel, block)?;
    let param_types = params
        .iter()
        .map(|param| params::type_of(context, block, *param))
        .collect::<Result<Vec<_>, _>>()?;
    let mut attributes = signature(kernel, block, &params, &param_types, launch)?;
    attributes.push(("sym_name", StringAttribute::new(context, name).into()));
    check_ctas_per_sm(kernel, warps, target)?;
    attributes.extend(launch_bounds(kernel, warps, launch));
    attributes.extend(
        KEPT.iter()
            .filter_map(|name| Some((*name, kernel.attribute(name).ok()?))),
    );
    let shared = integer_of(kernel, attribute::SHARED_BYTES).unwrap_or(0);
    let is_dynamic = shared > STATIC_SHARED_BYTES;
    if is_dynamic {
        let bytes = IntegerAttribute::new(IntegerType::new(context, 64).into(), shared);
        attributes.push((attribute::DYNAMIC_SHARED, bytes.into()));
    }

    let b = Builder::before(kernel);
    if shared > 0 {
        let alignments = walk::pre_order(kernel).into_iter().map(swizzled::alignment_of);
        let alignment = alignments.fold(BOX_ALIGNMENT, i64::max);
        shared_memory(&b, name, shared, alignment, is_dynamic)?;
    }
    let region = region::taken_from(kernel.region(0)?);
    let function = b.op_with("llvm.func", &[], &[], &attributes, vec![region]);
    replace_arguments(walk::entry_block(function)?, &param_types, location)?;
    b.erase(kernel);
    Ok(())
}

/// The attributes that say what the function is and what it takes.
fn signature<'c>(
    kernel: OperationRef<'c, '_>,
    block: BlockRef<'c, '_>,
    params: &[ParamAttr<'c>],
    param_types: &[Type<'c>],
    launch: LaunchAttr<'c>,
) -> Result<Vec<NamedAttribute<'c>>, PassError<'c>> {
    let location = kernel.location();
    let context = context::of(location);
    let function_type = llvm::r#type::function(llvm::r#type::void(context), param_types, false);
    let parse = |text: &str| parsed(context, location, text);
    let of_arguments = params
        .iter()
        .map(|param| Ok(parse(&params::attributes_of(kernel, block, *param, launch)?)?))
        .collect::<Result<Vec<_>, PassError<'c>>>()?;
    let params = params
        .iter()
        .copied()
        .map(Into::into)
        .collect::<Vec<Attribute<'c>>>();
    Ok(vec![
        ("function_type", TypeAttribute::new(function_type).into()),
        ("linkage", parse("#llvm.linkage<external>")?),
        ("CConv", parse("#llvm.cconv<ccc>")?),
        ("arg_attrs", ArrayAttribute::new(context, &of_arguments).into()),
        ("gpu.kernel", Attribute::unit(context)),
        ("nvvm.kernel", Attribute::unit(context)),
        (attribute::PARAMS, ArrayAttribute::new(context, &params).into()),
    ])
}

/// Refuses a bound that the assembler would ignore: more CTAs than an SM has threads for.
fn check_ctas_per_sm<'c>(
    kernel: OperationRef<'c, '_>,
    warps: i64,
    target: &Target,
) -> Result<(), Diagnostic<'c>> {
    let wanted = integer_of(kernel, attribute::MIN_CTAS_PER_SM).unwrap_or(0);
    let threads = warps * WARP_SIZE;
    let most = target.occupancy(threads.unsigned_abs(), None, 0);
    if u64::try_from(wanted).is_ok_and(|wanted| wanted <= most) {
        return Ok(());
    }
    let message = format!(
        "expected at most {most} for min_ctas_per_sm, since an SM of {} holds no more CTAs of {threads} threads, got {wanted}",
        target.name
    );
    Err(Diagnostic::user(kernel.location(), message))
}

/// The attributes that tell ptxas how the kernel is launched: its threads, its cluster, and the bounds on its registers.
fn launch_bounds<'c>(
    kernel: OperationRef<'c, '_>,
    warps: i64,
    launch: LaunchAttr<'c>,
) -> Vec<NamedAttribute<'c>> {
    let context = context::of(kernel.location());
    let along_x = |extent: i64| DenseI32ArrayAttribute::new(context, &[extent as i32, 1, 1]).into();
    let mut bounds: Vec<NamedAttribute<'c>> = vec![("nvvm.reqntid", along_x(warps * WARP_SIZE))];
    if launch.cluster() > 1 {
        bounds.push(("nvvm.cluster_dim", along_x(launch.cluster())));
    }
    let of_registers = [
        ("nvvm.minctasm", attribute::MIN_CTAS_PER_SM),
        ("nvvm.maxnreg", attribute::START_REGISTERS),
    ];
    bounds.extend(of_registers.into_iter().filter_map(|(name, of_kernel)| {
        let bound = integer_of(kernel, of_kernel)?;
        let bound = IntegerAttribute::new(IntegerType::new(context, 32).into(), bound);
        Some((name, bound.into()))
    }));
    bounds
}

/// The name of a kernel's shared memory.
pub(super) fn shared_symbol(kernel: &str) -> String {
    format!("{kernel}_shared")
}

/// Gives the block the parameters' types; each memref becomes the view of its pointer, and a scalar its parameter.
fn replace_arguments<'c>(
    block: BlockRef<'c, '_>,
    param_types: &[Type<'c>],
    location: Location<'c>,
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

/// Declares the kernel's shared memory, aligned as tensor copies require.
fn shared_memory<'c>(
    b: &Builder<'c, '_>,
    kernel: &str,
    bytes: i64,
    alignment: i64,
    dynamic: bool,
) -> Result<(), Diagnostic<'c>> {
    let context = b.context();
    let parse = |text: &str| parsed(context, b.location(), text);
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
        ("addr_space", parse(&format!("{} : i32", address_space::SHARED))?),
        ("alignment", b.i64_attribute(alignment)),
    ];
    b.op_with("llvm.mlir.global", &[], &[], &attributes, vec![Region::new()]);
    Ok(())
}

/// The attribute that a text of MLIR stands for.
fn parsed<'c>(
    context: &'c Context,
    location: Location<'c>,
    text: &str,
) -> Result<Attribute<'c>, Diagnostic<'c>> {
    Attribute::parse(context, text)
        .ok_or_else(|| Diagnostic::internal(location, format!("no attribute {text}")))
}
