//! Copies of kernels under new names.

use melior::ir::{attribute::StringAttribute, operation::Operation};
use norma_dialects::{attributes, norm::KernelOp};

use crate::mlir::{builder::Builder, pass::PassError};

/// Inserts a copy of a kernel. The record of the choice of the kernel's schedule stays with the kernel: nothing has been chosen for the
/// copy, which the caller changes.
pub(super) fn copy_kernel<'c, 'a>(
    b: &Builder<'c, 'a>,
    kernel: KernelOp<'c, 'a>,
    name: &str,
) -> Result<KernelOp<'c, 'a>, PassError<'c>> {
    let copy = b.insert(Operation::clone(&kernel.op()));
    b.set_attribute(copy, "sym_name", StringAttribute::new(b.context(), name).into());
    b.remove_attribute(copy, attributes::kernel::CHOICE);
    KernelOp::from_op(copy)
        .ok_or_else(|| PassError::Internal("expected the copy of a norm.kernel".to_owned()))
}
