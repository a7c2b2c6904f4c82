//! Finds a `ptxas` on the machine that is new enough, and runs it as a child process.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::cubin::{line_info, refusal, with_log};
use super::scratch;
use crate::error::{Error, Result};
use crate::target::Target;

/// Where the set-up puts the toolchain, below the folder of the workspace.
const SETUP: &str = ".toolchain/cuda-13.0.88/bin/ptxas";

/// The time limit for a `ptxas` to print its release, which takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// A CUDA release, major and minor.
type Release = (u32, u32);

/// A `ptxas` executable whose release is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ptxas {
    path: PathBuf,
    release: Release,
}

impl Ptxas {
    /// The `ptxas` that the caller or `NORMA_PTXAS` asks for, if any.
    ///
    /// # Errors
    ///
    /// The one asked for is missing, does not run, or is too old for the target.
    pub fn chosen(explicit: Option<&Path>, target: &Target) -> Result<Option<Self>> {
        let chosen = explicit.map(Path::to_owned).or_else(|| {
            env::var_os("NORMA_PTXAS")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from)
        });
        let Some(path) = chosen else { return Ok(None) };
        let origin = if explicit.is_some() {
            "asked for"
        } else {
            "named by NORMA_PTXAS"
        };
        if !path.is_file() {
            return Err(
                Error::user(format!("no ptxas at '{}', the path {origin}", path.display())).note(SET_UP),
            );
        }
        let ptxas = Self::probe(&path, PATIENCE)
            .map_err(|why| Error::user(format!("'{}', the path {origin}, {why}", path.display())))?;
        let needed = target.cuda_release;
        if ptxas.release < needed {
            return Err(ptxas.too_old(target, needed));
        }
        Ok(Some(ptxas))
    }

    /// The first `ptxas` that is new enough, on `PATH` and then where the set-up puts one.
    ///
    /// # Errors
    ///
    /// There is none; the notes list the places searched and the release of each `ptxas` found.
    pub fn search(target: &Target) -> Result<Self> {
        let needed = target.cuda_release;
        let mut looked = vec![format!(
            "looked on PATH, and for '{SETUP}' above the folder of this executable"
        )];
        for path in candidates() {
            match Self::probe(&path, PATIENCE) {
                Ok(ptxas) if ptxas.release >= needed => return Ok(ptxas),
                Ok(ptxas) => looked.push(format!("'{}' is of CUDA {}", path.display(), show(ptxas.release))),
                Err(why) => looked.push(format!("'{}' {why}", path.display())),
            }
        }
        let error = Error::user(format!(
            "no ptxas of CUDA {} or newer, which {} needs",
            show(needed),
            target.name
        ));
        Err(looked.into_iter().fold(error, Error::note).note(SET_UP))
    }

    /// Asks an executable for its release.
    ///
    /// # Errors
    ///
    /// It is no ptxas, or does not answer within `limit`; the message is a predicate that follows the executable's name.
    fn probe(path: &Path, limit: Duration) -> std::result::Result<Self, String> {
        let no_ptxas = || "is no ptxas that runs".to_owned();
        let mut child = Command::new(path)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|_| no_ptxas())?;
        let mut stdout = child.stdout.take().ok_or_else(no_ptxas)?;
        let (sender, receiver) = mpsc::channel();
        // A grandchild may hold the output open, so that reading may outlast the child.
        thread::spawn(move || {
            let mut text = Vec::new();
            if stdout.read_to_end(&mut text).is_ok() {
                // After the time limit nobody receives it.
                sender.send(text).ok();
            }
        });
        let answer = receiver.recv_timeout(limit);
        // The child has printed everything, or takes too long; killing a child that has ended does nothing.
        child.kill().ok();
        child.wait().ok();
        let text = answer.map_err(|_| format!("does not answer --version within {} s", limit.as_secs()))?;
        let release = parse_release(&String::from_utf8_lossy(&text)).ok_or_else(no_ptxas)?;
        Ok(Self {
            path: path.to_owned(),
            release,
        })
    }

    fn too_old(&self, target: &Target, needed: Release) -> Error {
        Error::user(format!(
            "'{}' is of CUDA {}, and {} needs {} or newer",
            self.path.display(),
            show(self.release),
            target.name,
            show(needed)
        ))
        .note(SET_UP)
    }

    /// Assembles PTX; returns the cubin and the verbose log.
    pub(super) fn assemble(&self, ptx: &str, name: &str, target: &Target) -> Result<(Vec<u8>, String)> {
        let failed = |error: std::io::Error| {
            Error::user(format!(
                "cannot run '{}' on '{name}': {error}",
                self.path.display()
            ))
        };
        let folder = scratch::folder()?;
        let input = folder.path().join("input.ptx");
        let cubin = folder.path().join("output.cubin");
        fs::write(&input, ptx).map_err(failed)?;
        let output = Command::new(&self.path)
            .args([
                format!("--gpu-name={}", target.architecture()).as_ref(),
                OsStr::new("--verbose"),
                "--output-file".as_ref(),
            ])
            .args([&cubin, &input])
            .args(line_info(ptx))
            .output()
            .map_err(failed)?;
        // ptxas logs on both streams, depending on the release.
        let log = [output.stdout, output.stderr]
            .map(|stream| String::from_utf8_lossy(&stream).into_owned())
            .concat()
            .replace(&format!("{}/", folder.path().display()), "");
        if let Some(signal) = output.status.signal() {
            let error = Error::user(format!(
                "'{}' was killed by signal {signal} while it assembled '{name}' for {}",
                self.path.display(),
                target.name
            ));
            return Err(with_log(error, &log));
        }
        if !output.status.success() {
            return Err(with_log(refusal(name, target), &log));
        }
        let bytes = fs::read(&cubin).map_err(failed)?;
        match norma_bundle::Cubin::parse(&bytes) {
            Ok(_) => Ok((bytes, log)),
            Err(error) => {
                let message = format!(
                    "'{}' made nothing usable of '{name}': {error}",
                    self.path.display()
                );
                Err(with_log(Error::user(message), &log))
            }
        }
    }

    pub(super) fn describe(&self) -> String {
        format!("{} of CUDA {}", self.path.display(), self.release())
    }

    pub(super) fn release(&self) -> String {
        show(self.release)
    }
}

const SET_UP: &str =
    "`cargo xtask setup` installs ptxas 13.0.88 into the workspace; --ptxas or NORMA_PTXAS name another";

/// The files named ptxas on `PATH`, then those that the set-up installs in a folder above this executable.
fn candidates() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("ptxas"));
    let executable = env::current_exe().unwrap_or_default();
    let set_up = executable.ancestors().skip(1).map(|folder| folder.join(SETUP));
    on_path.chain(set_up).filter(|ptxas| ptxas.is_file()).collect()
}

/// Parses `release 13.0` in the output of `ptxas --version`.
fn parse_release(version: &str) -> Option<Release> {
    let (_, rest) = version.split_once("release ")?;
    let (major, rest) = rest.split_once('.')?;
    let minor = rest.split(|digit: char| !digit.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn show((major, minor): Release) -> String {
    format!("{major}.{minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_read_from_the_version_text() {
        let text =
            "Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler.36424714_0\n";
        assert_eq!(parse_release(text), Some((13, 0)));
        assert_eq!(parse_release("GNU assembler 2.40"), None);
    }

    #[test]
    fn a_missing_explicit_ptxas_is_a_users_error_that_names_the_set_up() {
        let target = Target::parse("sm_90a").unwrap();
        let error = Ptxas::chosen(Some(Path::new("/nowhere/ptxas")), target).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no ptxas at '/nowhere/ptxas', the path asked for"
        );
        assert!(error.notes()[0].contains("cargo xtask setup"));
    }

    /// An executable script in a folder of its own.
    fn script(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ptxas");
        // A child process writes it: a process that another test starts in the meantime would inherit a file descriptor that
        // this process holds open, and a file that is open for writing cannot be executed.
        let write = "printf '#!/bin/sh\n%s\n' \"$1\" > \"$2\" && chmod +x \"$2\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh", text]).arg(&path);
        assert!(shell.status().unwrap().success());
        (folder, path)
    }

    #[test]
    fn a_ptxas_that_hangs_is_given_up() {
        let (_folder, path) = script("sleep 3");
        let why = Ptxas::probe(&path, Duration::from_secs(1)).unwrap_err();
        assert_eq!(why, "does not answer --version within 1 s");
    }

    #[test]
    fn a_ptxas_that_is_killed_is_told_as_such() {
        let (_folder, path) =
            script("case $1 in --version) echo release 13.0, V13.0.88;; *) kill -9 $$;; esac");
        let ptxas = Ptxas::probe(&path, PATIENCE).unwrap();
        let error = ptxas
            .assemble("", "k.ptx", Target::parse("sm_90a").unwrap())
            .unwrap_err();
        let message = format!(
            "'{}' was killed by signal 9 while it assembled 'k.ptx' for sm_90a",
            path.display()
        );
        assert_eq!(error.to_string(), message);
        assert_eq!(error.kind(), crate::error::Kind::User);
    }

    #[test]
    fn a_refusal_does_not_name_the_scratch_folder() {
        let (_folder, path) = script(
            "case $1 in --version) echo release 13.0, V13.0.88;; *) echo \"ptxas $5, line 1; fatal\"; exit 1;; esac",
        );
        let ptxas = Ptxas::probe(&path, PATIENCE).unwrap();
        let error = ptxas
            .assemble("", "k.ptx", Target::parse("sm_90a").unwrap())
            .unwrap_err();
        assert!(
            error
                .notes()
                .contains(&"ptxas input.ptx, line 1; fatal".to_owned()),
            "{error:?}"
        );
    }

    #[test]
    fn an_executable_that_is_no_ptxas_is_refused() {
        let target = Target::parse("sm_90a").unwrap();
        let error = Ptxas::chosen(Some(Path::new("/bin/true")), target).unwrap_err();
        assert_eq!(
            error.to_string(),
            "'/bin/true', the path asked for, is no ptxas that runs"
        );
    }
}
