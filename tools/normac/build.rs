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
/// Libraries that are linked as archives where there are such. Symbols of a shared libstdc++ would be looked up 8000 times at each start,
/// and a system may have an older one, or no shared zstd, which LLVM calls.
const ARCHIVES: [&str; 2] = ["libstdc++.a", "libzstd.a"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/names.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    if is_linked_by_lld() {
        for option in LLD_OPTIONS {
            println!("cargo::rustc-link-arg-bins={option}");
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    if let Err(error) = prefer_archives(&out).and_then(|()| link_names(&out)) {
        println!("cargo::error=cannot make links: {error}");
    }
}

/// Whether lld links the program. Flags for rustc that choose another linker are taken to choose one with other options.
fn is_linked_by_lld() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chooses_linker = ["linker", "fuse-ld"].iter().any(|word| flags.contains(word));
    env::var("TARGET").is_ok_and(|target| target == LINKED_BY_LLD) && !chooses_linker
}

/// Makes linkers find archives before shared objects: in a folder that they look into first, since crates only ask for `-lstdc++`.
fn prefer_archives(out: &Path) -> io::Result<()> {
    let folder = out.join("archives");
    fs::create_dir_all(&folder)?;
    for name in ARCHIVES {
        // The C compiler, which calls the linker, prints the name alone of a library that it does not find.
        let printed = Command::new("cc")
            .arg(format!("-print-file-name={name}"))
            .output()?;
        let path = PathBuf::from(String::from_utf8_lossy(&printed.stdout).trim());
        if path.is_absolute() {
            link(&path, &folder.join(name))?;
        }
    }
    println!("cargo::rustc-link-search=native={}", folder.display());
    Ok(())
}

/// Links the program to its other names.
fn link_names(out: &Path) -> io::Result<()> {
    // The script's own folder is PROGRAMS/build/normac-HASH/out.
    let programs = out.ancestors().nth(3).unwrap_or(Path::new("."));
    names::ALL[1..]
        .iter()
        .try_for_each(|name| link(Path::new(names::COMPILER), &programs.join(name)))
}

/// Makes `place` a symbolic link, instead of whatever was there.
fn link(target: &Path, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_ok() {
        fs::remove_file(place)?;
    }
    symlink(target, place)
}
