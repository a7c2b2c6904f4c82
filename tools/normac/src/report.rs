//! Prints errors, times and manifests.

use std::process::ExitCode;

use norma_bundle::Manifest;
use norma_command_line::EXIT_INTERNAL;
use norma_command_line::output::{self, message};
use norma_compiler::timing::Timing;
use norma_compiler::{Error, Kind, Result};
use serde_json::{Map, Value, json};

/// Prints an error, unless diagnostics have already reported it.
pub fn error(error: &Error) {
    if !error.is_diagnosed() {
        output::error(error);
    }
    notes(error);
}

/// Prints the notes of an error.
pub fn notes(error: &Error) {
    output::notes(error.notes(), error.kind() == Kind::Internal);
}

/// The exit status for an error.
pub fn exit_code(error: &Error) -> ExitCode {
    match error.kind() {
        Kind::User | Kind::Unsupported => ExitCode::FAILURE,
        Kind::Internal => ExitCode::from(EXIT_INTERNAL),
    }
}

/// Prints a table of stages and milliseconds.
pub fn timing(timing: &Timing) {
    let total: f64 = timing.stages().iter().map(|(_, time)| time.as_secs_f64()).sum();
    for (stage, time) in timing.stages() {
        message(format_args!("{stage:12}{:9.2} ms\n", time.as_secs_f64() * 1e3));
    }
    message(format_args!("{:12}{:9.2} ms\n", "total", total * 1e3));
}

/// Formats manifests, and times in milliseconds if given, as one JSON object.
///
/// # Errors
///
/// Only if serialization itself fails.
pub fn json(manifests: &[&Manifest], timing: Option<&Timing>) -> Result<String> {
    let mut report = json!({ "manifests": manifests });
    if let Some(timing) = timing {
        let stages = timing.stages().iter();
        let stages: Map<String, Value> = stages
            .map(|(stage, time)| ((*stage).to_owned(), json!(time.as_secs_f64() * 1e3)))
            .collect();
        report["timing_ms"] = Value::Object(stages);
    }
    serde_json::to_string_pretty(&report)
        .map(|text| text + "\n")
        .map_err(|error| Error::internal(error.to_string()))
}
