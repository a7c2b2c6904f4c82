//! Provenance: what determines the output of a compilation.

use norma_bundle::manifest::Provenance;
use sha2::{Digest, Sha256};

use crate::compile::Input;
use crate::emit::{Assembler, llvm_version};
use crate::error::Result;
use crate::options::CompileOptions;

/// The compiler's version, with a hash of all sources that influence its output.
pub const COMPILER: &str = concat!("norma ", env!("CARGO_PKG_VERSION"), "+", env!("NORMA_SOURCES"));

/// The provenance that a bundle of the input, compiled with these options, records.
///
/// # Errors
///
/// No assembler for the target is found.
pub fn of(input: Input, options: &CompileOptions) -> Result<Provenance> {
    let assembler = Assembler::locate(options.ptxas.as_deref(), options.target)?;
    let hash = Sha256::digest(input.text.as_bytes());
    let mut arguments = options.arguments();
    // Locations are kept in these cases, and they contain the input's name.
    if options.line_info || options.keep_nvvm {
        arguments.push(input.name.to_owned());
    }
    Ok(Provenance {
        compiler: format!("{COMPILER}, LLVM {}", llvm_version()),
        assembler: Some(assembler.release()),
        source: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        options: arguments,
    })
}
