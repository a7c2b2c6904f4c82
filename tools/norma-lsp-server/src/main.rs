//! Language server for modules in the norm and gl dialects: diagnostics, hover, go to definition, completion.

use std::{env, process::ExitCode};

use norma_compiler::registry;

fn main() -> ExitCode {
    ExitCode::from(registry::lsp_server_main(env::args_os()))
}
