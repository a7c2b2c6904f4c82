//! `cargo xtask dist`: builds an archive of the tools, the runtime, headers and CMake files, which can be unpacked in any
//! folder.
//!
//! The install rules of `cmake/CMakeLists.txt` alone determine the archive's layout.

use std::fs;
use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::{contents, licences, setup, workspace};

mod bare_root;
mod try_out;

use try_out::{Driver, try_out};

/// The folder of archives, below the workspace's.
const FOLDER: &str = "target/dist";
/// The crates of which an archive contains what cargo builds.
const CRATES: [&str; 3] = ["normac", "norma-run", "norma-runtime"];
/// The place in an archive of the licences of what others made.
const LICENCES: &str = "share/norma/licences";
/// The platform of an archive.
const PLATFORM: &str = "x86_64-linux";
/// The tests' `cuda.h` and stand-in for the driver, with which archives are tried out.
const CUDA_INCLUDE: &str = "test/runtime/Inputs";
const STUB_DRIVER: &str = "libnorma_stub_driver.so";

/// What `cargo xtask dist` takes.
#[derive(clap::Args)]
pub struct Options {
    /// The cargo profile to build by
    #[arg(long, default_value = "release")]
    profile: String,
    #[command(flatten)]
    setup: setup::Options,
}

/// Builds, installs into a folder, packs it, and tries out the unpacked archive in another place.
///
/// # Errors
/// If one of these steps fails.
pub fn run(options: &Options) -> Result<(), Failure> {
    let setup = setup::run(&options.setup)?;
    let root = workspace::root();
    let mut build = setup.cargo();
    build.args(["build", "--workspace", "--profile", &options.profile]);
    child::run(&mut build)?;
    let built = workspace::built(&workspace::metadata(&setup)?, &options.profile)?;
    let components = licences::components(&setup, &CRATES)?;

    let name = format!("norma-{}-{PLATFORM}", env!("CARGO_PKG_VERSION"));
    let folder = root.join(FOLDER);
    let tree = folder.join(&name);
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(Failure::file("remove", &tree))?;
    }
    let texts = folder.join("licences");
    licences::write(&components, &texts)?;
    let rules = folder.join("cmake");
    child::run(
        Command::new("cmake")
            .arg("-S")
            .arg(root.join("cmake"))
            .arg("-B")
            .arg(&rules)
            .arg(format!("-DNORMA_BUILT={}", built.display()))
            .arg(format!("-DNORMA_LICENCES={}", texts.display())),
    )?;
    child::run(
        Command::new("cmake")
            .arg("--install")
            .arg(&rules)
            .arg("--prefix")
            .arg(&tree),
    )?;
    contents::check(&tree)?;
    licences::check(&components, &tree.join(LICENCES))?;
    let archive = folder.join(format!("{name}.tar.gz"));
    // The order, times and owners of files are fixed, so that the same files give the same archive.
    child::run(
        Command::new("tar")
            .args([
                "--sort=name",
                "--mtime=@0",
                "--owner=0",
                "--group=0",
                "--numeric-owner",
            ])
            .arg("-C")
            .arg(&folder)
            .arg("-czf")
            .arg(&archive)
            .arg(&name),
    )?;
    let driver = Driver {
        include: root.join(CUDA_INCLUDE),
        library: built.join(STUB_DRIVER),
    };
    try_out(&archive, &name, &driver)?;
    let size = fs::metadata(&archive)
        .map_err(Failure::file("read", &archive))?
        .len();
    println!(
        "{} ({} MB), unpacked and tried out",
        archive.display(),
        size >> 20
    );
    Ok(())
}
