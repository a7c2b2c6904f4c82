//! The program that holds MLIR and LLVM. It acts by the name that it is called by ([`names`]), so that an archive has these libraries once.

mod args;
mod build;
mod c_compiler;
mod catalog;
mod command;
mod explain;
mod heap;
mod input;
mod names;
mod object;
mod op_hint;
mod ops;
mod places;
mod report;
mod sweep;
mod version;

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use norma_command_line::{EXIT_USAGE, output};
use norma_compiler::registry;

fn main() -> ExitCode {
    heap::set_up();
    let path = env::args_os().next().unwrap_or_default();
    let called = Path::new(&path).file_name().unwrap_or_default();
    match called.to_str() {
        Some(names::COMPILER) => command::main(),
        Some(names::SIMULATOR) => norma_sim::command::main(),
        Some(names::OPTIMIZER) => {
            end_at_closed_pipes();
            tell_version(names::OPTIMIZER);
            ExitCode::from(registry::opt_main(env::args_os()))
        }
        Some(names::LANGUAGE_SERVER) => {
            tell_version(names::LANGUAGE_SERVER);
            ExitCode::from(registry::lsp_server_main(env::args_os()))
        }
        _ => {
            let (called, known) = (called.display(), names::ALL.join(", "));
            output::error(format_args!(
                "expected to be called by one of the names {known}, got '{called}'"
            ));
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// Prints the version of a tool that LLVM's driver runs, if it is asked for: the driver goes on to print LLVM's alone.
fn tell_version(name: &str) {
    let asks = |argument| ["--version", "-version"].iter().any(|asking| argument == *asking);
    if env::args_os().skip(1).any(|argument: OsString| asks(argument)) {
        // What cannot be printed is said by the driver, which prints to the same stream.
        output::report(version::of_tool(name).as_bytes()).ok();
    }
}

/// Lets a closed pipe end the process, as it ends other filters: Rust's start-up has the signal ignored, and LLVM's streams would report
/// the failed write as a fatal error.
fn end_at_closed_pipes() {
    // SAFETY: nothing has a handler for the signal yet, and no other thread runs.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
