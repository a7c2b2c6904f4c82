//! Runs passes and pipelines on a module, as mlir-opt does.

use std::{env, process::ExitCode};

use norma_compiler::registry;

fn main() -> ExitCode {
    ExitCode::from(registry::opt_main(env::args_os()))
}
