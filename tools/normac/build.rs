//! Makes the links by which the program has its other names.
//!
//! They stand beside the program in cargo's folder of programs, to which cargo itself writes only files.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

#[path = "src/names.rs"]
mod names;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/names.rs");
    if let Err(error) = link_names() {
        println!("cargo::error=cannot link the program to its names: {error}");
    }
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
