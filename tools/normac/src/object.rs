//! Writes objects: a bundle as a file to link, with a C function for each of its functions, and headers.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use norma_bindings::{Package, TargetBundle, cpp_header, header, source};
use norma_command_line::output_file;
use norma_compiler::bundle::Bundle;
use norma_compiler::emit::scratch;
use norma_compiler::{Error, Result};

/// The flags of the C compiler, without the output path. Each function gets sections of its own, so that a linker can drop
/// functions that are not called; position-independent code works in programs and shared objects.
const FLAGS: [&str; 8] = [
    "-x",
    "c",
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-ffunction-sections",
    "-fdata-sections",
    "-c",
];

/// Writes the object `path` for bundles, one for each target, and headers in C and C++ with the same stem beside it.
///
/// # Errors
///
/// A function's name is not valid in C, the C compiler fails, or a file cannot be written.
pub fn write<'b>(path: &Path, bundles: impl Iterator<Item = &'b Bundle>) -> Result<()> {
    let bundles: Vec<TargetBundle> = bundles
        .map(|bundle| TargetBundle {
            manifest: bundle.manifest.clone(),
            cubins: bundle.cubins.iter().cloned().collect(),
            ptx: bundle.ptx.iter().cloned().collect(),
        })
        .collect();
    let package = Package::new(&bundles).map_err(|error| Error::user(error.to_string()))?;
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let c_header = path.with_extension("h");
    let name = c_header
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    if c_header == path || path.with_extension("hpp") == path {
        return Err(Error::user(format!(
            "expected the name of an object, such as '{}', got '{}'",
            path.with_extension("o").display(),
            path.display()
        )));
    }
    let object = compile(&source(&package))?;
    for (path, bytes) in [
        (c_header.as_path(), header(&package, &stem).into_bytes()),
        (
            &path.with_extension("hpp"),
            cpp_header(&package, &stem, &name).into_bytes(),
        ),
        // The object comes last, so that an object that exists has its headers.
        (path, object),
    ] {
        output_file::write(path, &bytes)
            .map_err(|error| Error::user(format!("cannot write '{}': {error}", path.display())))?;
    }
    Ok(())
}

/// Compiles a C source to an object.
fn compile(source: &str) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::user(format!("cannot make an object: {error}"));
    let folder = scratch::folder()?;
    // The compiler runs in the folder, so that the folder's random name does not get into the object.
    fs::write(folder.path().join("source.c"), source).map_err(failed)?;
    let compiler = env::var_os("CC").unwrap_or_else(|| OsString::from("cc"));
    // CC may hold arguments too, such as a compiler behind a cache.
    let compiler = compiler.to_string_lossy();
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words);
    command.current_dir(folder.path());
    command.args(FLAGS).args(["source.c", "-o", "object.o"]);
    let output = command.output().map_err(|error| {
        Error::user(format!(
            "cannot run the C compiler '{compiler}', which CC may name: {error}"
        ))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = match said.trim_end() {
            "" => output.status.to_string(),
            said => said.to_owned(),
        };
        return Err(Error::user(format!("the C compiler '{compiler}' failed: {why}")));
    }
    fs::read(folder.path().join("object.o")).map_err(failed)
}
