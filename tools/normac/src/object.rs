//! Writes objects: a bundle as a file to link, with a C function for each of its functions, and headers.

use std::fs;
use std::path::{Path, PathBuf};

use norma_bindings::{Language, Package, TargetBundle, Visibility, cpp_header, header, source};
use norma_command_line::output_file;
use norma_compiler::bundle::Bundle;
use norma_compiler::emit::scratch;
use norma_compiler::{Error, Result};

use crate::c_compiler::CCompiler;
use crate::places;

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

/// The paths of an object and of its headers in C and C++, which have the same stem.
pub struct ObjectFiles {
    object: PathBuf,
    c_header: PathBuf,
    cpp_header: PathBuf,
}

impl ObjectFiles {
    /// The object `path` with the headers beside it.
    ///
    /// # Errors
    ///
    /// The path is a folder's, or that of a header, or in a folder that does not exist.
    pub fn at(path: &Path) -> Result<Self> {
        let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let (c_header, cpp_header) = (path.with_extension("h"), path.with_extension("hpp"));
        let (instead, kind) = match is_folder || path.file_name().is_none() {
            true => (path.join("kernels.o"), "the folder "),
            false if path == c_header || path == cpp_header => (path.with_extension("o"), ""),
            false => {
                places::refuse_missing_folder(path)?;
                return Ok(Self {
                    object: path.to_owned(),
                    c_header,
                    cpp_header,
                });
            }
        };
        Err(Error::user(format!(
            "expected the name of an object, such as '{}', got {kind}'{}'",
            instead.display(),
            path.display()
        )))
    }

    /// The headers.
    pub fn headers(&self) -> [&Path; 2] {
        [&self.c_header, &self.cpp_header]
    }
}

/// Writes an object for bundles, one for each target, whose functions have this visibility, and its headers.
///
/// # Errors
///
/// A function's name is not valid in C, the C compiler fails, or a file cannot be written.
pub fn write<'b>(
    files: &ObjectFiles,
    bundles: impl Iterator<Item = &'b Bundle>,
    visibility: Visibility,
) -> Result<()> {
    let bundles: Vec<TargetBundle> = bundles
        .map(|bundle| TargetBundle {
            manifest: bundle.manifest.clone(),
            cubins: bundle.cubins.iter().cloned().collect(),
            ptx: bundle.ptx.iter().cloned().collect(),
        })
        .collect();
    let package = Package::new(&bundles, Language::C).map_err(|error| Error::user(error.to_string()))?;
    let c_header = files.c_header.file_name().unwrap_or_default();
    let c_header = c_header.to_string_lossy();
    let object = compile(&source(&package, visibility))?;
    for (path, bytes) in [
        (&files.c_header, header(&package).into_bytes()),
        (&files.cpp_header, cpp_header(&package, &c_header).into_bytes()),
        // The object comes last, so that an object that exists has its headers.
        (&files.object, object),
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
    let compiler = CCompiler::of_environment();
    let mut command = compiler.command();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_a_file_with_headers_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let files = ObjectFiles::at(&at("kernels.o")).unwrap();
        assert_eq!(files.c_header, at("kernels.h"));
        assert_eq!(files.cpp_header, at("kernels.hpp"));
    }

    #[test]
    fn a_folder_or_a_header_is_no_object() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().display().to_string();
        let expected = "expected the name of an object, such as";
        for (path, message) in [
            (".", format!("{expected} './kernels.o', got the folder '.'")),
            ("..", format!("{expected} '../kernels.o', got the folder '..'")),
            (
                "none/",
                format!("{expected} 'none/kernels.o', got the folder 'none/'"),
            ),
            (
                &there,
                format!("{expected} '{there}/kernels.o', got the folder '{there}'"),
            ),
            ("a.h", format!("{expected} 'a.o', got 'a.h'")),
            ("a.hpp", format!("{expected} 'a.o', got 'a.hpp'")),
        ] {
            let error = ObjectFiles::at(Path::new(path))
                .err()
                .map(|error| error.to_string());
            assert_eq!(error, Some(message));
        }
    }
}
