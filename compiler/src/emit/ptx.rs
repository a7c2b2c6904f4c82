//! Generates PTX from LLVM IR with LLVM's NVPTX backend.

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, TargetMachine, TargetTriple};

use super::errata;
use super::llvm_ir::LlvmContext;
use super::settings;
use crate::error::{Error, Result};
use crate::target::Target;

const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// Creates LLVM's code generator for a target.
///
/// # Errors
///
/// An LLVM without the NVPTX backend, or one that does not know the target.
pub fn target_machine(target: &Target) -> Result<TargetMachine> {
    settings::apply();
    inkwell::targets::Target::initialize_nvptx(&InitializationConfig::default());
    let triple = TargetTriple::create(TRIPLE);
    inkwell::targets::Target::from_triple(&triple)
        .map_err(|message| Error::internal("LLVM has no NVPTX backend").note(message.to_string_lossy()))?
        .create_target_machine(
            &triple,
            target.architecture(),
            target.ptx_feature,
            OptimizationLevel::Aggressive,
            RelocMode::Default,
            CodeModel::Default,
        )
        .ok_or_else(|| Error::internal(format!("LLVM has no code generator for '{}'", target.name)))
}

/// Generates PTX text, with workarounds for faults of ptxas ([`errata`]).
///
/// # Errors
///
/// The errors of LLVM's code generator.
pub fn generate(context: &LlvmContext, module: &Module, machine: &TargetMachine) -> Result<String> {
    let buffer = machine
        .write_to_memory_buffer(module, FileType::Assembly)
        .map_err(|message| Error::internal("LLVM's code generator failed").note(message.to_string_lossy()))?;
    context.check("generating PTX")?;
    let bytes = buffer.as_slice();
    let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let text =
        std::str::from_utf8(text).map_err(|_| Error::internal("LLVM generated PTX that is not UTF-8"))?;
    Ok(errata::avoid(text))
}
