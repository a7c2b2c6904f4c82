//! The numerics suite: kernels of many shapes, compiled, simulated, and compared with what they must compute.
//!
//! `norma-numerics` runs the table and then cases drawn from a seed, which it prints. A failing case is reduced to a small one
//! that still fails, and printed as a `norma-sim` command line. The last line counts passes and failures.

#[cfg(test)]
mod batches;
mod bench;
mod case;
mod check;
mod command;
mod device;
#[cfg(test)]
mod differences;
mod draw;
mod mutants;
#[cfg(test)]
mod planted;
mod random;
mod reduce;
#[cfg(test)]
mod sharded;
mod source;
mod space;
mod suite;
mod table;
mod traffic;
mod trial;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Compiles kernels of many ops, types, shapes and schedules, and runs each in the simulator against the oracle.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What is run.
#[derive(Debug, clap::Args)]
struct Options {
    /// Run longer rows, more seeds and more drawn cases too
    #[arg(long, global = true)]
    long: bool,
    /// Run only cases whose name contains this
    #[arg(long, global = true, value_name = "TEXT")]
    filter: Option<String>,
    /// The seed of the first drawn case; the others follow
    #[arg(long, global = true, default_value_t = 1)]
    seed: u64,
    /// How many cases to draw over rows, and how many over spaces; 300 and 60 where not given, 4000 and 2000 with --long
    #[arg(long, global = true, value_name = "N")]
    drawn: Option<u64>,
    /// How many failures to reduce and print in full; others are told as they are
    #[arg(long, value_name = "N", default_value_t = 10)]
    max_told: usize,
    /// Where programs that fail are written
    #[arg(long, global = true, value_name = "DIR", default_value = "target/numerics")]
    output: PathBuf,
    /// Print the cases' names and run none
    #[arg(long, global = true)]
    list: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure the simulator's speed
    Bench,
    /// Put mistakes into the kernels of the table's cases, and tell which nothing would catch
    Mutants,
    /// Write bundles of the cases, and the commands that run them on a GPU
    Export {
        /// The folder
        folder: PathBuf,
    },
    /// Compare the simulator's results bit for bit with what the exported commands left
    Compare {
        /// The folder that they wrote to
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let passed = match cli.command {
        None => Ok(suite::run(&cli.options)),
        Some(Command::Bench) => bench::report()
            .map(|text| print!("{text}"))
            .map(|()| true)
            .map_err(|failure| failure.why),
        Some(Command::Mutants) => Ok(mutants::run(&cli.options)),
        Some(Command::Export { folder }) => device::export(&cli.options, &folder)
            .map(|()| true)
            .map_err(|error| format!("cannot write to '{}': {error}", folder.display())),
        Some(Command::Compare { folder }) => Ok(device::compare(&cli.options, &folder)),
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
