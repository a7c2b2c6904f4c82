//! What `--version` prints.

use std::path::Path;

use norma_compiler::emit::{Assembler, llvm_version};
use norma_compiler::provenance::COMPILER;
use norma_compiler::target::SM_90A;

/// The version of one of the tools that LLVM's driver runs, which prints LLVM's own version.
pub fn of_tool(name: &str) -> String {
    format!("{name} {}\n", env!("CARGO_PKG_VERSION"))
}

/// The versions of the compiler, of LLVM and of the assembler, one per line.
pub fn text(ptxas: Option<&Path>) -> String {
    let assembler = match Assembler::locate(ptxas, &SM_90A) {
        Ok(assembler) => assembler.describe(),
        Err(error) => format!("no assembler: {error}"),
    };
    format!("{COMPILER}\nLLVM {}\n{assembler}\n", llvm_version())
}
