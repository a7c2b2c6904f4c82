//! Writes a bundle into a folder, whole or not at all.
//!
//! Everything is written into a scratch folder beside the destination first, so that a full disk or a missing
//! permission leaves nothing behind. The manifest is moved last: whoever sees it finds the files that it
//! names.

use std::fs;
use std::io;
use std::path::Path;

use norma_bundle::Manifest;
use norma_bundle::manifest::FILE_NAME;

use super::Bundle;
use crate::error::{Error, Result};

impl Bundle {
    /// Writes the bundle's files into a folder, which is made if it is not there. Files of an earlier bundle
    /// that this one does not have are removed; others are left alone.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let failed = |error: io::Error| {
            Error::user(format!(
                "cannot write the bundle to '{}': {error}",
                folder.display()
            ))
        };
        let json = self
            .manifest
            .to_json()
            .map_err(|error| Error::internal(error.to_string()))?;
        let parent = match folder.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(failed)?;
        let is_new = !folder.exists();
        let scratch = tempfile::Builder::new()
            .prefix(".norma-")
            .tempdir_in(if is_new { parent } else { folder })
            .map_err(failed)?;
        let files = self
            .cubins
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        let modules = self
            .modules
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_bytes()));
        let files: Vec<_> = files
            .chain(modules)
            .chain([(FILE_NAME, json.as_bytes())])
            .collect();
        // A folder of a file's name would stop the moves half-way.
        if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).is_dir()) {
            let message = format!("'{name}' is a folder there");
            return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, message)));
        }
        for (name, bytes) in &files {
            fs::write(scratch.path().join(name), bytes).map_err(failed)?;
        }
        let stale = if is_new {
            Vec::new()
        } else {
            self.stale_files(folder)
        };
        fs::create_dir_all(folder).map_err(failed)?;
        for (name, _) in &files {
            if let Err(error) = fs::rename(scratch.path().join(name), folder.join(name)) {
                if is_new {
                    // What matters is the first error; a folder that cannot be removed is the same trouble.
                    fs::remove_dir_all(folder).ok();
                }
                return Err(failed(error));
            }
        }
        for name in stale {
            fs::remove_file(folder.join(name)).map_err(failed)?;
        }
        Ok(())
    }

    /// The files of the bundle that the folder holds, less those that this one has too.
    fn stale_files(&self, folder: &Path) -> Vec<String> {
        let Ok(earlier) = Manifest::load(folder) else {
            return Vec::new();
        };
        let kernels = earlier.functions.iter().flat_map(|function| &function.kernels);
        let mut stale: Vec<_> = kernels
            .flat_map(|kernel| [Some(kernel.cubin.clone()), kernel.module.clone()])
            .flatten()
            .filter(|file| {
                let cubins = self.cubins.iter().map(|(name, _)| name);
                let mut own = cubins.chain(self.modules.iter().map(|(name, _)| name));
                !own.any(|name| name == file) && folder.join(file).is_file()
            })
            .collect();
        stale.sort();
        stale.dedup();
        stale
    }
}
