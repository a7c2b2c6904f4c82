//! Compiles norm functions ahead of time into a bundle.

mod args;
mod input;
mod report;

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::{CompileOptions, Error, Level, Result};

use args::Args;
use input::InputText;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::error(&error);
            report::exit_code(&error)
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let inputs = args
        .inputs
        .iter()
        .map(|path| InputText::read(path))
        .collect::<Result<Vec<_>>>()?;
    match args.emit {
        Some(level) => emit(args, &inputs, level),
        None => Err(Error::unsupported(
            "bundles are not written yet; ask for a level with --emit",
        )),
    }
}

/// Prints a level of each input, for each target.
fn emit(args: &Args, inputs: &[InputText], level: Level) -> Result<()> {
    let mut bytes = Vec::new();
    let mut outcome = Outcome::default();
    for target in &args.target {
        let options = CompileOptions {
            from: args.from,
            schedule: args.schedule.clone(),
            ptxas: args.ptxas.clone(),
            ..CompileOptions::new(target)
        };
        for input in inputs {
            let result = compile::lower(
                Input {
                    name: &input.name,
                    text: &input.text,
                },
                level,
                &options,
                &mut outcome,
            );
            eprint!("{}", std::mem::take(&mut outcome.diagnostics));
            bytes.extend(result?);
        }
    }
    if args.timing {
        report::timing(&outcome.timing);
    }
    match &args.output {
        Some(path) => fs::write(path, bytes)
            .map_err(|error| Error::user(format!("cannot write '{}': {error}", path.display()))),
        None => io::stdout()
            .write_all(&bytes)
            .map_err(|error| Error::user(format!("cannot write to standard output: {error}"))),
    }
}
