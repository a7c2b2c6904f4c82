//! `cargo xtask wheel`: builds a wheel of the Python package with the compiler and licences inside, and tries it out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::licences::{self, Component};
use crate::python::{PROJECT, environment};
use crate::setup::{self, Setup};
use crate::{contents, workspace};

/// The places of the compiler, and of the licences of what others made, relative to the Python project's folder.
const COMPILER: &str = "python/norma/bin/normac";
const LICENCES: &str = "python/norma/licences";
/// The crates of which a wheel contains what cargo builds.
const CRATES: [&str; 2] = ["normac", "norma-python"];

/// What `cargo xtask wheel` takes.
#[derive(clap::Args)]
pub struct Options {
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
pub fn run(options: &Options) -> Result<(), Failure> {
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
    let built = workspace::built(&workspace::metadata(&setup)?, "release")?;
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
        // What pip would compile is not of the wheel.
        "--no-compile",
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
    let own = folder
        .join(format!("norma-{}.dist-info", env!("CARGO_PKG_VERSION")))
        .join("licenses/LICENSE");
    if !own.is_file() {
        let text = format!("expected Norma's licence in the wheel, as {}", own.display());
        return Err(Failure::Check(text));
    }
    let needed = contents::glibc_needed(setup, &[folder])?.tag();
    match needed == tag && wheel.to_string_lossy().contains(&format!("-{tag}_")) {
        true => Ok(()),
        false => Err(Failure::Check(format!(
            "expected the tag {needed}, got {}",
            wheel.display()
        ))),
    }
}
