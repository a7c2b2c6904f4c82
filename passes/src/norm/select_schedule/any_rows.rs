//! Schedules of kernels whose rows must have the same results, bit for bit, whatever their number.

use melior::ir::operation::OperationLike;
use norma_dialects::norm::{KernelOp, ScheduleAttr};

use super::given::OfKernel;
use crate::{
    kernel::{
        rows::{combines_rows, rows},
        space::Space,
    },
    mlir::{
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
    },
    schedule::mapping::Mapping,
    table::NormSelectSchedule,
};

/// Refuses schedules for some sizes, and those in which the order of a row's elements depends on its place in memory.
///
/// # Errors
///
/// The user's, at the kernel.
pub(super) fn check<'c>(kernel: KernelOp<'c, '_>, given: &OfKernel<'c>) -> Result<(), PassError<'c>> {
    let location = kernel.op().location();
    if rows(&Space::of(kernel)?)?.is_empty() {
        return Ok(());
    }
    if kernel.alternatives().is_some() || !given.alternatives.is_empty() {
        let message = "expected one schedule for all sizes with batch-invariant, got one for some sizes";
        return Err(Diagnostic::user(location, message).into());
    }
    let given = given.schedule.and_then(ScheduleAttr::from_attribute);
    let Some(schedule) = kernel.schedule().or(given) else {
        return Ok(());
    };
    match Mapping::of(schedule)?.aligned_dim {
        Some(dim) => {
            let message = format!(
                "expected a schedule without aligned_dim with batch-invariant, got aligned_dim = {dim}: how a row is reduced depends \
                 on where it begins"
            );
            Err(Diagnostic::user(location, message).into())
        }
        None => Ok(()),
    }
}

/// Warns of a kernel that combines rows: what depends on that depends on their number.
pub(super) fn warn<'c>(kernel: KernelOp<'c, '_>, cx: &PassContext<'c, NormSelectSchedule>) -> PassResult<'c> {
    let space = Space::of(kernel)?;
    let rows = rows(&space)?;
    if let Some((op, over)) = combines_rows(&space, &rows)? {
        let names = over.iter().map(|dim| space.dim_name(*dim)).collect::<Vec<_>>();
        let text = format!(
            "this combines rows (over {}): batch-invariant promises nothing for what depends on it",
            names.join(", ")
        );
        cx.warn(op.location(), text);
    }
    Ok(())
}
