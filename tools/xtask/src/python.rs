//! The Python package: running its tests, and building its wheel with the compiler inside.
//!
//! Both use environments below `.toolchain/` with the versions that the requirements files of `bindings/python/` pin. An
//! environment is rebuilt when its file changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::licences::{self, Component};
use crate::progress::Step;
use crate::setup::{self, Setup};
use crate::{contents, workspace};

/// The Python project.
const PROJECT: &str = "bindings/python";
/// The places of the package's compiler and of its extension module, relative to the project's folder.
const COMPILER: &str = "python/norma/bin/normac";
const EXTENSION: &str = "python/norma/_runtime.abi3.so";
/// The place of the licences of what others made, relative to the project's folder.
const LICENCES: &str = "python/norma/licences";
/// The crates of which a wheel contains what cargo builds.
const CRATES: [&str; 2] = ["normac", "norma-python"];

/// What `cargo xtask wheel` takes.
#[derive(clap::Args)]
pub struct WheelOptions {
    /// The folder of the wheel
    #[arg(long, value_name = "DIR", default_value = "target/wheels")]
    out: PathBuf,
    #[command(flatten)]
    setup: setup::Options,
}

/// Builds the compiler in release mode, and a wheel that contains it; then installs the wheel into an empty folder and tries it out there.
///
/// # Errors
/// If set-up or a build fails, or the wheel is not as it should be.
pub fn wheel(options: &WheelOptions) -> Result<(), Failure> {
    let setup = setup::run(&options.setup)?;
    let python = environment("wheel", &["requirements-wheel.txt"])?;
    let mut build = setup.cargo();
    build.args([
        "build",
        "--release",
        "--package",
        "normac",
        "--package",
        "norma-python",
    ]);
    child::run(&mut build)?;
    let built = built_for("release")?;
    let components = licences::components(&setup, &CRATES)?;
    // The tag says which systems have all that the files need; it is found out from the files.
    let [compiler, extension] = ["normac", "libnorma_python.so"].map(|file| built.join(file));
    let tag = contents::glibc_needed(&setup, &[&compiler, &extension])?.tag();

    let project = workspace::root().join(PROJECT);
    let (place, texts) = (project.join(COMPILER), project.join(LICENCES));
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).map_err(Failure::file("create", folder))?;
    }
    fs::copy(&compiler, &place).map_err(Failure::file("copy normac to", &place))?;
    licences::write(&components, &texts)?;
    let scratch = tempfile::tempdir().map_err(Failure::file("make", Path::new("a temporary folder")))?;
    let mut maturin = Command::new(&python);
    setup.prepare(&mut maturin);
    maturin
        .current_dir(workspace::root())
        .args([
            "-m",
            "maturin",
            "build",
            "--release",
            "--locked",
            "--compatibility",
            &tag,
        ])
        .arg("--manifest-path")
        .arg(Path::new(PROJECT).join("Cargo.toml"))
        .arg("--out")
        .arg(scratch.path());
    let made = child::run(&mut maturin);
    // A compiler left here would go into a wheel that should be built without one.
    fs::remove_file(&place).map_err(Failure::file("remove", &place))?;
    fs::remove_dir_all(&texts).map_err(Failure::file("remove", &texts))?;
    made?;
    let wheel = only_wheel(scratch.path())?;
    try_out(&setup, &python, &wheel, &components, &tag)?;

    fs::create_dir_all(&options.out).map_err(Failure::file("make", &options.out))?;
    let kept = options.out.join(wheel.file_name().unwrap_or_default());
    fs::copy(&wheel, &kept).map_err(Failure::file("copy", &wheel))?;
    let size = fs::metadata(&kept).map_err(Failure::file("read", &kept))?.len();
    println!("{} ({} MB), installed and tried out", kept.display(), size >> 20);
    Ok(())
}

/// The wheel in a folder in which one was made.
fn only_wheel(folder: &Path) -> Result<PathBuf, Failure> {
    let entries = fs::read_dir(folder).map_err(Failure::file("read", folder))?;
    let mut wheels = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let wheel = wheels.find(|file| file.extension().is_some_and(|extension| extension == "whl"));
    wheel.ok_or_else(|| Failure::Check(format!("expected a wheel in {}", folder.display())))
}

/// Installs a wheel into an empty folder, starts its compiler, and checks what it contains and that its tag is right.
fn try_out(
    setup: &Setup,
    python: &Path,
    wheel: &Path,
    components: &[Component],
    tag: &str,
) -> Result<(), Failure> {
    let folder = tempfile::tempdir().map_err(Failure::file("make", Path::new("a temporary folder")))?;
    let folder = folder.path();
    let mut pip = Command::new(python);
    pip.args([
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "install",
        "--no-deps",
    ]);
    child::ask(pip.arg("--target").arg(folder).arg(wheel))?;
    let package = folder.join("norma");
    child::ask(
        Command::new(package.join("bin/normac"))
            .arg("--version")
            .env_clear(),
    )?;
    contents::check(folder)?;
    licences::check(components, &package.join("licences"))?;
    let needed = contents::glibc_needed(setup, &[folder])?.tag();
    match needed == tag && wheel.to_string_lossy().contains(&format!("-{tag}_")) {
        true => Ok(()),
        false => Err(Failure::Check(format!(
            "expected the tag {needed}, got {}",
            wheel.display()
        ))),
    }
}

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

/// The folder of cargo's build products for a profile.
fn built_for(profile: &str) -> Result<PathBuf, Failure> {
    let built = workspace::built_programs()?;
    Ok(built.parent().map(|target| target.join(profile)).unwrap_or(built))
}

/// Makes `place` a symbolic link to a file, and replaces what was there.
fn link(file: &Path, place: &Path) -> Result<(), Failure> {
    if fs::symlink_metadata(place).is_ok() {
        fs::remove_file(place).map_err(Failure::file("remove", place))?;
    }
    symlink(file, place).map_err(Failure::file("link", place))
}

/// The interpreter of an environment that contains what the files pin.
fn environment(name: &str, files: &[&str]) -> Result<PathBuf, Failure> {
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
