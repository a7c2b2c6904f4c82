//! Looks at the places of outputs before anything is compiled: nothing that someone wrote is replaced.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use norma_bindings::GENERATED;
use norma_compiler::{Error, Result};

/// The file that standard input comes from, if it is one.
const STANDARD_INPUT: &str = "/dev/stdin";

/// Refuses an output that is one of the inputs, by whatever path: what is compiled would take the place of its source.
///
/// # Errors
///
/// It is one.
pub fn refuse_input(output: &Path, inputs: &[PathBuf]) -> Result<()> {
    let Some(place) = file(output) else {
        return Ok(());
    };
    let is_output = |input: &&PathBuf| {
        let path = match input.as_os_str() == "-" {
            true => Path::new(STANDARD_INPUT),
            false => input.as_path(),
        };
        file(path).is_some_and(|input| (input.dev(), input.ino()) == (place.dev(), place.ino()))
    };
    match inputs.iter().find(is_output) {
        Some(input) => Err(Error::user(format!(
            "expected an output other than the input '{}'",
            input.display()
        ))),
        None => Ok(()),
    }
}

/// Refuses the place of a header where there is one that was not generated.
///
/// # Errors
///
/// There is one.
pub fn refuse_other_header(path: &Path) -> Result<()> {
    let is_other = |text: Vec<u8>| {
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        !text.is_empty() && !String::from_utf8_lossy(first).contains(GENERATED)
    };
    match fs::read(path).is_ok_and(is_other) {
        true => Err(Error::user(format!(
            "expected a generated header or none at '{}', got one that does not begin with '{GENERATED}'; give the object another name",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// Refuses the name of an object in a folder that does not exist.
///
/// # Errors
///
/// There is no such folder.
pub fn refuse_missing_folder(object: &Path) -> Result<()> {
    match object.parent() {
        // The parent of a mere name is empty.
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(Error::user(format!(
            "expected the name of an object in a folder that exists, got '{}', and '{}' is none",
            object.display(),
            folder.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses a file where the folder of bundles is to be.
///
/// # Errors
///
/// There is one.
pub fn refuse_file(folder: &Path) -> Result<()> {
    match fs::metadata(folder).is_ok_and(|there| !there.is_dir()) {
        true => Err(Error::user(format!(
            "expected a folder for the bundle, got the file '{}'",
            folder.display()
        ))),
        false => Ok(()),
    }
}

/// What the system says of a file. A device may be both read and written.
fn file(path: &Path) -> Option<Metadata> {
    fs::metadata(path).ok().filter(Metadata::is_file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_input_is_no_output_by_whatever_path() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.mlir"), "").unwrap();
        fs::write(at("b.mlir"), "").unwrap();
        symlink("a.mlir", at("link")).unwrap();
        fs::hard_link(at("a.mlir"), at("hard")).unwrap();
        let refused = |output: &str| {
            let refused = refuse_input(&at(output), &[at("b.mlir"), at("a.mlir")]);
            refused.err().map(|error| error.to_string())
        };
        let expected = format!(
            "expected an output other than the input '{}'",
            at("a.mlir").display()
        );
        for output in ["a.mlir", "./a.mlir", "link", "hard"] {
            assert_eq!(refused(output).as_deref(), Some(expected.as_str()), "{output}");
        }
        assert_eq!(refused("new"), None);
        let null = Path::new("/dev/null");
        refuse_input(null, &[null.to_owned()]).unwrap();
    }

    #[test]
    fn an_object_is_in_a_folder_that_exists() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        refuse_missing_folder(Path::new("k.o")).unwrap();
        refuse_missing_folder(&folder.path().join("k.o")).unwrap();
        for none in [file, folder.path().join("none")] {
            let object = none.join("k.o");
            assert_eq!(
                refuse_missing_folder(&object).unwrap_err().to_string(),
                format!(
                    "expected the name of an object in a folder that exists, got '{}', and '{}' is none",
                    object.display(),
                    none.display()
                )
            );
        }
    }

    #[test]
    fn a_header_that_someone_wrote_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h");
        refuse_other_header(&path).unwrap();
        for text in ["", "/* Generated by normac: do not edit. */\n"] {
            fs::write(&path, text).unwrap();
            refuse_other_header(&path).unwrap();
        }
        fs::write(&path, "#pragma once\n// Not Generated by normac.\n").unwrap();
        let error = refuse_other_header(&path).unwrap_err().to_string();
        assert!(
            error.starts_with("expected a generated header or none at '"),
            "{error}"
        );
    }
}
