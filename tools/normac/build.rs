//! Makes the links by which the program has its other names, and asks the linker for a small program that starts fast.
//!
//! The links stand beside the program in cargo's folder of programs, to which cargo itself writes only files.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "src/names.rs"]
mod names;

/// The target whose linker is lld unless flags say otherwise: the one that comes with Rust, of the release that `Cargo.toml` requires.
const LINKED_BY_LLD: &str = "x86_64-unknown-linux-gnu";
/// Options for linking with lld.
const LLD_OPTIONS: [&str; 2] = [
    // Functions of equal code become one, a tenth of all code. No function may be told from another by its address then; LLVM, MLIR and
    // NVIDIA's library are built for Windows too, whose linker does this unless told otherwise.
    "-Wl,--icf=all",
    // At a fixed address nothing has to be relocated: that took 2 of the 5 ms in which the program starts, and 5 MB of the file.
    "-no-pie",
];
/// The archive of zstd, which LLVM calls. A shared one may be missing where wheels are installed: manylinux does not promise it.
const ZSTD: &str = "libzstd.a";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/names.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    if is_linked_by_lld() {
        for option in LLD_OPTIONS {
            println!("cargo::rustc-link-arg-bins={option}");
        }
    }
    if has_library(ZSTD) {
        println!("cargo::rustc-link-lib=static:-bundle=zstd");
    }
    if let Err(error) = link_names() {
        println!("cargo::error=cannot link the program to its names: {error}");
    }
}

/// Whether lld links the program. Flags for rustc that choose another linker are taken to choose one with other options.
fn is_linked_by_lld() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chooses_linker = ["linker", "fuse-ld"].iter().any(|word| flags.contains(word));
    env::var("TARGET").is_ok_and(|target| target == LINKED_BY_LLD) && !chooses_linker
}

/// Whether the C compiler, which calls the linker, finds a library; it prints the name alone of one that it does not find.
fn has_library(name: &str) -> bool {
    let printed = Command::new("cc")
        .arg(format!("-print-file-name={name}"))
        .output();
    printed.is_ok_and(|printed| Path::new(String::from_utf8_lossy(&printed.stdout).trim()).is_absolute())
}

/// Links the program to its other names, in the place of whatever was there.
fn link_names() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    // The script's own folder is PROGRAMS/build/normac-HASH/out.
    let programs = out.ancestors().nth(3).unwrap_or(Path::new("."));
    for name in &names::ALL[1..] {
        let link = programs.join(name);
        if fs::symlink_metadata(&link).is_ok() {
            fs::remove_file(&link)?;
        }
        symlink(names::COMPILER, &link)?;
    }
    Ok(())
}
