//! `convert-norm-to-gl`: a scheduled kernel becomes one CTA's program.
//!
//! Grid dims become the cluster's coordinates in the grid, loop dims the steps of loops, tile dims the axes of tiles. A value
//! that varies over all tile dims is a tile in the kernel's layout; one that varies over fewer is a tile in a projection of it;
//! one that varies over none is a scalar. `placement` says where dims lie, `tiles` gives types and broadcasts values, `body`
//! translates ops and emits the loops of [`crate::kernel::nests`], `launch` says how the host launches the result, and
//! `counter` provides the counter from which CTAs draw tiles.

mod body;
mod counter;
mod launch;
mod placement;
mod tiles;

use std::collections::{BTreeSet, HashMap, HashSet};

use melior::{
    StringRef,
    ir::{
        Attribute, AttributeLike, OperationRef, Value, ValueLike,
        attribute::{FlatSymbolRefAttribute, IntegerAttribute, StringAttribute, TypeAttribute},
        operation::OperationLike,
        r#type::{FunctionType, IntegerType},
    },
};
use mlir_sys::mlirSymbolRefAttrGet;
use norma_dialects::{
    attributes,
    norm::{KernelOp, LaunchOp},
};

use crate::{
    kernel::{launch_order, space::Space},
    mlir::{
        builder::Builder,
        context,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        region, walk,
    },
    schedule::mapping::Mapping,
    table::ConvertNormToGl,
};

use counter::Counters;
use placement::Placement;
use tiles::Tiles;

pub(crate) fn run<'c>(module: OperationRef<'c, '_>, cx: &PassContext<'c, ConvertNormToGl>) -> PassResult<'c> {
    let kernels = walk::named(module, KernelOp::NAME);
    let read_later = launch_order::read_later(module)?;
    let mut drawing = HashSet::new();
    for op in &kernels {
        let converted = convert(*op, &read_later)?;
        drawing.extend(converted.draws.then_some(converted.name));
    }
    if !kernels.is_empty() {
        Builder::before(module).set_attribute(module, "gpu.container_module", Attribute::unit(cx.context()));
    }
    retarget(module, &drawing, cx)
}

/// A kernel that has become a function.
struct Converted {
    name: String,
    /// Whether its CTAs draw tiles, so that it takes a counter.
    draws: bool,
}

/// Converts a kernel. `read_later` has the buffers of each that later kernels read.
fn convert<'c>(
    op: OperationRef<'c, '_>,
    read_later: &HashMap<&'c str, BTreeSet<usize>>,
) -> Result<Converted, PassError<'c>> {
    let location = op.location();
    let context = context::of(location);
    let kernel =
        KernelOp::from_op(op).ok_or_else(|| Diagnostic::internal(location, "expected norm.kernel"))?;
    let space = Space::of(kernel)?;
    let placement = Placement::of(&space)?;
    let schedule = kernel.schedule().ok_or_else(|| {
        let message = "expected a kernel with a schedule; run norm-select-schedule first";
        Diagnostic::user(location, message)
    })?;
    let mapping = Mapping::of(schedule)?;
    let tiles = Tiles::new(&placement, &mapping, location)?;

    let mut b = Builder::before(op);
    let draws = placement.drawn(&mapping).is_some();
    let counter = draws.then(|| counter::ty(&b)).transpose()?;
    let types_of = |arguments: &[Value<'c, '_>]| arguments.iter().map(ValueLike::r#type).collect::<Vec<_>>();
    let buffers = types_of(&space.buffers).into_iter().chain(counter);
    let types = buffers.chain(types_of(&space.scalars)).collect::<Vec<_>>();
    let function_type = TypeAttribute::new(FunctionType::new(context, &types, &[]).into());
    let kernel_name = kernel.sym_name()?;
    let converted = Converted {
        name: kernel_name.to_owned(),
        draws,
    };
    let name = StringAttribute::new(context, &converted.name).into();
    let warps = IntegerAttribute::new(IntegerType::new(context, 64).into(), tiles.num_warps());
    let launch = launch::attribute(&space, &placement, &mapping)?;
    let mut attributes = vec![
        ("sym_name", name),
        ("function_type", function_type.into()),
        ("gpu.kernel", Attribute::unit(context)),
        (attributes::kernel::NUM_WARPS, warps.into()),
        (attributes::kernel::LAUNCH, launch.into()),
        (attributes::kernel::SCHEDULE, schedule.into()),
    ];
    if let Ok(choice) = op.attribute(attributes::kernel::CHOICE) {
        attributes.push((attributes::kernel::CHOICE, choice));
    }
    let counts = [
        (attributes::kernel::STAGES, schedule.stages(), 1),
        (attributes::kernel::UNROLL_BYTES, schedule.unroll_bytes(), 0),
        (attributes::kernel::PRODUCER_WARPS, schedule.producer_warps(), 0),
        (
            attributes::kernel::PRODUCER_REGISTERS,
            schedule.producer_registers(),
            0,
        ),
        (
            attributes::kernel::START_REGISTERS,
            mapping.start_registers().unwrap_or(0),
            0,
        ),
        (attributes::kernel::CONSUMER_GROUPS, schedule.consumer_groups(), 1),
    ];
    for (name, count, default) in counts {
        if count != default {
            let count = IntegerAttribute::new(IntegerType::new(context, 64).into(), count);
            attributes.push((name, count.into()));
        }
    }
    if schedule.min_ctas_per_sm() > 0 {
        let bound = IntegerAttribute::new(IntegerType::new(context, 64).into(), schedule.min_ctas_per_sm());
        attributes.push((attributes::kernel::MIN_CTAS_PER_SM, bound.into()));
    }
    let arguments = types.into_iter().map(|ty| (ty, location)).collect::<Vec<_>>();

    let module = b.op_with(
        "gpu.module",
        &[],
        &[],
        &[("sym_name", name)],
        vec![region::of_block(&[])],
    );
    b.move_to_end(walk::entry_block(module)?);
    let function = b.op_with(
        "gpu.func",
        &[],
        &[],
        &attributes,
        vec![region::of_block(&arguments)],
    );
    let entry = walk::entry_block(function)?;
    let read_later = read_later.get(kernel_name).cloned().unwrap_or_default();
    body::translate(&space, &placement, &mapping, &tiles, read_later, entry)?;
    b.erase(op);
    Ok(converted)
}

/// Points launches at the functions that kernels have become, each in a module of its name, and passes counters to those of
/// `drawing`.
fn retarget<'c>(
    module: OperationRef<'c, '_>,
    drawing: &HashSet<String>,
    cx: &PassContext<'c, ConvertNormToGl>,
) -> PassResult<'c> {
    let mut counters = Counters::default();
    for launch in walk::named(module, LaunchOp::NAME) {
        let Ok(name) = norma_dialects::symbol(launch.attribute("callee")?) else {
            continue;
        };
        let function = FlatSymbolRefAttribute::new(cx.context(), name).to_raw();
        let module_name = StringRef::new(name).to_raw();
        // SAFETY: context, name and reference are alive, and the call copies the one reference that it is given.
        let nested = unsafe {
            let nested = mlirSymbolRefAttrGet(cx.context().to_raw(), module_name, 1, &function);
            Attribute::from_raw(nested)
        };
        Builder::before(launch).set_attribute(launch, "callee", nested);
        if let Some(launch) = LaunchOp::from_op(launch).filter(|_| drawing.contains(name)) {
            counters.pass(launch)?;
        }
    }
    Ok(())
}
