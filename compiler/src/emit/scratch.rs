//! Makes folders for the files of programs that the compiler runs.

use std::env;

use tempfile::TempDir;

use crate::error::{Error, Result};

/// Makes a folder that vanishes when it is dropped.
///
/// # Errors
///
/// The folder for temporary files is missing, full or not writable; the message names it, and not the folder that was to be in it.
pub fn folder() -> Result<TempDir> {
    tempfile::tempdir().map_err(|error| {
        Error::user(format!(
            "cannot make a folder in '{}', which TMPDIR may name: {}",
            env::temp_dir().display(),
            error.kind()
        ))
    })
}
