//! Runs, checks and times a bundle on a GPU.
//!
//! It links neither MLIR nor a driver, so that the one small file travels to a GPU machine beside the bundles.

mod call;
mod failure;
mod options;
mod report;
mod session;
mod timing;
mod verify;

use std::process::ExitCode;

use clap::Parser;
use norma_command_line::output;

use crate::failure::Failure;
use crate::options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    let report = match session::run(&options) {
        Ok(report) => report,
        Err(failure) => {
            return refuse(&failure);
        }
    };
    let text = match options.run.json {
        true => {
            serde_json::to_string_pretty(&report).map_or_else(|error| error.to_string(), |json| json + "\n")
        }
        false => report.to_string(),
    };
    match output::report(text.as_bytes()) {
        Ok(()) => ExitCode::from(u8::from(!report.passed())),
        Err(error) => refuse(&error.into()),
    }
}

fn refuse(failure: &Failure) -> ExitCode {
    output::message(format_args!("norma-run: error: {failure}\n"));
    ExitCode::from(failure.exit_code())
}
