//! Compiles norm functions ahead of time into a bundle.

mod args;
mod build;
mod explain;
mod input;
mod object;
mod output_file;
mod report;
mod sweep;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use norma_compiler::Result;

use args::{Args, Emit};
use input::InputText;

fn main() -> ExitCode {
    let mut args = Args::parse();
    args.drop_repeated_targets();
    if let Err(message) = args.check() {
        Args::command().error(ErrorKind::ValueValidation, message).exit();
    }
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
    if let (Some(count), [input], [target], Some(root)) =
        (args.candidates, &inputs[..], &args.target[..], &args.output)
    {
        return sweep::write(
            args,
            target,
            input,
            usize::try_from(count).unwrap_or(usize::MAX),
            root,
        );
    }
    match args.emit {
        Some(Emit::Level(level)) => build::emit(args, &inputs, level),
        Some(Emit::Object) => build::object(args, &inputs),
        None => build::bundles(args, &inputs),
    }
}
