//! Assembles PTX to a cubin, by NVIDIA's PTX compiler library in this process or by a child `ptxas`.

use std::path::Path;

use super::ptxas::Ptxas;
use super::resource_usage::{ResourceUsage, parse_log};
use crate::error::{Error, Result};
use crate::target::Target;

/// An assembled module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cubin {
    /// The ELF image.
    pub bytes: Vec<u8>,
    /// The resource usage of each kernel, in the order of the PTX.
    pub kernels: Vec<ResourceUsage>,
    /// The assembler's verbose log.
    pub log: String,
}

/// An assembler of PTX. Both kinds produce the same cubin for the same release.
#[derive(Debug, Clone)]
pub enum Assembler {
    /// The library linked into this process.
    #[cfg(norma_nvptxcompiler)]
    InProcess,
    /// A child process.
    Ptxas(Ptxas),
}

/// The option that carries line numbers from PTX into the machine code; `None` for PTX without `.loc` directives.
pub(super) fn line_info(ptx: &str) -> Option<&'static str> {
    let is_line = |line: &str| line.trim_start().starts_with(".loc");
    ptx.lines().any(is_line).then_some("--generate-line-info")
}

/// The error for PTX that an assembler refused.
pub(super) fn refusal(name: &str, target: &Target) -> Error {
    Error::internal(format!(
        "the PTX of '{name}' does not assemble for {}",
        target.name
    ))
}

/// `error` with the lines of an assembler's log as notes.
pub(super) fn with_log(error: Error, log: &str) -> Error {
    log.lines()
        .filter(|line| !line.trim().is_empty())
        .fold(error, Error::note)
}

/// Checks that the assembler has not left out a change of registers, for which it gives a warning alone: consumers would then spill, or
/// wait for registers that nobody gives up.
fn hands_registers_over(log: &str, name: &str, target: &Target) -> Result<()> {
    match log.lines().find(|line| line.contains("'setmaxnreg' ignored")) {
        None => Ok(()),
        Some(line) => {
            let message = format!(
                "expected the assembler to hand registers over in '{name}' for {}, got a warning",
                target.name
            );
            Err(Error::internal(message).note(line))
        }
    }
}

impl Assembler {
    /// Finds an assembler for a target: the given `ptxas`, else the one that `NORMA_PTXAS` names, else the linked library,
    /// else a `ptxas` on `PATH` or in the set-up's folder.
    ///
    /// # Errors
    ///
    /// No assembler was found, or the one asked for is too old for the target.
    pub fn locate(explicit: Option<&Path>, target: &Target) -> Result<Self> {
        if let Some(ptxas) = Ptxas::chosen(explicit, target)? {
            return Ok(Self::Ptxas(ptxas));
        }
        #[cfg(norma_nvptxcompiler)]
        return Ok(Self::InProcess);
        #[cfg(not(norma_nvptxcompiler))]
        return Ptxas::search(target).map(Self::Ptxas);
    }

    /// Assembles PTX for a target. `name` identifies the module in messages.
    ///
    /// # Errors
    ///
    /// PTX that the assembler rejects, with its log as notes; or a `ptxas` that does not run.
    pub fn assemble(&self, ptx: &str, name: &str, target: &Target) -> Result<Cubin> {
        let (bytes, log) = match self {
            #[cfg(norma_nvptxcompiler)]
            Self::InProcess => super::nvptxcompiler::assemble(ptx, name, target)?,
            Self::Ptxas(ptxas) => ptxas.assemble(ptx, name, target)?,
        };
        hands_registers_over(&log, name, target)?;
        Ok(Cubin {
            bytes,
            kernels: parse_log(&log),
            log,
        })
    }

    /// Describes the assembler for reports.
    pub fn describe(&self) -> String {
        match self {
            #[cfg(norma_nvptxcompiler)]
            Self::InProcess => format!("libnvptxcompiler {}, in process", self.release()),
            Self::Ptxas(ptxas) => ptxas.describe(),
        }
    }

    /// The CUDA release of the assembler, such as `13.0`; the cubin for a given PTX depends on it alone.
    pub fn release(&self) -> String {
        match self {
            #[cfg(norma_nvptxcompiler)]
            Self::InProcess => super::nvptxcompiler::release(),
            Self::Ptxas(ptxas) => ptxas.release(),
        }
    }
}
