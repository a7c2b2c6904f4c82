//! The assemblies of a batch: PTX that several functions, targets' bundles or attempts have in common is assembled once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::cubin::{Assembler, Cubin};
use crate::error::Result;
use crate::options::CompileOptions;

/// What determines a cubin: the assembler that was asked for, the target's name, and the PTX.
type Key = (Option<PathBuf>, &'static str, String);
/// The place of a cubin, which the first thread that wants it holds locked while it assembles it.
type Place = Arc<Mutex<Option<Cubin>>>;

/// The cubins of the PTX that was assembled so far. Threads may share it: those that want the same cubin wait for the one that
/// assembles it.
#[derive(Debug, Default)]
pub struct Assemblies {
    places: Mutex<HashMap<Key, Place>>,
}

impl Assemblies {
    /// Assembles PTX as the options say, unless that was done. `name` identifies the module in messages.
    ///
    /// # Errors
    ///
    /// As [`Assembler::locate`] and [`Assembler::assemble`]; what failed is tried again by the next caller, whose message has its own name.
    pub fn assemble(&self, ptx: &str, name: &str, options: &CompileOptions) -> Result<Cubin> {
        let place = self.place((
            options.ptxas.clone(),
            options.target.architecture(),
            ptx.to_owned(),
        ));
        // A place is complete or empty whenever it is unlocked, also after a panic.
        let mut cubin = place.lock().unwrap_or_else(PoisonError::into_inner);
        match &*cubin {
            Some(cubin) => Ok(cubin.clone()),
            None => {
                let assembler = Assembler::locate(options.ptxas.as_deref(), options.target)?;
                let assembled = assembler.assemble(ptx, name, options.target)?;
                Ok(cubin.insert(assembled).clone())
            }
        }
    }

    fn place(&self, key: Key) -> Place {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.entry(key).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;
    use std::thread;

    use super::*;
    use crate::target::SM_90A;

    /// A stand-in for ptxas, which notes that it assembled and then fails for the PTX `wrong`; and the file of its notes.
    fn stand_in(folder: &Path) -> (PathBuf, PathBuf) {
        let (path, notes) = (folder.join("ptxas"), folder.join("notes"));
        let cubin = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../bundle/testdata/scale.sm_90a.cubin"
        );
        let script = format!(
            "#!/bin/sh\ncase $1 in --version) echo release 13.0, V13.0.88; exit;; esac\necho assembled >> {}\n\
             grep -q wrong $5 && exit 1\ncp {cubin} $4\n",
            notes.display()
        );
        // A child process writes it: a process that another test starts in the meantime would inherit a file descriptor that this process
        // holds open, and a file that is open for writing cannot be executed.
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            "printf %s \"$1\" > \"$2\" && chmod +x \"$2\"",
            "sh",
            &script,
        ]);
        assert!(shell.arg(&path).status().unwrap().success());
        (path, notes)
    }

    #[test]
    fn equal_texts_are_assembled_once_by_all_threads_and_failures_again() {
        let folder = tempfile::tempdir().unwrap();
        let (ptxas, notes) = stand_in(folder.path());
        let options = CompileOptions {
            ptxas: Some(ptxas),
            ..CompileOptions::new(&SM_90A)
        };
        let assemblies = Assemblies::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assemblies.assemble("text", "m", &options).unwrap());
            }
        });
        let count = || fs::read_to_string(&notes).unwrap().lines().count();
        assert_eq!(count(), 1);
        assemblies.assemble("other text", "m", &options).unwrap();
        assert_eq!(count(), 2);
        for name in ["first", "second"] {
            let error = assemblies.assemble("wrong", name, &options).unwrap_err();
            assert!(error.to_string().contains(&format!("'{name}'")), "{error}");
        }
        assert_eq!(count(), 4);
    }
}
