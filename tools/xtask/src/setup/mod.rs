//! Set-up: installs what is missing, and nothing that is there.
//!
//! **Invariant:** a run that finds everything installs nothing and prints one line. A run that was interrupted leaves
//! nothing half-installed: packages are apt's affair, and a file enters `.toolchain/` by a rename. Two runs at once take
//! turns by a lock file.

use std::env;
use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::workspace;

mod apt;
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
    /// NVIDIA's assembler and library; none where NVIDIA ships none, such as macOS.
    pub cuda: Option<wheels::Cuda>,
}

impl Setup {
    /// A cargo that builds against what set-up found.
    pub fn cargo(&self) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(workspace::root());
        self.prepare(&mut cargo);
        cargo
    }

    /// Sets the variables by which builds and tools find LLVM, and a ptxas that the user named. The build finds libnvptxcompiler by itself in
    /// `.toolchain/`; a variable for it would make cargo rebuild whenever a plain `cargo build` comes in between.
    pub fn prepare(&self, command: &mut Command) {
        command.env("MLIR_SYS_220_PREFIX", &self.llvm.prefix);
        command.env("TABLEGEN_220_PREFIX", &self.llvm.prefix);
        if let Some(cuda) = self.cuda.as_ref().filter(|cuda| cuda.is_named) {
            command.env("NORMA_PTXAS", &cuda.ptxas);
        }
    }
}

/// Finds everything the build needs and installs what is missing.
///
/// # Errors
/// If something is missing and cannot be installed here; the text says how to get it.
pub fn run(options: &Options) -> Result<Setup, Failure> {
    let _lock = take_turn()?;
    let (llvm, installed_packages) = llvm::ensure()?;
    let (cuda, installed_wheels) = wheels::ensure(options.ptxas.as_deref())?;
    let state = if installed_packages || installed_wheels {
        "complete"
    } else {
        "nothing to install"
    };
    let cuda_found = match &cuda {
        Some(cuda) => format!("ptxas {} at {}", cuda.version, cuda.ptxas.display()),
        None => "no ptxas for this system, so output stops at PTX".to_owned(),
    };
    eprintln!(
        "set-up: {state} (LLVM {} at {}, {cuda_found})",
        llvm.version,
        llvm.prefix.display()
    );
    Ok(Setup { llvm, cuda })
}

/// Sees to it that python3 can make environments.
///
/// # Errors
/// If it cannot, and what it lacks cannot be installed here.
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

/// The folder set-up unpacks into.
pub fn toolchain() -> PathBuf {
    workspace::root().join(".toolchain")
}

/// Waits until no other set-up runs in this clone. The system drops the lock with the process, however it ends.
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
