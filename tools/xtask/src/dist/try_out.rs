//! Tries out an archive: unpacks it into an empty folder, and uses it without anything else of Norma.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::bare_root::BareRoot;
use crate::child;
use crate::failure::Failure;

/// The search path of the archive's programs; the rest of this machine's environment is hidden from them.
const SEARCH_PATH: &str = "/usr/bin:/bin";
/// Programs of the archive, each with an option that prints something about it.
const TOOLS: [(&str, &str); 5] = [
    ("normac", "--version"),
    ("norma-run", "--version"),
    ("norma-sim", "--version"),
    ("norma-opt", "--version"),
    ("norma-lsp-server", "--help"),
];
/// The example kernel and the C++ program that embeds it, by their paths in the archive.
const KERNEL: &str = "share/norma/examples/rms_norm.mlir";
const PROGRAM: &str = "share/norma/examples/cpp";

/// The `cuda.h` and the stand-in for the driver that a C++ program needs in place of CUDA's.
pub struct Driver {
    /// The folder of `cuda.h`.
    pub include: PathBuf,
    /// The stand-in.
    pub library: PathBuf,
}

/// Starts every program of the archive, compiles and simulates a kernel, also in a root with nothing else where that is permitted,
/// and builds and runs a program by the CMake package.
///
/// # Errors
/// If one of these fails, or the archive cannot be unpacked.
pub fn try_out(archive: &Path, name: &str, driver: &Driver) -> Result<(), Failure> {
    let scratch = tempfile::tempdir().map_err(Failure::file("make", Path::new("a temporary folder")))?;
    let scratch = scratch.path();
    child::run(
        Command::new("tar")
            .arg("-C")
            .arg(scratch)
            .arg("-xzf")
            .arg(archive),
    )?;
    let tree = scratch.join(name);
    let alone = |program: &Path| {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", SEARCH_PATH).current_dir(scratch);
        command
    };

    for (tool, option) in TOOLS {
        child::ask(alone(&tree.join("bin").join(tool)).arg(option))?;
    }
    let bundle = scratch.join("bundle");
    let kernel = tree.join(KERNEL);
    let mut normac = alone(&tree.join("bin/normac"));
    child::run(normac.arg(&kernel).arg("-o").arg(&bundle))?;
    let manifest = bundle.join("manifest.json");
    if !manifest.is_file() {
        let text = format!("expected {} to be there", manifest.display());
        return Err(Failure::Check(text));
    }
    let mut simulator = alone(&tree.join("bin/norma-sim"));
    child::ask(simulator.arg(&kernel).args(["--size", "m=2", "--seeds", "1"]))?;
    try_in_bare_root(&tree, &scratch.join("root"))?;

    let library = scratch.join("libcuda.so.1");
    fs::copy(&driver.library, &library).map_err(Failure::file("copy", &driver.library))?;
    let link = scratch.join("libcuda.so");
    symlink(&library, &link).map_err(Failure::file("link", &link))?;
    let build = scratch.join("build");
    let cmake = || alone(Path::new("cmake"));
    let mut configure = cmake();
    configure.arg("-S").arg(tree.join(PROGRAM)).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", tree.display()));
    configure.arg(format!("-DCUDA_INCLUDE={}", driver.include.display()));
    configure.arg(format!("-DCUDA_DRIVER={}", link.display()));
    child::ask(&mut configure)?;
    child::ask(cmake().arg("--build").arg(&build))?;
    let printed = child::ask(alone(&build.join("rms_norm_example")).env("LD_LIBRARY_PATH", scratch))?;
    match printed.ends_with("done\n") {
        true => Ok(()),
        false => Err(Failure::Check(format!(
            "expected the C++ program to print `done` last, got:\n{printed}"
        ))),
    }
}

/// Starts every program in a root that has only the archive and the libraries that the programs are linked to, and compiles and
/// simulates a kernel there.
fn try_in_bare_root(tree: &Path, root: &Path) -> Result<(), Failure> {
    let programs = TOOLS.map(|(tool, _)| tool);
    let Some(bare) = BareRoot::new(tree, root, &programs)? else {
        println!("not tried out in a bare root, for which this machine permits neither chroot nor unshare");
        return Ok(());
    };
    for (tool, option) in TOOLS {
        child::ask(bare.command(tool).arg(option))?;
    }
    let kernel = bare.path(KERNEL);
    child::ask(bare.command("normac").args([&kernel, "-o", "/tmp/bundle"]))?;
    let manifest = bare.outside("/tmp/bundle/manifest.json");
    if !manifest.is_file() {
        let text = format!("expected {} to be there", manifest.display());
        return Err(Failure::Check(text));
    }
    child::ask(
        bare.command("norma-sim")
            .args([&kernel, "--size", "m=2", "--seeds", "1"]),
    )?;
    Ok(())
}
