//! A run's tensors as files, so that runs on different machines can be compared bit for bit, and with formulas in other languages.
//!
//! Each tensor is `<function>.<tensor>.bin` in a folder: its memory from the first element to the last, holes included; bytes
//! that were not written hold [`crate::memory::POISON`].

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

use crate::memory::Images;
use crate::problem::Problem;

/// How one output of two runs compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// The tensor.
    pub tensor: String,
    /// Elements from the first to the last, holes included.
    pub elements: usize,
    /// Elements whose bits differ.
    pub different: usize,
    /// The first of them: its offset in elements, its bits in this run, and those in the file.
    pub first: Option<(usize, u64, u64)>,
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first {
            None => write!(
                f,
                "{}: all {} elements have the same bits",
                self.tensor, self.elements
            ),
            Some((index, here, there)) => write!(
                f,
                "{}: {} of {} elements have other bits, the first at {index}: {here:#x} here, {there:#x} there",
                self.tensor, self.different, self.elements
            ),
        }
    }
}

/// Why outputs cannot be written or compared.
#[derive(Debug, Error)]
pub enum OutputsError {
    /// The file system refuses.
    #[error("cannot {what} '{}': {source}", path.display())]
    File {
        /// The operation that failed.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is of another size than the tensor.
    #[error("expected '{}' to hold {expected} bytes, got {actual}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// The tensor's bytes.
        expected: usize,
        /// The file's.
        actual: usize,
    },
}

fn file(directory: &Path, problem: &Problem<'_>, tensor: &str) -> PathBuf {
    directory.join(format!("{}.{tensor}.bin", problem.function.name))
}

/// Writes every input as it was before the run, and every output, into `directory`, which is created if necessary.
///
/// # Errors
/// An error of the file system.
pub fn write(
    directory: &Path,
    problem: &Problem<'_>,
    before: &Images,
    after: &Images,
) -> Result<(), OutputsError> {
    let failed = |what, path: &Path| {
        let path = path.to_owned();
        move |source| OutputsError::File { what, path, source }
    };
    fs::create_dir_all(directory).map_err(failed("create", directory))?;
    let inputs = problem.function.inputs.iter().map(|input| (&input.name, before));
    let outputs = problem
        .function
        .outputs
        .iter()
        .map(|output| (&output.name, after));
    for (name, images) in inputs.chain(outputs) {
        if let Some(image) = images.get(name) {
            let path = file(directory, problem, name);
            fs::write(&path, image.body()).map_err(failed("write", &path))?;
        }
    }
    Ok(())
}

/// Compares every output with what [`write()`] left in `directory`.
///
/// # Errors
/// A file that is missing, or of another size.
pub fn compare(
    directory: &Path,
    problem: &Problem<'_>,
    images: &Images,
) -> Result<Vec<Agreement>, OutputsError> {
    let mut found = Vec::new();
    for output in &problem.function.outputs {
        let Some(image) = images.get(&output.name) else {
            continue;
        };
        let path = file(directory, problem, &output.name);
        let other = fs::read(&path).map_err(|source| OutputsError::File {
            what: "read",
            path: path.clone(),
            source,
        })?;
        if other.len() != image.body().len() {
            return Err(OutputsError::Size {
                path,
                expected: image.body().len(),
                actual: other.len(),
            });
        }
        let size = output.dtype.bytes();
        let bits = |bytes: &[u8], index: usize| output.dtype.load(bytes, index).unwrap_or_default();
        let differing: Vec<usize> = (0..other.len() / size)
            .filter(|index| bits(image.body(), *index) != bits(&other, *index))
            .collect();
        found.push(Agreement {
            tensor: output.name.clone(),
            elements: other.len() / size,
            different: differing.len(),
            first: differing
                .first()
                .map(|index| (*index, bits(image.body(), *index), bits(&other, *index))),
        });
    }
    Ok(found)
}
