//! Runs, checks and times a bundle on a GPU.
//!
//! It links neither MLIR nor a driver, so that a single small file can be copied to a GPU machine together with the bundles.

mod call;
mod failure;
mod options;
mod page;
mod regret;
mod report;
mod session;
mod timing;
mod verify;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use norma_command_line::{output, output_file};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::Options;
use crate::report::Report;

fn main() -> ExitCode {
    let options: Options = norma_command_line::parse();
    match run(&options) {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
        Err(failure) => refuse(&failure),
    }
}

/// Runs the function, or reads the measurements of earlier runs, and reports; returns whether everything that was compared is
/// right.
fn run(options: &Options) -> Result<bool, Failure> {
    if let Some(path) = &options.report {
        // A measurement may take long, and would be lost.
        output_file::check(path).map_err(unwritten(path))?;
    }
    if !options.measured.is_empty() {
        let mut measurements = Vec::new();
        for path in &options.measured {
            measurements.extend(page::read(path)?);
        }
        write_page(options, &measurements)?;
        return Ok(true);
    }
    if options.regret {
        let found = regret::run(options)?;
        let text = match options.run.json {
            true => json(&found),
            false => found.to_string(),
        };
        output::report(text.as_bytes())?;
        return Ok(true);
    }
    let reports = session::run(options)?;
    let json = match (reports.as_slice(), &options.sweep) {
        ([report], None) => json(report),
        (all, _) => json(all),
    };
    // The results are printed first, and the page is written even if nobody reads what is printed, so that a full disk does not
    // lose them.
    let printed = match options.run.json {
        true => output::report(json.as_bytes()),
        false => output::report(
            reports
                .iter()
                .map(Report::to_string)
                .collect::<String>()
                .as_bytes(),
        ),
    };
    if options.report.is_some() {
        let measurements: Vec<_> = reports.iter().map(page::Measurement::from).collect();
        write_page(options, &measurements)?;
    }
    printed?;
    Ok(reports.iter().all(Report::passed))
}

fn json(found: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string_pretty(found).map_or_else(|error| error.to_string(), |json| json + "\n")
}

fn write_page(options: &Options, measurements: &[page::Measurement]) -> Result<(), Failure> {
    let Some(path) = &options.report else {
        return Ok(());
    };
    output_file::write(path, page::html(measurements).as_bytes()).map_err(unwritten(path))
}

/// Makes a failure of an error in writing the page.
fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    let path = path.to_owned();
    move |source| Failure::Page { path, source }
}

fn refuse(failure: &Failure) -> ExitCode {
    output::error(failure);
    ExitCode::from(failure.exit_code())
}
