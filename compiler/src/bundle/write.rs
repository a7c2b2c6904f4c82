//! Writes a bundle into a folder so that a concurrent reader finds either the old bundle or the new one, complete.
//!
//! Files are named by their content, so that no file that a manifest names ever changes. An update adds its files, then
//! replaces the manifest in one step (a rename), and only then removes files that nothing names any more. The next run
//! removes what an interrupted run left behind. It removes only files whose names match the hashes of their contents: it
//! trusts no name in an old manifest. The folder is locked in the meantime against concurrent runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;

use norma_bundle::content::hash_in;
use norma_bundle::manifest::{FILE_NAME, directory_for};
use norma_bundle::{Manifest, content};

use super::Bundle;
use crate::error::{Error, Result};
use crate::target::TARGETS;

/// The extension of a file that is still being written.
const PARTIAL: &str = ".partial";

/// Writes one bundle for each target: into `root` if there is only one, else into `root/<target>`. Then it removes the bundles that an
/// earlier run for other targets left in `root` and in its folders of targets, because a launcher would find those too, and prefers one
/// in `root`. Manifests that cannot be read are removed as well.
///
/// # Errors
///
/// A folder cannot be made or written, or one of them has a file of the manifest's name that is none; then nothing is written.
pub fn write_all<'b>(root: &Path, bundles: impl ExactSizeIterator<Item = &'b Bundle>) -> Result<()> {
    let folders = || {
        let of_targets = TARGETS.iter().map(|target| root.join(target.name));
        of_targets.chain([root.to_owned()])
    };
    folders().try_for_each(|folder| check_place(&folder))?;
    let count = bundles.len();
    let mut written = BTreeSet::new();
    for bundle in bundles {
        let folder = directory_for(root, bundle.manifest.target_name(), count);
        bundle.write(&folder)?;
        written.insert(folder);
    }
    for folder in folders().filter(|folder| !written.contains(folder)) {
        retire(&folder)?;
    }
    Ok(())
}

/// Refuses a folder that cannot get a bundle, because it has something of the manifest's name that is no manifest.
///
/// # Errors
/// It has.
pub fn check_place(folder: &Path) -> Result<()> {
    check_manifest(folder).map_err(|error| failed(folder, error))
}

/// Removes the bundle in a folder, and the folder if nothing else is in it. Returns whether there was one.
///
/// # Errors
/// The folder cannot be written, or its file of the manifest's name is none.
pub fn retire(folder: &Path) -> Result<bool> {
    match retire_manifest(folder) {
        // Another run that removes it has been faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        retired => retired.map_err(|error| failed(folder, error)),
    }
}

fn retire_manifest(folder: &Path) -> io::Result<bool> {
    let unfinished = partial(FILE_NAME);
    let (manifest, mark) = (folder.join(FILE_NAME), folder.join(&unfinished));
    if !manifest.exists() && !mark.exists() {
        return Ok(false);
    }
    let _locked = lock(folder)?;
    check_manifest(folder)?;
    // Until all other files are removed, this name tells a later run that there are some left.
    let was_there = match fs::rename(&manifest, &mark) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        renamed => renamed.map(|()| true)?,
    };
    sweep(folder, &BTreeSet::from([unfinished]))?;
    fs::remove_file(mark)?;
    // A folder in which something else is stays.
    fs::remove_dir(folder).ok();
    Ok(was_there)
}

/// Refuses a folder in which the manifest's name is that of another folder, which no file can replace, or of a file of another program.
fn check_manifest(folder: &Path) -> io::Result<()> {
    let path = folder.join(FILE_NAME);
    if path.is_dir() {
        let message = format!("'{FILE_NAME}' is a folder there");
        return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
    }
    let text = match fs::read(path) {
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(());
        }
        text => text?,
    };
    match Manifest::is_one(&String::from_utf8_lossy(&text)) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("expected a bundle's '{FILE_NAME}' or none, got a file of something else"),
        )),
    }
}

fn failed(folder: &Path, error: io::Error) -> Error {
    Error::user(format!(
        "cannot write the bundle to '{}': {error}",
        folder.display()
    ))
}

/// Keeps other runs from writing the folder until the file is dropped.
fn lock(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    match file.lock() {
        // A file system without locks: the user has to avoid concurrent runs.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        locked => locked.map(|()| file),
    }
}

impl Bundle {
    /// Writes the bundle's files into a folder, which is made if it is not there. Files of an earlier bundle
    /// that this one does not have are removed; others are left alone.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let (manifest, files) = self.by_content();
        let json = manifest
            .to_json()
            .map_err(|error| Error::unsupported(format!("cannot write the manifest: {error}")))?;
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made: Vec<&Path> = folder.ancestors().take_while(missing).collect();
        let write = || {
            fs::create_dir_all(folder)?;
            let _locked = lock(folder)?;
            check_manifest(folder)?;
            place_all(folder, &files, &json)?;
            sweep(folder, &files.keys().cloned().collect())
        };
        let written = match write() {
            // Another run that removes the folder's bundle may remove the folder before it is locked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => write(),
            written => written,
        };
        written.map_err(|error| {
            for folder in made {
                fs::remove_dir(folder).ok();
            }
            failed(folder, error)
        })
    }

    /// Names the files by the hash of their content, and returns a manifest that uses these names.
    fn by_content(&self) -> (Manifest, BTreeMap<String, &[u8]>) {
        let cubins = self.cubins.iter().map(|(name, bytes)| (name, bytes.as_slice()));
        let texts = self.modules.iter().chain(&self.ptx);
        let texts = texts.map(|(name, text)| (name, text.as_bytes()));
        let mut names = BTreeMap::new();
        let mut files = BTreeMap::new();
        for (name, bytes) in cubins.chain(texts) {
            let own = content::name(name, bytes);
            files.insert(own.clone(), bytes);
            names.insert(name.as_str(), own);
        }
        let mut manifest = self.manifest.clone();
        let kernels = manifest
            .functions
            .iter_mut()
            .flat_map(|function| &mut function.kernels);
        for kernel in kernels {
            let files = [
                Some(&mut kernel.cubin),
                kernel.module.as_mut(),
                kernel.ptx.as_mut(),
            ];
            for name in files.into_iter().flatten() {
                if let Some(own) = names.get(name.as_str()) {
                    name.clone_from(own);
                }
            }
        }
        (manifest, files)
    }
}

/// Places files and then the manifest that names them. If that fails, the files that were not there before are removed. The folder has to
/// be locked all the while: another run takes a file that it finds for its own.
fn place_all(folder: &Path, files: &BTreeMap<String, &[u8]>, manifest: &str) -> io::Result<()> {
    let mut added = Vec::new();
    let mut place_all = || {
        for (name, bytes) in files {
            // A file that is there already may be in use and stays; a file that a full disk cut short is replaced.
            if fs::read(folder.join(name)).is_ok_and(|there| there == *bytes) {
                continue;
            }
            added.push(name);
            place(folder, name, bytes)?;
        }
        place(folder, FILE_NAME, manifest.as_bytes())
    };
    place_all().inspect_err(|_| {
        // The first error is reported; what cannot be removed here is left to the next run.
        for name in &added {
            fs::remove_file(folder.join(name)).ok();
        }
    })
}

/// The name of a file that is still being written.
fn partial(name: &str) -> String {
    format!(".{name}{PARTIAL}")
}

/// Writes a file under a temporary name and renames it, so that it appears complete or not at all.
fn place(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let partial = folder.join(partial(name));
    let placed = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, folder.join(name)));
    placed.inspect_err(|_| {
        fs::remove_file(&partial).ok();
    })
}

/// Removes the bundle files that are not in `kept`, and unfinished files of an interrupted run.
fn sweep(folder: &Path, kept: &BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if !entry.file_type()?.is_file() || kept.contains(&name) {
            continue;
        }
        let partial = name.strip_prefix('.').and_then(|name| name.strip_suffix(PARTIAL));
        let is_stale = match partial {
            Some(whole) => whole == FILE_NAME || hash_in(whole).is_some(),
            None => hash_in(&name)
                .is_some_and(|hash| fs::read(entry.path()).is_ok_and(|bytes| content::hash(&bytes) == hash)),
        };
        if is_stale {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether all files that a manifest in `folder` names exist, with contents that match the hashes in their names.
pub fn is_whole(folder: &Path, manifest: &Manifest) -> bool {
    let kernels = manifest.functions.iter().flat_map(|function| &function.kernels);
    let mut names = kernels.flat_map(|kernel| {
        let kept = kernel.module.iter().chain(&kernel.ptx);
        std::iter::once(&kernel.cubin).chain(kept)
    });
    names.all(|name| {
        let hash = hash_in(name);
        hash.is_some_and(|hash| fs::read(folder.join(name)).is_ok_and(|bytes| content::hash(&bytes) == hash))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(cubin: &str) -> Bundle {
        let text = include_str!("../../../bundle/testdata/rms_norm.json");
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        let name = manifest.functions[0].kernels[0].cubin.clone();
        Bundle {
            manifest,
            cubins: vec![(name, cubin.as_bytes().to_vec())],
            modules: Vec::new(),
            ptx: Vec::new(),
            expected_registers: BTreeMap::new(),
        }
    }

    fn names(folder: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    /// The content of the cubin that the folder's manifest names.
    fn cubin_of(folder: &Path) -> String {
        let manifest = Manifest::load(folder).unwrap();
        fs::read_to_string(folder.join(&manifest.functions[0].kernels[0].cubin)).unwrap()
    }

    #[test]
    fn an_update_leaves_one_bundle_and_what_others_put_there() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("bundle");
        bundle("old").write(&folder).unwrap();
        let old = names(&folder);
        fs::write(folder.join("notes.cubin"), "mine").unwrap();
        // Looks like a bundle's file, but its content has another hash.
        fs::write(folder.join("k.sm_90a.0123456789abcdef.cubin"), "mine").unwrap();
        bundle("new").write(&folder).unwrap();
        assert_eq!(cubin_of(&folder), "new");
        assert_eq!(names(&folder).len(), 4);
        assert_eq!(
            names(&folder).intersection(&old).collect::<Vec<_>>(),
            ["manifest.json"]
        );
        bundle("new").write(&folder).unwrap();
        assert_eq!(names(&folder).len(), 4);
    }

    #[test]
    fn a_run_that_stops_before_its_end_leaves_the_old_bundle() {
        let root = tempfile::tempdir().unwrap();
        bundle("old").write(root.path()).unwrap();
        // Does what an update does before it replaces the manifest.
        let new = bundle("new");
        let (_, files) = new.by_content();
        for (name, bytes) in files {
            place(root.path(), &name, bytes).unwrap();
            fs::write(root.path().join(format!(".{name}{PARTIAL}")), "ne").unwrap();
        }
        fs::write(root.path().join(format!(".{FILE_NAME}{PARTIAL}")), "{").unwrap();
        assert_eq!(cubin_of(root.path()), "old");
        bundle("newer").write(root.path()).unwrap();
        assert_eq!(cubin_of(root.path()), "newer");
        assert_eq!(names(root.path()).len(), 2);
    }

    #[test]
    fn a_cut_file_under_the_right_name_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let new = bundle("new");
        let (_, files) = new.by_content();
        for name in files.keys() {
            fs::write(root.path().join(name), "ne").unwrap();
        }
        bundle("new").write(root.path()).unwrap();
        assert_eq!(cubin_of(root.path()), "new");
    }

    #[test]
    fn a_failed_update_leaves_the_old_bundle() {
        let root = tempfile::tempdir().unwrap();
        bundle("old").write(root.path()).unwrap();
        let before = names(root.path());
        // The manifest cannot be replaced where a folder has its partial name.
        fs::create_dir(root.path().join(format!(".{FILE_NAME}{PARTIAL}"))).unwrap();
        bundle("new").write(root.path()).unwrap_err();
        assert_eq!(cubin_of(root.path()), "old");
        fs::remove_dir(root.path().join(format!(".{FILE_NAME}{PARTIAL}"))).unwrap();
        assert_eq!(names(root.path()), before);
    }

    #[test]
    fn names_in_an_old_manifest_are_not_trusted() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("precious"), "mine").unwrap();
        let text = include_str!("../../../bundle/testdata/rms_norm.json");
        let cubin = bundle("").manifest.functions[0].kernels[0].cubin.clone();
        for name in ["manifest.json", "precious"] {
            fs::write(root.path().join(FILE_NAME), text.replace(&cubin, name)).unwrap();
            bundle("new").write(root.path()).unwrap();
            assert_eq!(cubin_of(root.path()), "new");
        }
        assert!(root.path().join("precious").exists());
    }

    #[test]
    fn bundles_of_other_targets_are_removed_without_what_others_put_there() {
        let root = tempfile::tempdir().unwrap();
        let of_target = |target: &str| {
            let mut bundle = bundle(target);
            bundle.manifest.target = target.to_owned();
            bundle.manifest.functions[0].kernels[0].target = target.to_owned();
            bundle
        };
        let [oldest, old, new] = ["sm_80", "sm_89", "sm_90a"].map(of_target);
        write_all(root.path(), [&oldest, &old].into_iter()).unwrap();
        fs::create_dir(root.path().join("mine")).unwrap();
        fs::write(root.path().join("sm_89").join("notes"), "mine").unwrap();
        write_all(root.path(), [&old, &new].into_iter()).unwrap();
        assert_eq!(
            names(root.path()),
            ["mine", "sm_89", "sm_90a"].map(str::to_owned).into()
        );
        write_all(root.path(), [&new].into_iter()).unwrap();
        assert_eq!(names(&root.path().join("sm_89")), ["notes".to_owned()].into());
        assert_eq!(cubin_of(root.path()), "sm_90a");
        assert_eq!(names(root.path()).len(), 4);
    }

    #[test]
    fn what_is_no_manifest_does_not_outrank_bundles_of_several_targets() {
        let root = tempfile::tempdir().unwrap();
        let mut other = bundle("other");
        other.manifest.target = "sm_80".to_owned();
        other.manifest.functions[0].kernels[0].target = "sm_80".to_owned();
        let both = || write_all(root.path(), [&bundle("new"), &other].into_iter());
        fs::create_dir(root.path().join("sm_89")).unwrap();
        fs::write(root.path().join("sm_89").join(FILE_NAME), "{").unwrap();
        for text in ["{", r#"{"manifest_version": 3}"#] {
            fs::write(root.path().join(FILE_NAME), text).unwrap();
            both().unwrap();
            assert_eq!(names(root.path()), ["sm_80", "sm_90a"].map(str::to_owned).into());
            fs::write(root.path().join(FILE_NAME), text).unwrap();
            assert!(retire(root.path()).unwrap());
            assert!(!root.path().join(FILE_NAME).exists());
        }
        fs::create_dir(root.path().join(FILE_NAME)).unwrap();
        let error = both().unwrap_err().to_string();
        assert!(error.ends_with("'manifest.json' is a folder there"), "{error}");
    }

    #[test]
    fn a_manifest_of_another_program_is_neither_replaced_nor_removed() {
        let root = tempfile::tempdir().unwrap();
        let manifest = root.path().join(FILE_NAME);
        for text in ["{}", r#"{"name": "my app"}"#, "mine"] {
            fs::write(&manifest, text).unwrap();
            let error = bundle("new").write(root.path()).unwrap_err().to_string();
            assert!(error.ends_with("got a file of something else"), "{error}");
            let mut other = bundle("other");
            other.manifest.target = "sm_80".to_owned();
            write_all(root.path(), [&bundle("new"), &other].into_iter()).unwrap_err();
            retire(root.path()).unwrap_err();
            assert_eq!(fs::read_to_string(&manifest).unwrap(), text);
            assert_eq!(names(root.path()), [FILE_NAME.to_owned()].into());
        }
    }

    #[test]
    fn a_removal_that_was_interrupted_is_completed() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("bundle");
        bundle("old").write(&folder).unwrap();
        // Does what a removal does before it removes the other files.
        fs::rename(folder.join(FILE_NAME), folder.join(partial(FILE_NAME))).unwrap();
        assert!(!retire(&folder).unwrap());
        assert!(!folder.exists());
        assert!(!retire(&folder).unwrap());
    }

    #[test]
    fn a_bundle_that_cannot_be_written_leaves_no_folders() {
        let root = tempfile::tempdir().unwrap();
        let mut long = bundle("new");
        let name = "k".repeat(300);
        long.cubins[0].0.clone_from(&name);
        long.manifest.functions[0].kernels[0].cubin = name;
        long.write(&root.path().join("a").join("b")).unwrap_err();
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn bundles_of_several_targets_are_not_outranked_by_an_earlier_one() {
        let root = tempfile::tempdir().unwrap();
        bundle("old").write(root.path()).unwrap();
        let mut other = bundle("other");
        other.manifest.target = "sm_80".to_owned();
        other.manifest.functions[0].kernels[0].target = "sm_80".to_owned();
        write_all(root.path(), [&bundle("new"), &other].into_iter()).unwrap();
        assert_eq!(names(root.path()), ["sm_80", "sm_90a"].map(str::to_owned).into());
        assert_eq!(cubin_of(&root.path().join("sm_90a")), "new");
    }
}
