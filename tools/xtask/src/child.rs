//! Child processes, whose output is passed through or captured.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Runs a child whose output goes directly to the terminal.
///
/// # Errors
/// If it cannot be started, or exits with a nonzero status.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command
        .status()
        .map_err(|error| Failure::start(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::status(command, status, b""))
    }
}

/// Runs a child and returns its stdout; its stderr is shown only if it fails.
///
/// # Errors
/// If it cannot be started, or exits with a nonzero status.
pub fn ask(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::start(command, &error))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Failure::status(command, output.status, &output.stderr))
    }
}

/// Finds a program on PATH.
pub fn find(program: impl AsRef<OsStr>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program.as_ref()))
        .find(|file| file.is_file())
}
