//! Set-up: installs what is missing, and only that.
//!
//! **Invariant:** a run that finds everything installs nothing and prints one line. An interrupted run leaves nothing
//! half-installed: apt takes care of packages, and a file enters `.toolchain/` by a rename. Concurrent runs take turns by a
//! lock file.

use std::env;
use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::workspace;

mod apt;
mod browser;
mod llvm;
mod version;
mod wheels;

pub use wheels::RELEASE as CUDA_RELEASE;

/// What a user may say about the set-up.
#[derive(clap::Args)]
#[group(skip)]
pub struct Options {
    /// Use this ptxas (13.0 or newer) rather than one from NORMA_PTXAS, PATH or .toolchain/
    #[arg(long, value_name = "FILE")]
    pub ptxas: Option<PathBuf>,
}

/// What set-up found or installed.
pub struct Setup {
    /// LLVM and MLIR 22.
    pub llvm: llvm::Llvm,
    /// NVIDIA's assembler and library; `None` where NVIDIA ships none, such as macOS.
    pub cuda: Option<wheels::Cuda>,
    /// A headless browser, if the tests' needs were asked for and there is one.
    pub browser: Option<PathBuf>,
}

impl Setup {
    /// A cargo command that builds against what set-up found.
    pub fn cargo(&self) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(workspace::root());
        self.prepare(&mut cargo);
        cargo
    }

    /// Sets the variables by which builds and tools find LLVM, and the ptxas that the user named, if any. The build finds
    /// libnvptxcompiler in `.toolchain/` without a variable; setting one would make cargo rebuild after every plain `cargo
    /// build`.
    pub fn prepare(&self, command: &mut Command) {
        command.env("MLIR_SYS_220_PREFIX", &self.llvm.prefix);
        command.env("TABLEGEN_220_PREFIX", &self.llvm.prefix);
        if let Some(cuda) = self.cuda.as_ref().filter(|cuda| cuda.is_named) {
            command.env("NORMA_PTXAS", &cuda.ptxas);
        }
    }
}

/// Finds everything that the build needs, and installs what is missing.
///
/// # Errors
/// If something is missing and cannot be installed here; the text says how to get it.
pub fn run(options: &Options) -> Result<Setup, Failure> {
    ensure(options, false)
}

/// Finds everything that the build and the tests need, and installs what is missing.
///
/// # Errors
/// As [`run`].
pub fn run_for_tests(options: &Options) -> Result<Setup, Failure> {
    ensure(options, true)
}

fn ensure(options: &Options, for_tests: bool) -> Result<Setup, Failure> {
    let _lock = take_turn()?;
    let (llvm, installed_packages) = llvm::ensure()?;
    let (cuda, installed_wheels) = wheels::ensure(options.ptxas.as_deref())?;
    let (browser, installed_browser) = match for_tests {
        true => browser::ensure(),
        false => (None, false),
    };
    let state = if installed_packages || installed_wheels || installed_browser {
        "complete"
    } else {
        "nothing to install"
    };
    let cuda_found = match &cuda {
        Some(cuda) => format!("ptxas {} at {}", cuda.version, cuda.ptxas.display()),
        None => "no ptxas for this system, so output stops at PTX".to_owned(),
    };
    let browser_found = match (&browser, for_tests) {
        (Some(browser), _) => format!(", browser at {}", browser.display()),
        (None, true) => ", no headless browser, so the test of norma-run's page does not run".to_owned(),
        (None, false) => String::new(),
    };
    eprintln!(
        "set-up: {state} (LLVM {} at {}, {cuda_found}{browser_found})",
        llvm.version,
        llvm.prefix.display()
    );
    Ok(Setup { llvm, cuda, browser })
}

/// Ensures that python3 can create environments.
///
/// # Errors
/// If it cannot, and the missing part cannot be installed here.
pub fn ensure_venv() -> Result<(), Failure> {
    if child::ask(Command::new("python3").args(["-c", "import ensurepip, venv"])).is_ok() {
        return Ok(());
    }
    if apt::is_available() {
        return apt::install(&["python3-venv"]);
    }
    Err(Failure::User(
        "an environment for Python needs python3 with venv".to_owned(),
    ))
}

/// The folder into which set-up unpacks.
pub fn toolchain() -> PathBuf {
    workspace::root().join(".toolchain")
}

/// Waits until no other set-up runs in this clone. The system releases the lock when the process ends, however it ends.
fn take_turn() -> Result<File, Failure> {
    let folder = toolchain();
    fs::create_dir_all(&folder).map_err(Failure::file("create", &folder))?;
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(Failure::file("create", &path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("set-up: waiting for another set-up of this clone");
            lock.lock().map_err(Failure::file("lock", &path))?;
        }
        Err(TryLockError::Error(error)) => return Err(Failure::file("lock", &path)(error)),
    }
    Ok(lock)
}
