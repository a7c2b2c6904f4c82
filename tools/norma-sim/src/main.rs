//! Runs kernels on the CPU under adverse schedules, and says what they do wrong.

mod input;
mod mutants_session;
mod options;
mod progress;
mod report;
mod session;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::options::Options;

/// The exit status of an error of Norma's own, `EX_SOFTWARE` of sysexits.h.
const EXIT_INTERNAL: u8 = 70;

fn main() -> ExitCode {
    let options = Options::parse();
    let mut diagnostics = String::new();
    let outcome = match options.mutants {
        Some(_) => mutants_session::run(&options, &mut diagnostics).map(|session| {
            let text = match options.json {
                true => session.json(),
                false => session.text(),
            };
            (text, session.passed())
        }),
        None => session::run(&options, &mut diagnostics).map(|session| {
            let text = match options.json {
                true => report::json(&session),
                false => report::text(&session, &options),
            };
            (text, session.passed())
        }),
    };
    eprint!("{diagnostics}");
    let (text, passed) = match outcome {
        Ok(told) => told,
        Err(error) => {
            report::error(&error);
            return match error.is_internal() {
                true => ExitCode::from(EXIT_INTERNAL),
                false => ExitCode::FAILURE,
            };
        }
    };
    // A reader that has closed the pipe does not change what was found.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::from(u8::from(!passed))
}
