//! Refuses what a target or LLVM's NVPTX backend cannot select, before LLVM sees it.
//!
//! The backend aborts the process on such ops, so the check is a closed list: an op passes only if [`needs`] lists it.
//! **Invariant:** no module that passes makes LLVM abort.

mod needs;

use std::collections::HashSet;

use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike};
use norma_passes::mlir::diagnostic::{self, Severity};
use norma_passes::mlir::walk;

use crate::error::{Error, Result};
use crate::target::{Feature, Target};

/// What a target needs so that code for an op can be generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// For every target.
    Nothing,
    /// For the targets that have a feature.
    Feature(Feature),
    /// No target can; the text says what to use instead.
    Never(&'static str),
}

/// Checks every op of a module at the `nvvm` level, and reports each that the target does not support.
///
/// # Errors
///
/// At least one op was reported; the diagnostics give its location and the targets that have the feature.
pub fn check(module: OperationRef, target: &Target) -> Result<()> {
    // What one op of the user's has become is reported once.
    let mut reported = HashSet::new();
    let mut report = |op: OperationRef, message: String| {
        let location = op.location();
        if reported.insert((location.to_raw().ptr as usize, message.clone())) {
            diagnostic::emit(location, Severity::Error, &message, &[]);
        }
    };
    let mut refused = 0;
    for op in walk::pre_order(module) {
        if let Some(name) = unspeakable_name(op) {
            report(
                op,
                format!("expected a name of letters, digits, '_' and '$' for PTX, got '{name}'"),
            );
            refused += 1;
        }
        for need in needs::of(op) {
            if let Some(message) = objection(op, need, target) {
                report(op, message);
                refused += 1;
            }
        }
    }
    match refused {
        0 => Ok(()),
        _ => Err(Error::unsupported(format!(
            "{refused} operations cannot be generated for {}",
            target.name
        ))
        .diagnosed()),
    }
}

/// The name of a module (which also names a file) or of a function with a body, if it is not a valid PTX identifier.
fn unspeakable_name<'c>(op: OperationRef<'c, '_>) -> Option<&'c str> {
    // Only symbols are asked for a region: melior's error for an op without one prints the op.
    let name = norma_dialects::symbol_name(op)?;
    op.region(0).ok()?.first_block()?;
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let is_identifier = name.bytes().all(is_legal) && !name.starts_with(|first: char| first.is_ascii_digit());
    (!is_identifier).then_some(name)
}

/// The message for an op whose need is not met.
fn objection(op: OperationRef, need: Need, target: &Target) -> Option<String> {
    let name = norma_dialects::op_name(op);
    match need {
        Need::Nothing => None,
        Need::Feature(feature) if target.has(feature) => None,
        Need::Feature(feature) => Some(format!(
            "'{name}' needs {feature}, which {} lacks; supported on {}",
            target.name,
            Target::names_with(feature)
        )),
        Need::Never(instead) => Some(format!("'{name}' cannot be generated: {instead}")),
    }
}
