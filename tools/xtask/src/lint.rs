//! `cargo xtask lint`: formatting and clippy, as the continuous build runs them.

use crate::child;
use crate::failure::Failure;
use crate::setup;

/// Checks formatting, then runs clippy on every target of the workspace with warnings as errors.
///
/// # Errors
/// If set-up fails or either check finds something.
pub fn run(options: &setup::Options) -> Result<(), Failure> {
    let setup = setup::run(options)?;
    child::run(setup.cargo().args(["fmt", "--all", "--check"]))?;
    child::run(setup.cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))
}
