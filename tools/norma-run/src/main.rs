//! Runs, checks and times a bundle on a GPU.
//!
//! It links neither MLIR nor a driver, so that the one small file travels to a GPU machine beside the bundles.

mod call;
mod failure;
mod options;
mod regret;
mod report;
mod session;
mod timing;
mod verify;

use std::fmt::Display;
use std::process::ExitCode;

use clap::Parser;
use norma_command_line::output;
use serde::Serialize;

use crate::failure::Failure;
use crate::options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    let printed = match options.regret {
        true => regret::run(&options).map(|found| (printed(&found, &options), true)),
        false => session::run(&options).map(|found| (printed(&found, &options), found.passed())),
    };
    let (text, passed) = match printed {
        Ok(printed) => printed,
        Err(failure) => return refuse(&failure),
    };
    match output::report(text.as_bytes()) {
        Ok(()) => ExitCode::from(u8::from(!passed)),
        Err(error) => refuse(&error.into()),
    }
}

/// What was found, as a table or as JSON.
fn printed(found: &(impl Display + Serialize), options: &Options) -> String {
    match options.run.json {
        true => {
            serde_json::to_string_pretty(found).map_or_else(|error| error.to_string(), |json| json + "\n")
        }
        false => found.to_string(),
    }
}

fn refuse(failure: &Failure) -> ExitCode {
    output::message(format_args!("norma-run: error: {failure}\n"));
    ExitCode::from(failure.exit_code())
}
