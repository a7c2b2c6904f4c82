//! Makes folders for the files of programs that the compiler runs.

use std::env;
use std::io::ErrorKind;

use tempfile::TempDir;

use crate::error::{Error, Result};

/// Makes a folder that vanishes when it is dropped.
///
/// # Errors
///
/// The folder for temporary files is missing, full or not writable; the message names it and `TMPDIR`, and not the folder that was to be
/// in it.
pub fn folder() -> Result<TempDir> {
    tempfile::tempdir().map_err(|error| {
        let parent = env::temp_dir();
        let parent = parent.display();
        Error::user(match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                format!("expected TMPDIR to name a folder that exists, got '{parent}'")
            }
            kind => format!("cannot make a folder in '{parent}', which TMPDIR may name: {kind}"),
        })
    })
}
