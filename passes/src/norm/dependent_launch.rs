//! `norm-dependent-launch`: a kernel that a function launches behind another may start before that one has ended.
//!
//! Starting a kernel takes a microsecond or two, in which the GPU has nothing to do where kernels follow one another. With programmatic
//! dependent launch that time passes while the kernel ahead still computes; `gl-dependent-launch` makes each wait for the other's results.

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::{attributes, norm::KernelOp};
use norma_targets::{Feature, Target};

use crate::{
    kernel::launch_order::LaunchOrder,
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    schedule::mapping::Mapping,
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
    for kernel in walk::all(module, KernelOp::from_op) {
        let op = kernel.op();
        let is_chosen = op.attribute(attributes::kernel::CHOICE).is_ok();
        let Some(schedule) = kernel.schedule().filter(|_| is_chosen) else {
            continue;
        };
        if !order.is_behind_another(kernel.sym_name()?) {
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
