//! `cargo xtask`: the project's chores.
//!
//! It builds without LLVM, because it installs LLVM. Each command is one file and prints what it does; an error is one
//! message on stderr and exit status 1.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod book;
mod c_header;
mod child;
mod contents;
mod demo;
mod dist;
mod docs;
mod failure;
mod licences;
mod lint;
mod lit;
mod new_pass;
mod progress;
mod python;
mod setup;
mod test;
mod tidy;
mod wheel;
mod workspace;

/// Norma's chores: set-up, demo, tests, docs, tidy, scaffolding
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what is missing: LLVM/MLIR 22, a headless Chromium, and NVIDIA's assembler into .toolchain/
    Setup(setup::Options),
    /// Compile examples/rms_norm.mlir for sm_90a and show what came out
    Demo(setup::Options),
    /// Run every test: cargo's, lit's, tidy, and whether the generated docs are current
    Test(test::Options),
    /// Check formatting and run clippy on the whole workspace
    Lint(setup::Options),
    /// Generate the dialects' and passes' reference from ODS, and the runtime's C header
    Docs(docs::Options),
    /// Make a book of HTML of docs/, or write into its pages what their commands print now
    Book(book::Options),
    /// Make an archive of tools, runtime, headers and CMake files that can be unpacked in any folder, and try it out
    Dist(dist::Options),
    /// Check that passes, constraints, tests and README agree
    Tidy,
    /// Build a wheel of the Python package, with normac in it
    Wheel(wheel::Options),
    /// Scaffold a pass: its entry in Passes.td, its Rust file and its test
    NewPass(new_pass::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Setup(options) => setup::run_for_tests(&options).map(drop),
        Command::Demo(options) => demo::run(&options),
        Command::Test(options) => test::run(&options),
        Command::Lint(options) => lint::run(&options),
        Command::Docs(options) => docs::run(&options),
        Command::Book(options) => book::run(&options),
        Command::Dist(options) => dist::run(&options),
        Command::Tidy => tidy::run(),
        Command::Wheel(options) => wheel::run(&options),
        Command::NewPass(options) => new_pass::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure::Failure::Reported) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
