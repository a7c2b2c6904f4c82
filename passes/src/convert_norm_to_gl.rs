//! `convert-norm-to-gl`: a scheduled kernel becomes one CTA's program.
//!
//! Grid dims become the CTA's place in the grid, tile dims the axes of tiles. A value that varies over all tile dims is a
//! tile in the kernel's layout; one that varies over fewer is a tile in a slice of it; one that varies over none is a
//! scalar. `space` answers what dims mean, `tiles` gives types and moves values between sets of dims, `body` translates
//! ops, `launch` says how the host launches the result.

mod body;
mod launch;
mod space;
mod tiles;

use melior::ir::{
    Attribute, Block, OperationRef, Region, RegionLike, Type,
    attribute::{IntegerAttribute, StringAttribute, TypeAttribute},
    operation::OperationLike,
    r#type::{FunctionType, IntegerType},
};
use norma_dialects::{
    attributes,
    norm::{KernelOp, LaunchOp},
};

use crate::{
    support::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::ConvertNormToGl,
};

use space::Space;
use tiles::Tiles;

pub(crate) fn run<'c>(module: OperationRef<'c, '_>, cx: &PassContext<'c, ConvertNormToGl>) -> PassResult<'c> {
    let kernels = walk::named(module, KernelOp::NAME);
    for op in &kernels {
        convert(*op)?;
    }
    if !kernels.is_empty() {
        Builder::before(module).set_attribute(module, "gpu.container_module", Attribute::unit(cx.context()));
    }
    retarget(module, cx)
}

fn convert<'c>(op: OperationRef<'c, '_>) -> Result<(), PassError<'c>> {
    let location = op.location();
    let kernel =
        KernelOp::from_op(op).ok_or_else(|| Diagnostic::internal(location, "expected norm.kernel"))?;
    let name = kernel.sym_name()?;
    let space = Space::of(kernel)?;
    let schedule = kernel.schedule().ok_or_else(|| {
        Diagnostic::user(
            location,
            "expected a kernel with a schedule; run norm-select-schedule first",
        )
    })?;
    let context = crate::support::context::of(location);
    let tiles = Tiles::new(&space, schedule)?;

    let buffers = space
        .buffers()
        .iter()
        .map(|(ty, location)| (*ty, *location))
        .collect::<Vec<_>>();
    let types = buffers.iter().map(|(ty, _)| *ty).collect::<Vec<Type<'c>>>();
    let region = Region::new();
    region.append_block(Block::new(&buffers));
    let launch = launch::attribute(kernel, &space)?;
    let warps = IntegerAttribute::new(IntegerType::new(context, 64).into(), tiles.num_warps());
    let attributes: [(&str, Attribute<'c>); 6] = [
        ("sym_name", StringAttribute::new(context, name).into()),
        (
            "function_type",
            TypeAttribute::new(FunctionType::new(context, &types, &[]).into()).into(),
        ),
        ("gpu.kernel", Attribute::unit(context)),
        (attributes::kernel::NUM_WARPS, warps.into()),
        (attributes::kernel::LAUNCH, launch.into()),
        (attributes::kernel::SCHEDULE, schedule.into()),
    ];

    let mut b = Builder::before(op);
    let outer = Region::new();
    outer.append_block(Block::new(&[]));
    let module_name = StringAttribute::new(context, name);
    let module = b.op_with(
        "gpu.module",
        &[],
        &[],
        &[("sym_name", module_name.into())],
        vec![outer],
    );
    b.move_to_end(walk::entry_block(module)?);
    let function = b.op_with("gpu.func", &[], &[], &attributes, vec![region]);
    body::translate(kernel, &space, &tiles, walk::entry_block(function)?)?;
    b.erase(op);
    Ok(())
}

/// Points launches at the functions that kernels have become.
fn retarget<'c>(module: OperationRef<'c, '_>, cx: &PassContext<'c, ConvertNormToGl>) -> PassResult<'c> {
    for launch in walk::named(module, LaunchOp::NAME) {
        let callee = launch.attribute("callee")?;
        let Ok(name) = norma_dialects::symbol(callee) else {
            continue;
        };
        let nested = Attribute::parse(cx.context(), &format!("@\"{name}\"::@\"{name}\""))
            .ok_or_else(|| Diagnostic::internal(launch.location(), format!("no symbol {name}")))?;
        Builder::before(launch).set_attribute(launch, "callee", nested);
    }
    Ok(())
}
