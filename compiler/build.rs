//! Records a hash of the compiler's sources, and links NVIDIA's PTX compiler library where it is installed.
//!
//! `NORMA_SOURCES` is a hash of all sources that influence the compiler's output for a given input.
//!
//! `cfg(norma_nvptxcompiler)` says that the library is linked. The script looks for it in `$NORMA_TOOLCHAIN/lib` and in the
//! folder where the workspace's set-up puts it. Without it the crate still builds, and assembles PTX with a child `ptxas`.
//!
//! The archive keeps its static constructors in `.ctors` sections. GNU ld turns those into `.init_array`; lld, Rust's linker
//! on Linux, does not, and the library then crashes on mutexes that were never initialized. So the script links a copy whose
//! sections are renamed.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const ARCHIVE: &str = "libnvptxcompiler_static.a";
const TOOLCHAIN: &str = ".toolchain/cuda-13.0.88";

/// The sources that influence the compiler's output, relative to this crate.
const SOURCES: [&str; 8] = [
    "../bundle/src",
    "../compiler/build.rs",
    "../compiler/src",
    "../dialects",
    "../layout/src",
    "../passes",
    "../targets/src",
    "../Cargo.lock",
];
/// The file extensions that count as sources.
const EXTENSIONS: [&str; 5] = ["rs", "td", "cpp", "h", "lock"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut hash = FNV_OFFSET;
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        match add_sources(&mut hash, Path::new(source)) {
            Ok(()) => {}
            Err(error) => println!("cargo::error=cannot read {source}: {error}"),
        }
    }
    println!("cargo::rustc-env=NORMA_SOURCES={hash:016x}");
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

/// The offset basis and the prime of 64-bit FNV-1a (draft-eastlake-fnv).
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Adds the names and contents of all sources below a path to a hash, in the order of their names.
fn add_sources(hash: &mut u64, path: &Path) -> io::Result<()> {
    if path.is_dir() {
        let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
        let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| add_sources(hash, entry));
    }
    let is_source = path
        .extension()
        .is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known));
    if is_source {
        let name = path.to_string_lossy();
        for byte in name.bytes().chain(fs::read(path)?) {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
    }
    Ok(())
}

/// The toolchain's folder: `$NORMA_TOOLCHAIN`, or else the workspace's own.
fn toolchain() -> Option<PathBuf> {
    env::var_os("NORMA_TOOLCHAIN").map(PathBuf::from).or_else(|| {
        let manifest = env::var_os("CARGO_MANIFEST_DIR")?;
        Some(Path::new(&manifest).parent()?.join(TOOLCHAIN))
    })
}

/// Writes a copy of the archive that lld links correctly, and returns the copy's folder.
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
