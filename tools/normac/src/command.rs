//! The command `normac`: compiles norm functions ahead of time into a bundle.

use std::env;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use norma_command_line::output;
use norma_compiler::named_op::NamedOp;
use norma_compiler::{Error, Level, Result, preset};

use crate::args::{Args, CompileArgs, Emit};
use crate::build::{self, Request};
use crate::input::InputText;
use crate::{catalog, op_hint, ops, places, report, sweep, version};

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let matches = command().try_get_matches().unwrap_or_else(|error| {
        let arguments: Vec<_> = env::args_os().skip(1).collect();
        if let Some(message) = op_hint::hint(&error, &arguments) {
            refuse(message);
        }
        error.exit()
    });
    let done = match matches.subcommand() {
        Some((mnemonic, matches)) => op(mnemonic, matches),
        None => files(&matches),
    };
    done.unwrap_or_else(|error| {
        report::error(&error);
        report::exit_code(&error)
    })
}

/// The complete command line: the options for files, and a subcommand for each named op.
pub(crate) fn command() -> Command {
    Args::command().subcommands(ops::commands(preset::OPS))
}

/// Exits with clap's error for a wrong command line.
fn refuse(message: String) -> ! {
    command().error(ErrorKind::ValueValidation, message).exit()
}

/// Converts matches to an options struct.
fn parsed<T: FromArgMatches>(matches: &ArgMatches) -> T {
    T::from_arg_matches(matches).unwrap_or_else(|error| error.format(&mut command()).exit())
}

fn files(matches: &ArgMatches) -> Result<ExitCode> {
    let mut args: Args = parsed(matches);
    if args.version {
        return print(&version::text(args.compile.ptxas.as_deref()));
    }
    if args.list_ops {
        return print(&ops::list(preset::OPS));
    }
    if let Some(shell) = args.completions {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command(), "normac", &mut script);
        return print(&String::from_utf8_lossy(&script));
    }
    args.compile.drop_repeated_targets();
    args.check().unwrap_or_else(|message| refuse(message));
    if let Some(path) = &args.catalog {
        let has_target = matches.value_source("target") == Some(ValueSource::CommandLine);
        return catalog::run(path, &args, has_target);
    }
    if let (Some(output), Some(_)) = (args.compile.file(), args.compile.emit) {
        places::refuse_input(output, &args.inputs)?;
    }
    let inputs = args.inputs.iter();
    run(&Request {
        inputs: inputs.map(|path| InputText::read(path)).collect::<Result<_>>()?,
        from: args.from,
        args: args.compile,
    })
}

fn op(mnemonic: &str, matches: &ArgMatches) -> Result<ExitCode> {
    let op: &'static NamedOp = preset::find_op(mnemonic)?;
    let mut args: CompileArgs = parsed(matches);
    args.drop_repeated_targets();
    args.check(1).unwrap_or_else(|message| refuse(message));
    let preset = ops::preset(op, matches).unwrap_or_else(|message| refuse(message));
    run(&Request {
        inputs: vec![InputText {
            name: format!("<{mnemonic}>"),
            text: preset.source()?,
        }],
        from: Level::Tensor,
        args,
    })
}

fn run(request: &Request) -> Result<ExitCode> {
    if let Some(count) = request.args.candidates {
        sweep::write(request, count.into())?;
        return Ok(ExitCode::SUCCESS);
    }
    match request.args.emit {
        Some(Emit::Level(level)) => build::emit(request, level),
        Some(Emit::Object) => build::object(request),
        None => build::bundles(request),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) -> Result<ExitCode> {
    output::report(text.as_bytes()).map_err(|error| Error::user(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn an_op_is_the_first_word_alone() {
        let matches = |words: &[&str]| command().try_get_matches_from([&["normac"], words].concat());
        let op = |words: &[&str]| {
            matches(words)
                .ok()
                .and_then(|matches| matches.subcommand_name().map(str::to_owned))
        };
        assert_eq!(
            op(&["rms_norm", "--shape", "m,8", "-o", "out"]).as_deref(),
            Some("rms_norm")
        );
        assert_eq!(op(&["./rms_norm", "-o", "out"]), None);
        assert_eq!(op(&["a.mlir", "rms_norm", "-o", "out"]), None);
        matches(&["-o", "out", "rms_norm", "--shape", "m,8"]).unwrap_err();
    }

    #[test]
    fn options_of_an_op_are_its_operands_attributes_and_results() {
        let matches = command()
            .try_get_matches_from([
                "normac",
                "layer_norm",
                "--shape=m,8",
                "--dtype=f16",
                "--weight=f32",
                "--no-bias",
                "--mean",
                "--axes",
                "-1",
                "--weight-offset=1",
                "--max=m=4096",
                "--emit=mlir",
            ])
            .unwrap();
        let (mnemonic, matches) = matches.subcommand().unwrap();
        let preset = ops::preset(preset::find_op(mnemonic).unwrap(), matches).unwrap();
        assert_eq!(
            format!("{:?} {:?} {:?}", preset.dtype, preset.tensors, preset.choices),
            r#"Some("f16") {"bias": Absent, "mean": Present(None), "weight": Present(Some("f32"))} {"axes": "-1", "weight_offset": "1"}"#
        );
        assert_eq!(preset.promises["m"].max, Some(4096));
    }

    #[test]
    fn what_an_op_does_not_take_is_refused() {
        for (words, part) in [
            (
                &["softmax", "--shape=m,8", "--weight"][..],
                "unexpected argument '--weight'",
            ),
            (
                &["softmax", "--shape=m,8", "--dtype=f64"],
                "[possible values: bf16, f16, f32]",
            ),
            (&["softmax"], "--shape <EXTENTS>"),
            (
                &["softmax", "--shape=m,-8"],
                "expected extents that are not negative, got -8",
            ),
            (
                &["softmax", "--shape=m,8", "--scale=big"],
                "expected a finite number",
            ),
            (
                &["rms_norm", "--shape=m,8", "--weight", "--no-weight"],
                "cannot be used with",
            ),
            (&["reduce_axes", "--shape=m,8"], "--kind <WORD>"),
        ] {
            let error = command()
                .try_get_matches_from([&["normac"], words].concat())
                .unwrap_err();
            assert!(error.to_string().contains(part), "{words:?}: {error}");
        }
    }
}
