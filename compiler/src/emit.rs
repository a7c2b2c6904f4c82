//! Code emission: translates one `gpu.module` in the LLVM and NVVM dialects to LLVM IR, PTX and a cubin.
//!
//! Everything happens in this process if NVIDIA's PTX compiler library is linked. LLVM's NVPTX backend aborts the process on
//! an intrinsic it cannot select, so [`gate::check`] runs first and refuses, with a location, what the target lacks.

mod assemblies;
pub mod cubin;
mod errata;
mod fatal;
pub mod gate;
pub mod llvm_ir;
mod lone_elements;
#[cfg(norma_nvptxcompiler)]
mod nvptxcompiler;
pub mod ptx;
pub mod ptxas;
mod resource_usage;
pub mod scratch;
mod settings;

pub use assemblies::Assemblies;
pub use cubin::{Assembler, Cubin};
pub use resource_usage::ResourceUsage;

/// The version of the linked LLVM.
pub fn llvm_version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}
