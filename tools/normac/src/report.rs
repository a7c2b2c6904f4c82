//! What is printed about errors and times.

use std::process::ExitCode;

use norma_compiler::timing::Timing;
use norma_compiler::{Error, Kind};

/// The exit status of an error of the compiler's own, `EX_SOFTWARE` of sysexits.h.
const EXIT_INTERNAL: u8 = 70;

/// Prints an error that diagnostics have not told yet.
pub fn error(error: &Error) {
    if !error.is_diagnosed() {
        eprintln!("error: {error}");
    }
    for note in error.notes() {
        eprintln!("note: {note}");
    }
    if error.kind() == Kind::Internal {
        eprintln!("note: please report this, with the input and the command line");
    }
}

/// The exit status that an error stands for.
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
        eprintln!("{stage:12}{:9.2} ms", time.as_secs_f64() * 1e3);
    }
    eprintln!("{:12}{:9.2} ms", "total", total * 1e3);
}
