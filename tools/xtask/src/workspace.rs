//! The locations of things in the repository.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::child;
use crate::failure::Failure;
use crate::setup::Setup;

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

/// What cargo says of the workspace: its crates, and where it builds them.
///
/// # Errors
/// If cargo fails.
pub fn metadata(setup: &Setup) -> Result<Value, Failure> {
    let mut metadata = setup.cargo();
    metadata.args([
        "metadata",
        "--format-version=1",
        "--filter-platform=x86_64-unknown-linux-gnu",
    ]);
    serde_json::from_str(&child::ask(&mut metadata)?)
        .map_err(|error| Failure::Check(format!("cargo metadata is not JSON: {error}")))
}

/// The folder of what cargo built by a profile, from the output of `cargo metadata`.
///
/// # Errors
/// If the output does not name it.
pub fn built(metadata: &Value, profile: &str) -> Result<PathBuf, Failure> {
    // Cargo names the folder of the dev profile differently.
    let folder = match profile {
        "dev" => "debug",
        other => other,
    };
    match metadata["target_directory"].as_str() {
        Some(target) => Ok(Path::new(target).join(folder)),
        None => Err(Failure::Check(
            "cargo metadata has no target_directory".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn programs_are_taken_from_where_cargo_builds() {
        let metadata = json!({"target_directory": "/elsewhere"});
        assert_eq!(
            built(&metadata, "release").unwrap(),
            Path::new("/elsewhere/release")
        );
        assert_eq!(built(&metadata, "dev").unwrap(), Path::new("/elsewhere/debug"));
        assert!(built(&json!({}), "release").is_err());
    }
}
