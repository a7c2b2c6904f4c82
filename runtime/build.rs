//! Gives the shared object its name, by which the loader finds it. Without one, a program that links it by a path looks for it at that path.

use std::env;

/// The name of the file that cargo writes.
const NAME: &str = "libnorma_runtime.so";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{NAME}");
    }
}
