//! The Python package: running its tests, and the environments that these and the building of wheels need.
//!
//! Environments are below `.toolchain/` with the versions that the requirements files of `bindings/python/` pin. An
//! environment is rebuilt when its file changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::progress::Step;
use crate::setup::{self, Setup};
use crate::workspace;

/// The folder of the Python project.
pub const PROJECT: &str = "bindings/python";
/// The place of the package's extension module, relative to the project's folder.
const EXTENSION: &str = "python/norma/_runtime.abi3.so";

/// A command that runs the package's tests on the built programs, including torch's if asked for. It leaves out tests whose
/// names do not contain `filter`.
///
/// # Errors
/// If the environment cannot be created.
pub fn tests(setup: &Setup, with_torch: bool, filter: Option<&str>) -> Result<Command, Failure> {
    let python = match with_torch {
        true => environment("tests-torch", &["requirements.txt", "requirements-torch.txt"])?,
        false => environment("tests", &["requirements.txt"])?,
    };
    let project = workspace::root().join(PROJECT);
    let built = workspace::built_programs()?;
    link(&built.join("libnorma_python.so"), &project.join(EXTENSION))?;
    let scratch = built.join("python");
    fs::create_dir_all(&scratch).map_err(Failure::file("create", &scratch))?;
    // The folder from which the stand-in is loaded as the driver; it logs the launches.
    link(
        &built.join("libnorma_stub_driver.so"),
        &scratch.join("libcuda.so.1"),
    )?;
    let log = scratch.join("launches");
    fs::write(&log, "").map_err(Failure::file("write", &log))?;

    let mut pytest = Command::new(python);
    setup.prepare(&mut pytest);
    pytest
        .current_dir(&project)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .env("PYTHONPATH", project.join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("LD_LIBRARY_PATH", &scratch)
        .env("NORMA_NORMAC", built.join("normac"))
        .env("NORMA_STUB_LOG", &log);
    if let Some(filter) = filter {
        pytest.env("NORMA_TEST_FILTER", filter);
    }
    Ok(pytest)
}

/// Makes `place` a symbolic link to a file, and replaces what was there.
fn link(file: &Path, place: &Path) -> Result<(), Failure> {
    if fs::symlink_metadata(place).is_ok() {
        fs::remove_file(place).map_err(Failure::file("remove", place))?;
    }
    symlink(file, place).map_err(Failure::file("link", place))
}

/// The interpreter of an environment that contains what files in the folder of the package's tests pin.
///
/// # Errors
/// If it cannot be made.
pub fn environment(name: &str, files: &[&str]) -> Result<PathBuf, Failure> {
    let folder = setup::toolchain().join(format!("python-{name}"));
    let python = folder.join("bin/python");
    let marker = folder.join("requirements.txt");
    let mut wanted = String::new();
    for file in files {
        let path = workspace::root().join(PROJECT).join("tests").join(file);
        wanted += &fs::read_to_string(&path).map_err(Failure::file("read", &path))?;
    }
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) && python.exists() {
        return Ok(python);
    }
    let step = Step::start(&format!(
        "set-up: making a Python environment of {}",
        files.join(" and ")
    ));
    setup::ensure_venv()?;
    let mut venv = Command::new("python3");
    child::ask(venv.args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pinned = folder.join("wanted.txt");
    fs::write(&pinned, &wanted).map_err(Failure::file("write", &pinned))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"]);
    // Only wheels are accepted: building from source would run foreign code and need more tools.
    child::ask(pip.arg("--only-binary=:all:").arg("-r").arg(&pinned))?;
    // Written last, so that an unfinished environment is rebuilt.
    fs::rename(&pinned, &marker).map_err(Failure::file("rename", &pinned))?;
    step.done(&format!("set-up: made {}", folder.display()));
    Ok(python)
}
