//! Runs, checks and times a bundle on a GPU.
//!
//! It links neither MLIR nor a driver, so that the one small file travels to a GPU machine beside the bundles.

mod bundle;
mod call;
mod driver;
mod failure;
mod options;
mod report;
mod session;
mod timing;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    let report = match session::run(&options) {
        Ok(report) => report,
        Err(failure) => {
            eprintln!("norma-run: error: {failure}");
            return ExitCode::from(failure.exit_code());
        }
    };
    let text = match options.json {
        true => {
            serde_json::to_string_pretty(&report).map_or_else(|error| error.to_string(), |json| json + "\n")
        }
        false => report.to_string(),
    };
    // A reader that has closed the pipe does not change what was found.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::from(u8::from(!report.passed()))
}
