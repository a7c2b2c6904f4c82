//! The locations of things in the repository.

use std::path::PathBuf;

use crate::failure::Failure;

/// The repository's root. Cargo's value at run time has priority, so that a moved clone does not use its old path.
pub fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest.ancestors().nth(2).map(PathBuf::from).unwrap_or(manifest)
}

/// The folder of programs built by cargo: the one from which this program runs.
///
/// # Errors
/// If the system cannot tell which file is running.
pub fn built_programs() -> Result<PathBuf, Failure> {
    let unknown = |source| Failure::File {
        action: "find the running program".to_owned(),
        source,
    };
    let program = std::env::current_exe().map_err(unknown)?;
    Ok(program.parent().map(PathBuf::from).unwrap_or(program))
}
