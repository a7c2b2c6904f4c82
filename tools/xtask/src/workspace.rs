//! Where things lie in the repository.

use std::path::PathBuf;

use crate::failure::Failure;

/// The repository's root. Cargo's value at run time comes first, so that a moved clone does not look in its old place.
pub fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest.ancestors().nth(2).map(PathBuf::from).unwrap_or(manifest)
}

/// The folder that cargo puts built programs into: the one this program runs from.
///
/// # Errors
/// If the system does not say which file is running.
pub fn built_programs() -> Result<PathBuf, Failure> {
    let unknown = |source| Failure::File {
        action: "find the running program".to_owned(),
        source,
    };
    let program = std::env::current_exe().map_err(unknown)?;
    Ok(program.parent().map(PathBuf::from).unwrap_or(program))
}
