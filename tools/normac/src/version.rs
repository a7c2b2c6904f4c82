//! The output of `--version`.

use std::path::Path;

use norma_compiler::emit::{Assembler, llvm_version};
use norma_compiler::provenance::COMPILER;
use norma_compiler::target::SM_90A;

/// The versions of the compiler, of LLVM and of the assembler, one per line.
pub fn text(ptxas: Option<&Path>) -> String {
    let assembler = match Assembler::locate(ptxas, &SM_90A) {
        Ok(assembler) => assembler.describe(),
        Err(error) => format!("no assembler: {error}"),
    };
    format!("{COMPILER}\nLLVM {}\n{assembler}\n", llvm_version())
}
