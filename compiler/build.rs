//! Links NVIDIA's PTX compiler library when it is there, and says so with `cfg(norma_nvptxcompiler)`.
//!
//! It is looked for in `$NORMA_TOOLCHAIN/lib` and in the folder where the workspace's set-up puts it. Without
//! it the crate builds as well, and assembles PTX with a child `ptxas`.
//!
//! The archive keeps its static constructors in `.ctors` sections. GNU ld turns those into `.init_array`;
//! lld, Rust's linker on Linux, does not, and the library then crashes on mutexes that were never made. So a
//! copy is linked whose sections are renamed.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const ARCHIVE: &str = "libnvptxcompiler_static.a";
const TOOLCHAIN: &str = ".toolchain/cuda-13.0.88";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=NORMA_TOOLCHAIN");
    println!("cargo::rustc-check-cfg=cfg(norma_nvptxcompiler)");

    let Some(toolchain) = toolchain() else { return };
    let archive = toolchain.join("lib").join(ARCHIVE);
    println!("cargo::rerun-if-changed={}", archive.display());
    if !archive.is_file() {
        return;
    }
    match rename_constructors(&archive) {
        Ok(folder) => {
            println!("cargo::rustc-link-search=native={}", folder.display());
            // Not bundled: the archive is 89 MB and would be copied into the rlib.
            println!("cargo::rustc-link-lib=static:-bundle=nvptxcompiler_static");
            println!("cargo::rustc-cfg=norma_nvptxcompiler");
        }
        Err(error) => println!("cargo::warning=PTX will be assembled by a child ptxas: {error}"),
    }
}

/// The caller's toolchain, or else the workspace's own.
fn toolchain() -> Option<PathBuf> {
    env::var_os("NORMA_TOOLCHAIN").map(PathBuf::from).or_else(|| {
        let manifest = env::var_os("CARGO_MANIFEST_DIR")?;
        Some(Path::new(&manifest).parent()?.join(TOOLCHAIN))
    })
}

/// Writes a copy of the archive that lld links right, and gives its folder.
fn rename_constructors(archive: &Path) -> Result<PathBuf, String> {
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let prefix = PathBuf::from(env::var_os("MLIR_SYS_220_PREFIX").unwrap_or_default());
    let objcopy = prefix.join("bin").join("llvm-objcopy");
    let status = Command::new(&objcopy)
        .arg("--rename-section=.ctors=.init_array")
        .args([archive, &folder.join(ARCHIVE)])
        .status()
        .map_err(|error| format!("cannot run {}: {error}", objcopy.display()))?;
    status
        .success()
        .then_some(folder)
        .ok_or_else(|| format!("{} failed: {status}", objcopy.display()))
}
