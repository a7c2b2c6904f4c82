//! `norm-tile`: kernels' dims are split and given roles, as their schedules say.
//!
//! Matches a `norm.kernel` with a schedule and without roles. Each factor of a dim, or run of factors that threads or registers take,
//! becomes a dim with its role, and the old dim is replaced by the mixed-radix number whose digits these are. Every old point is
//! exactly one new point, and a guard masks the points beyond an extent that the factors exceed, so the kernel computes what it did.
//! Nothing is moved or copied: only index arithmetic is added. [`crate::schedule::plan`] decides which dims, extents and guards.

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::norm::KernelOp;

use crate::{
    kernel::{space::Space, space_rewrite::replace_space},
    mlir::{
        diagnostic::Diagnostic,
        pass::{PassContext, PassResult},
        walk,
    },
    schedule::{mapping::Mapping, plan},
    table::{NormTile, NormTileStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormTile>) -> PassResult<'c> {
    for kernel in walk::all(op, KernelOp::from_op) {
        if kernel.roles().is_some() {
            continue;
        }
        let location = kernel.op().location();
        let Some(schedule) = kernel.schedule() else {
            let message = "expected a kernel with a schedule, got none";
            return Err(Diagnostic::user(location, message).into());
        };
        let space = Space::of(kernel)?;
        let tiled = plan::apply(&space, &Mapping::of(schedule)?).map_err(|reason| reason.at(location))?;
        replace_space(&space, &tiled)?;
        cx.count(NormTileStatistic::NumTiled, 1);
    }
    Ok(())
}
