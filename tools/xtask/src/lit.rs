//! lit, which runs the tests below `test/`, and the programs that these tests use.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::available_parallelism;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::workspace;

/// Builds the programs that tests use, and returns whether that succeeded. It uses `--all-targets` like `cargo test`:
/// otherwise the tests' dependencies would change the features of libraries, which cargo would then compile twice.
///
/// # Errors
/// If cargo cannot be started.
pub fn build_tools(setup: &Setup) -> Result<bool, Failure> {
    let mut cargo = setup.cargo();
    cargo.args(["build", "--workspace", "--all-targets"]);
    let status = cargo.status().map_err(|error| Failure::start(&cargo, &error))?;
    Ok(status.success())
}

/// The folder for files that tests write; it is created if necessary.
///
/// # Errors
/// If it cannot be created.
pub fn scratch() -> Result<PathBuf, Failure> {
    let folder = workspace::built_programs()?.join("lit");
    fs::create_dir_all(&folder).map_err(Failure::file("create", &folder))?;
    Ok(folder)
}

/// A lit command for the built programs, with the parameters of `test/lit.cfg.py`; the caller appends the tests to run.
///
/// # Errors
/// If the folder for files that tests write cannot be created.
pub fn command(setup: &Setup) -> Result<Command, Failure> {
    let mut lit = Command::new(setup.llvm.program("lit"));
    setup.prepare(&mut lit);
    let jobs = available_parallelism().map_or(1, usize::from).to_string();
    lit.current_dir(workspace::root()).args(["-v", "-j", &jobs]);
    for (name, path) in [
        ("tools", workspace::built_programs()?),
        ("llvm", setup.llvm.prefix.clone()),
        ("scratch", scratch()?),
    ] {
        lit.arg(format!("-D{name}={}", path.display()));
    }
    if let Some(cuda) = &setup.cuda {
        lit.arg(format!("-Dcuda={}", cuda.folder.display()));
    }
    if let Some(browser) = &setup.browser {
        lit.arg(format!("-Dbrowser={}", browser.display()));
    }
    Ok(lit)
}
