//! A headless browser, in which a test looks at the page that `norma-run --report` writes.

use std::fs;
use std::path::PathBuf;

use super::apt;
use crate::child;
use crate::failure::Failure;

/// Debian's Chromium without windows: 100 MB to fetch with what it needs, where all of Chromium is 124. Its version is not
/// pinned, because Debian replaces it every few days and keeps no older one.
const PACKAGE: &str = "chromium-headless-shell";

/// The programs that the test can use, in the order in which they are looked for.
const PROGRAMS: &[&str] = &[PACKAGE, "chromium", "google-chrome"];

/// Finds a browser, or installs one; also returns whether it installed something. Where none can be installed, that is
/// reported and is no error: all tests but one can do without.
pub fn ensure() -> (Option<PathBuf>, bool) {
    let found = find();
    if found.is_some() || !(is_debian() && apt::is_available()) {
        return (found, false);
    }
    match install() {
        Ok(()) => (find(), true),
        Err(failure) => {
            eprintln!("set-up: cannot install {PACKAGE}: {failure}");
            (None, false)
        }
    }
}

/// The package lists are always updated first: Debian removes the version that an older list names.
fn install() -> Result<(), Failure> {
    apt::update()?;
    apt::install(&[PACKAGE])
}

fn find() -> Option<PathBuf> {
    PROGRAMS.iter().find_map(child::find)
}

/// Whether this is Debian. Ubuntu also has apt, but its Chromium is not a package of apt's.
fn is_debian() -> bool {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    release.lines().any(|line| line == "ID=debian")
}
