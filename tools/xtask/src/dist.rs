//! `cargo xtask dist`: builds an archive of the tools, the runtime, headers and CMake files, which can be unpacked in any
//! folder.
//!
//! The install rules of `cmake/CMakeLists.txt` alone determine the archive's layout.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::child;
use crate::failure::Failure;
use crate::{setup, workspace};

mod bare_root;
mod try_out;

use try_out::{Driver, try_out};

/// The folder of archives, below the workspace's.
const FOLDER: &str = "target/dist";
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
    let metadata = metadata(&setup, &root)?;
    let built = built(&metadata, &options.profile)?;

    let name = format!("norma-{}-{PLATFORM}", env!("CARGO_PKG_VERSION"));
    let folder = root.join(FOLDER);
    let tree = folder.join(&name);
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(Failure::file("remove", &tree))?;
    }
    let notices = folder.join("THIRD-PARTY.md");
    fs::create_dir_all(&folder).map_err(Failure::file("make", &folder))?;
    fs::write(&notices, third_party(&metadata)).map_err(Failure::file("write", &notices))?;
    let rules = folder.join("cmake");
    child::run(
        Command::new("cmake")
            .arg("-S")
            .arg(root.join("cmake"))
            .arg("-B")
            .arg(&rules)
            .arg(format!("-DNORMA_BUILT={}", built.display()))
            .arg(format!("-DNORMA_NOTICES={}", notices.display())),
    )?;
    child::run(
        Command::new("cmake")
            .arg("--install")
            .arg(&rules)
            .arg("--prefix")
            .arg(&tree),
    )?;
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

/// What cargo says of the workspace: its crates, and where it builds them.
fn metadata(setup: &setup::Setup, root: &Path) -> Result<Value, Failure> {
    let mut metadata = setup.cargo();
    metadata.current_dir(root).args([
        "metadata",
        "--format-version=1",
        "--filter-platform=x86_64-unknown-linux-gnu",
    ]);
    serde_json::from_str(&child::ask(&mut metadata)?)
        .map_err(|error| Failure::Check(format!("cargo metadata is not JSON: {error}")))
}

/// The folder of what cargo built by a profile.
fn built(metadata: &Value, profile: &str) -> Result<PathBuf, Failure> {
    // Cargo names the folder of the dev profile differently.
    let folder = match profile {
        "dev" => "debug",
        other => other,
    };
    match metadata["target_directory"].as_str() {
        Some(target) => Ok(Path::new(target).join(folder)),
        None => Err(Failure::Check(
            "cargo metadata has no target_directory".to_owned(),
        )),
    }
}

/// Lists third-party components of the archive and their licences, from the output of `cargo metadata`.
fn third_party(metadata: &Value) -> String {
    let mut text = String::from(
        "# What is in these programs besides Norma\n\n\
         - LLVM and MLIR 22, Apache-2.0 WITH LLVM-exception (https://llvm.org/LICENSE.txt), in normac, norma-opt, norma-sim and\n  \
         norma-lsp-server.\n\
         - NVIDIA's PTX compiler library, under the CUDA Toolkit's End User License Agreement, whose attachment A lists it as\n  \
         redistributable (https://docs.nvidia.com/cuda/eula/), in the same programs where they were built with it.\n\
         - Crates, each under the licence that stands beside it:\n\n| crate | version | licence |\n|---|---|---|\n",
    );
    let field = |package: &Value, name: &str| package[name].as_str().unwrap_or("?").to_owned();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    // Crates without a source are the workspace's own.
    for package in packages.filter(|package| package["source"].is_string()) {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            field(package, "name"),
            field(package, "version"),
            field(package, "license")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn programs_are_taken_from_where_cargo_builds() {
        let metadata = json!({"target_directory": "/elsewhere"});
        assert_eq!(
            built(&metadata, "release").unwrap(),
            Path::new("/elsewhere/release")
        );
        assert_eq!(built(&metadata, "dev").unwrap(), Path::new("/elsewhere/debug"));
        assert!(built(&json!({}), "release").is_err());
    }

    #[test]
    fn crates_of_others_are_listed_with_their_licences() {
        let text = third_party(&json!({"packages": [
            {"name": "clap", "version": "4.6.7", "license": "MIT OR Apache-2.0", "source": "registry"},
            {"name": "normac", "version": "0.1.0", "license": "Apache-2.0", "source": null}]}));
        assert!(
            text.ends_with("|---|---|---|\n| clap | 4.6.7 | MIT OR Apache-2.0 |\n"),
            "{text}"
        );
    }
}
