//! What a compilation was of: enough to know whether another one would give the same.

use norma_bundle::manifest::Provenance;
use sha2::{Digest, Sha256};

use crate::compile::Input;
use crate::emit::{Assembler, llvm_version};
use crate::error::Result;
use crate::options::CompileOptions;

/// The compiler, with a hash of all sources that decide what it makes of an input.
pub const COMPILER: &str = concat!("norma ", env!("CARGO_PKG_VERSION"), "+", env!("NORMA_SOURCES"));

/// What a bundle of the input, compiled with these options, says of where it comes from.
///
/// # Errors
///
/// There is no assembler for the target.
pub fn of(input: Input, options: &CompileOptions) -> Result<Provenance> {
    let assembler = Assembler::locate(options.ptxas.as_deref(), options.target)?;
    let hash = Sha256::digest(input.text.as_bytes());
    let mut arguments = options.arguments();
    // These keep locations, which hold the input's name.
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
