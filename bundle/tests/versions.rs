//! Manifests of other releases: an old one can be read, and one of an unknown version is refused with a message that says so.

use std::fs;
use std::path::{Path, PathBuf};

use norma_bundle::Manifest;

/// A manifest written by the first release of the format. It must never change: readers must keep reading it.
fn first_release() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/version-1")
}

#[test]
fn a_manifest_of_the_first_release_is_read() {
    let manifest = Manifest::load(&first_release()).unwrap();
    assert_eq!(manifest.manifest_version, 1);
    let function = manifest.function(None).unwrap();
    assert_eq!(function.provenance, None);
    assert!(!function.kernels.is_empty());
}

#[test]
fn a_manifest_of_a_later_version_is_refused_whatever_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("manifest.json");
    fs::write(
        &path,
        r#"{"manifest_version": 3, "modules": {"everything": "else"}}"#,
    )
    .unwrap();
    let error = Manifest::load(folder.path()).unwrap_err().to_string();
    let expected = format!(
        "'{}' is of manifest version 3, and this program reads 1 and 2: it takes a newer release, or a bundle compiled by this release",
        path.display()
    );
    assert_eq!(error, expected);
}

#[test]
fn a_version_that_never_was_takes_no_newer_release() {
    let error = Manifest::parse(r#"{"manifest_version": 0}"#, Path::new("manifest.json")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "'manifest.json' is of manifest version 0, and this program reads 1 and 2: it takes a bundle compiled by this release"
    );
}
