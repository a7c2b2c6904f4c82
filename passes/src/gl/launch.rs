//! How a kernel is launched, as its `gl.launch` says.

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::{attributes::kernel, gl::LaunchAttr};

/// The `gl.launch` of a kernel.
pub(crate) fn of<'c>(kernel: OperationRef<'c, '_>) -> Option<LaunchAttr<'c>> {
    LaunchAttr::from_attribute(kernel.attribute(kernel::LAUNCH).ok()?)
}

/// The CTAs of a cluster of a kernel; 1 without a `gl.launch`.
pub(super) fn ctas_of_cluster(kernel: OperationRef<'_, '_>) -> i64 {
    of(kernel).map_or(1, LaunchAttr::cluster)
}
