//! The command `norma-sim`: runs kernels on the CPU under adverse schedules, and reports what they do wrong.

mod input;
mod mutants_session;
mod options;
mod progress;
mod report;
mod session;

use std::process::ExitCode;

use norma_command_line::{EXIT_INTERNAL, output};

use crate::Error;
use options::Options;

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let options: Options = norma_command_line::parse();
    let mut diagnostics = String::new();
    let outcome = match options.mutants {
        Some(_) => mutants_session::run(&options, &mut diagnostics).map(|session| {
            let text = match options.run.json {
                true => session.json(),
                false => session.text(),
            };
            (text, session.passed())
        }),
        None => session::run(&options, &mut diagnostics).map(|session| {
            let text = match options.run.json {
                true => report::json(&session),
                false => report::text(&session, &options),
            };
            (text, session.passed())
        }),
    };
    output::diagnostics(&diagnostics);
    let told = outcome.and_then(|(text, passed)| {
        output::report(text.as_bytes())?;
        Ok(passed)
    });
    match told {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &Error) -> ExitCode {
    report::error(error);
    match error.is_internal() {
        true => ExitCode::from(EXIT_INTERNAL),
        false => ExitCode::FAILURE,
    }
}
