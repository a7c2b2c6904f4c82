//! Writes a file completely or not at all.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

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
    // A symbolic link stays, and its target is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut scratch = tempfile::Builder::new()
        .prefix(".norma-")
        .permissions(Permissions::from_mode(NEW_FILE))
        .tempfile_in(folder)?;
    scratch.write_all(bytes)?;
    if let Some(there) = there {
        scratch.as_file().set_permissions(there.permissions())?;
    }
    scratch.persist(&target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
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
    fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(&folder.path().join("none").join("file"), b"one").is_err());
        assert!(write(folder.path(), b"one").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
