//! Parses the command line of a program, which can also print its completions.

use std::process;

use clap::{Arg, Command, Parser, value_parser};
use clap_complete::Shell;

use crate::{EXIT_USAGE, output};

/// The option that prints completions.
const COMPLETIONS: &str = "completions";

/// Parses this process's command line. A wrong one ends the process with a message, and `--completions` after it has printed them.
pub fn parse<P: Parser>() -> P {
    let mut command = with_completions(P::command());
    let matches = command.get_matches_mut();
    if let Some(shell) = matches.get_one::<Shell>(COMPLETIONS) {
        let printed = output::report(&script(*shell, &mut command));
        process::exit(match printed {
            Ok(()) => 0,
            Err(error) => {
                output::error(error);
                i32::from(EXIT_USAGE)
            }
        });
    }
    P::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

fn with_completions(command: Command) -> Command {
    let option = Arg::new(COMPLETIONS)
        .long(COMPLETIONS)
        .value_name("SHELL")
        .value_parser(value_parser!(Shell))
        .exclusive(true)
        .help("Print completions for a shell");
    command.arg(option)
}

fn script(shell: Shell, command: &mut Command) -> Vec<u8> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, command, name, &mut script);
    script
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[derive(Parser)]
    #[command(name = "program")]
    struct Options {
        #[arg(long, value_parser = ["one", "two"])]
        number: Option<String>,
        input: String,
    }

    #[test]
    fn completions_are_printed_without_what_is_required_and_have_the_words_of_options() {
        let mut command = with_completions(Options::command());
        let matches = command
            .clone()
            .try_get_matches_from(["program", "--completions", "bash"]);
        assert_eq!(matches.unwrap().get_one(COMPLETIONS), Some(&Shell::Bash));
        command.clone().try_get_matches_from(["program"]).unwrap_err();
        let script = String::from_utf8(script(Shell::Bash, &mut command)).unwrap();
        assert!(script.contains("compgen -W \"one two\""), "{script}");
    }
}
