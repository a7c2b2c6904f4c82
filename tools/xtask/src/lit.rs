//! lit, which runs the tests below `test/`, and the programs that these start.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::available_parallelism;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::workspace;

/// Builds the programs that tests start, and says whether they could be built. `--all-targets`, as `cargo test` does: libraries that
/// the tests' dependencies change the features of are then not compiled again.
///
/// # Errors
/// If cargo cannot be started.
pub fn build_tools(setup: &Setup) -> Result<bool, Failure> {
    let mut cargo = setup.cargo();
    cargo.args(["build", "--workspace", "--all-targets"]);
    let status = cargo.status().map_err(|error| Failure::start(&cargo, &error))?;
    Ok(status.success())
}

/// The folder where tests write, made if it is not there.
///
/// # Errors
/// If it cannot be made.
pub fn scratch() -> Result<PathBuf, Failure> {
    let folder = workspace::built_programs()?.join("lit");
    fs::create_dir_all(&folder).map_err(Failure::file("create", &folder))?;
    Ok(folder)
}

/// lit on the programs that were built, with what `test/lit.cfg.py` takes; what it is to run comes last.
///
/// # Errors
/// If the folder where tests write cannot be made.
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
    Ok(lit)
}
