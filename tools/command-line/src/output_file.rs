//! Writes a file completely or not at all.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The access rights of a new file, before the process's umask.
const NEW_FILE: u32 = 0o666;

/// Writes a file. An existing file keeps its contents until the new ones are complete, and keeps its access rights; a device
/// or a pipe is written directly.
///
/// # Errors
/// The file or its folder cannot be written, or the disk is full.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return fs::write(path, bytes);
    }
    let target = target(path);
    let mut scratch = scratch(&target)?;
    scratch.as_file_mut().write_all(bytes)?;
    if let Some(there) = there {
        scratch.as_file().set_permissions(there.permissions())?;
    }
    scratch.persist(&target)?;
    Ok(())
}

/// Checks, for work that takes long, that [`write()`] will find a place where it can write. Nothing is changed.
///
/// # Errors
/// The path is a folder's, or a file cannot be made in its folder.
pub fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // Opening a pipe would wait for its reader.
        Ok(there) if !there.is_file() => Ok(()),
        _ => scratch(&target(path)).map(drop),
    }
}

/// The file that is replaced: a symbolic link stays.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A file beside the target, which takes its place when it is complete, and vanishes otherwise.
fn scratch(target: &Path) -> io::Result<NamedTempFile> {
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(NEW_FILE);
    // The crate would add the name of the scratch file to errors, which says nothing to whoever asked for another one.
    let mut refused = None;
    let scratch = tempfile::Builder::new()
        .prefix(".norma-")
        .make_in(folder, |path| {
            let opened = options.open(path);
            refused = opened.as_ref().err().and_then(io::Error::raw_os_error);
            opened
        });
    scratch.map_err(|error| refused.map_or(error, io::Error::from_raw_os_error))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_behind_its_link_and_keeps_its_rights() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&file, b"one").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_check_finds_what_cannot_be_written_and_leaves_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        check(&file).unwrap();
        fs::write(&file, b"one").unwrap();
        check(&file).unwrap();
        check(Path::new("/dev/full")).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let error = check(&folder.path().join("none").join("file")).unwrap_err();
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
        assert_eq!(check(folder.path()).unwrap_err().to_string(), "is a directory");
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(&folder.path().join("none").join("file"), b"one").unwrap_err();
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
        assert!(write(folder.path(), b"one").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
