//! The clusters that a kernel is launched in.

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::{attributes::kernel, gl::LaunchAttr};

/// The CTAs of a cluster of `function`, as its `gl.launch` says; 1 without one.
pub(super) fn ctas(function: OperationRef<'_, '_>) -> i64 {
    let launch = function.attribute(kernel::LAUNCH).ok();
    let launch = launch.and_then(LaunchAttr::from_attribute);
    launch.map_or(1, |launch| launch.cluster())
}
