//! `norm-dependent-launch`: a kernel that a function launches behind another may start before that one has ended.
//!
//! Starting a kernel takes a microsecond or two, in which the GPU has nothing to do where kernels follow one another. With programmatic
//! dependent launch that time passes while the kernel ahead still computes; `gl-dependent-launch` makes each wait for the other's results.
//!
//! A kernel that takes shared memory gains nothing behind one that takes none, and starts 2 us later than without (GroupNorm with the
//! channels last, H200): the two divide an SM's memory between L1 and shared memory in different ways, which an SM changes when it is idle.

use std::collections::HashMap;

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::{attributes, norm::KernelOp};
use norma_targets::{Feature, Target};

use crate::{
    kernel::{launch_order::LaunchOrder, space::Space},
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    schedule::{exchanges, facts::Facts, mapping::Mapping},
    table::{NormDependentLaunch, NormDependentLaunchStatistic},
};

pub(crate) fn run<'c>(
    module: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormDependentLaunch>,
) -> PassResult<'c> {
    let target =
        Target::parse(&cx.options().target).map_err(|error| Diagnostic::user(module.location(), &error))?;
    if !target.has(Feature::DependentLaunch) {
        return Ok(());
    }
    let order = LaunchOrder::of(module);
    let kernels = walk::all(module, KernelOp::from_op);
    let mut takes_shared = HashMap::new();
    for kernel in &kernels {
        takes_shared.insert(kernel.sym_name()?, takes_shared_memory(*kernel)?);
    }
    for kernel in kernels {
        let (op, name) = (kernel.op(), kernel.sym_name()?);
        let is_chosen = op.attribute(attributes::kernel::CHOICE).is_ok();
        let Some(schedule) = kernel.schedule().filter(|_| is_chosen) else {
            continue;
        };
        let ahead = order.ahead(name);
        let divides_alike = |other: &&str| !takes_shared[name] || takes_shared.get(other) == Some(&true);
        if ahead.is_empty() || !ahead.iter().all(divides_alike) {
            continue;
        }
        let mut mapping = Mapping::of(schedule)?;
        mapping.dependent_launch = true;
        let schedule = mapping.attribute(op.location()).ok_or(PassError::Reported)?;
        Builder::before(op).set_attribute(op, "schedule", schedule.into());
        cx.count(NormDependentLaunchStatistic::NumKernels, 1);
    }
    Ok(())
}

/// Whether the CTAs of a kernel with a schedule take shared memory.
fn takes_shared_memory<'c>(kernel: KernelOp<'c, '_>) -> Result<bool, PassError<'c>> {
    let Some(schedule) = kernel.schedule().filter(|_| kernel.roles().is_none()) else {
        return Ok(false);
    };
    let facts = Facts::of(&Space::of(kernel)?)?;
    Ok(exchanges::takes_shared_memory(&facts, &Mapping::of(schedule)?))
}
