//! The one dim that a kernel reduces over, or why there is not one.

use std::collections::BTreeSet;

use melior::ir::operation::OperationLike;

use super::space::Space;
use crate::mlir::diagnostic::Diagnostic;

/// The position of the dim that all reductions of a kernel remove.
///
/// # Errors
///
/// Unsupported: no reduction, reductions over different dims, or one over several dims.
pub fn reduced_dim<'c>(space: &Space<'c, '_>) -> Result<usize, Diagnostic<'c>> {
    let location = space.kernel.op().location();
    let reductions = space.reductions();
    let Some(first) = reductions.first() else {
        let message = "a kernel without a reduction, expected at least one norm.reduce";
        return Err(Diagnostic::unsupported(location, message));
    };
    let dims = space.dims_reduced_by(*first);
    for other in &reductions {
        let others = space.dims_reduced_by(*other);
        if others != dims {
            let message = format!(
                "reductions over different dims, expected all over dims {}, got one over dims {}",
                list(&dims),
                list(&others)
            );
            return Err(Diagnostic::unsupported(other.op().location(), message)
                .note(first.op().location(), "the first reduction is here"));
        }
    }
    match dims.first() {
        Some(dim) if dims.len() == 1 => Ok(*dim),
        _ => Err(Diagnostic::unsupported(
            first.op().location(),
            format!(
                "a reduction over {} dims that do not merge, expected one dim",
                dims.len()
            ),
        )),
    }
}

fn list(dims: &BTreeSet<usize>) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
