//! LLVM and MLIR 22: found by llvm-config, or installed from Debian's packages if they are missing.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt;
use super::version::Version;
use crate::child;
use crate::failure::Failure;

/// The major version to which all bindings are pinned.
const MAJOR: u32 = 22;

/// The Debian packages needed to build and test. Polly, zstd, z3, zlib and xml2 have to be linked because LLVM's static
/// libraries were built with them; libclang and its builtin headers are for bindgen; CMake builds an example in C++.
const PACKAGES: &[&str] = &[
    "libmlir-22-dev",
    "mlir-22-tools",
    "llvm-22-dev",
    "llvm-22-tools",
    "libclang1-22",
    "libclang-common-22-dev",
    "libpolly-22-dev",
    "libzstd-dev",
    "libz3-dev",
    "zlib1g-dev",
    "libxml2-dev",
    "cmake",
    "make",
];

/// One file of each required component, below LLVM's prefix; checked where there is no package manager.
const FILES: &[&str] = &[
    "bin/FileCheck",
    "bin/mlir-tblgen",
    "include/llvm-c/Core.h",
    "include/mlir-c/IR.h",
];

/// The same for static libraries, which are in `lib` or `lib64`.
const LIBRARIES: &[&str] = &["libLLVMCore.a", "libLLVMNVPTXCodeGen.a", "libMLIRCAPIIR.a"];

/// An installed LLVM with MLIR.
pub struct Llvm {
    /// The output of `llvm-config --prefix`.
    pub prefix: PathBuf,
    /// The output of `llvm-config --libdir`.
    libraries: PathBuf,
    /// The output of `llvm-config --version`.
    pub version: Version,
}

impl Llvm {
    /// The path of one of this LLVM's programs. A program that is packaged separately, as lit is on Fedora and macOS, is
    /// searched on PATH.
    pub fn program(&self, name: &str) -> PathBuf {
        let own = self.prefix.join("bin").join(name);
        if own.is_file() { own } else { name.into() }
    }

    fn absent_files(&self) -> Vec<&'static str> {
        let files = FILES
            .iter()
            .copied()
            .filter(|file| !self.prefix.join(file).is_file());
        let libraries = LIBRARIES
            .iter()
            .copied()
            .filter(|file| !self.libraries.join(file).is_file());
        files.chain(libraries).collect()
    }
}

/// Finds LLVM 22, or installs it; also returns whether it installed something.
///
/// # Errors
/// If something is missing and this machine has no apt to install it.
pub fn ensure() -> Result<(Llvm, bool), Failure> {
    let found = find();
    let by_packages = apt::is_available() && found.as_ref().is_none_or(is_packaged);
    if !by_packages {
        return found
            .ok_or_else(|| advice("there is no llvm-config of major version 22"))
            .and_then(|llvm| match llvm.absent_files().as_slice() {
                [] => Ok((llvm, false)),
                absent => {
                    let prefix = llvm.prefix.display();
                    Err(advice(&format!("LLVM at {prefix} lacks {}", absent.join(", "))))
                }
            });
    }
    let mut missing = apt::missing(PACKAGES)?;
    if child::find("c++").is_none() {
        missing.push("g++");
    }
    if missing.is_empty()
        && let Some(llvm) = found
    {
        return Ok((llvm, false));
    }
    apt::install(&missing)?;
    let llvm =
        find().ok_or_else(|| advice("apt-get succeeded, yet there is no llvm-config of major version 22"))?;
    Ok((llvm, true))
}

/// Finds the first LLVM of the right major version: at the caller's prefix, by the versioned or plain name on PATH, in
/// Homebrew's folders.
fn find() -> Option<Llvm> {
    let callers =
        env::var_os("MLIR_SYS_220_PREFIX").map(|prefix| PathBuf::from(prefix).join("bin/llvm-config"));
    let homebrew = ["/opt/homebrew/opt/llvm@22", "/usr/local/opt/llvm@22"];
    let homebrew = homebrew.map(|prefix| Path::new(prefix).join("bin/llvm-config"));
    let on_path = ["llvm-config-22", "llvm-config"].map(PathBuf::from);
    callers
        .into_iter()
        .chain(on_path)
        .chain(homebrew)
        .find_map(|config| probe(&config))
}

/// Queries an llvm-config; `None` if it cannot be run or belongs to another major version.
fn probe(config: &Path) -> Option<Llvm> {
    let version = Version::parse(&child::ask(Command::new(config).arg("--version")).ok()?)?;
    let folder = |flag: &str| {
        Some(PathBuf::from(
            child::ask(Command::new(config).arg(flag)).ok()?.trim(),
        ))
    };
    let llvm = Llvm {
        prefix: folder("--prefix")?,
        libraries: folder("--libdir")?,
        version,
    };
    (version.major == MAJOR).then_some(llvm)
}

/// Whether this LLVM comes from the system's packages. Nothing is installed into another one, which belongs to its owner.
fn is_packaged(llvm: &Llvm) -> bool {
    llvm.prefix.starts_with("/usr/lib")
}

fn advice(what: &str) -> Failure {
    Failure::User(format!(
        "{what}; docs/install.md, \"LLVM 22 elsewhere\", says how to get LLVM and MLIR 22 on this system; \
         MLIR_SYS_220_PREFIX names the folder of one that lies elsewhere"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn llvm(prefix: &Path) -> Llvm {
        let version = Version {
            major: MAJOR,
            minor: 1,
            patch: 8,
        };
        Llvm {
            prefix: prefix.into(),
            libraries: prefix.join("lib64"),
            version,
        }
    }

    #[test]
    fn every_absent_file_is_named() {
        let prefix = tempfile::tempdir().unwrap();
        for file in ["bin/FileCheck", "lib64/libLLVMCore.a"] {
            let path = prefix.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let absent = llvm(prefix.path()).absent_files();
        assert!(!absent.contains(&"bin/FileCheck") && !absent.contains(&"libLLVMCore.a"));
        assert_eq!(absent.len(), FILES.len() + LIBRARIES.len() - 2);
    }

    #[test]
    fn a_program_packaged_apart_is_left_to_path() {
        let prefix = tempfile::tempdir().unwrap();
        assert_eq!(llvm(prefix.path()).program("lit"), Path::new("lit"));
    }

    #[test]
    fn an_own_build_is_left_alone() {
        assert!(is_packaged(&llvm(Path::new("/usr/lib/llvm-22"))));
        assert!(!is_packaged(&llvm(Path::new("/opt/llvm"))));
    }
}
