//! Reading the inputs.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use norma_compiler::{Error, Result};

use crate::ops;

/// A text and its name in diagnostics.
pub struct InputText {
    /// The path, or `<stdin>`.
    pub name: String,
    /// The contents.
    pub text: String,
}

impl InputText {
    /// Reads a file, or standard input for `-`.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not UTF-8.
    pub fn read(path: &Path) -> Result<Self> {
        let (name, bytes) = if path == Path::new("-") {
            let mut bytes = Vec::new();
            (
                "<stdin>".to_owned(),
                io::stdin().read_to_end(&mut bytes).map(|_| bytes),
            )
        } else {
            (path.display().to_string(), fs::read(path))
        };
        let bytes = bytes.map_err(|error| {
            let unread = Error::user(format!("cannot read '{name}': {error}"));
            match ops::nearest(&name) {
                Some(op) if error.kind() == io::ErrorKind::NotFound => unread.note(format!(
                    "there is an op '{op}', which stands before all options: 'normac {op} --shape ...'"
                )),
                _ => unread,
            }
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            Error::user(format!("'{name}' is not text: byte {offset} is not UTF-8"))
        })?;
        Ok(Self { name, text })
    }
}
