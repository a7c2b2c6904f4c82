//! The errors of chores, by what the reader has to do about them.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// The error of every chore.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The machine lacks something, or an argument is wrong; the text says what to do.
    #[error("{0}")]
    User(String),
    /// A check of the repository has findings, which have already been printed.
    #[error("{0}")]
    Check(String),
    /// The chore failed, and its last line on stdout already says so.
    #[error("reported above")]
    Reported,
    /// A program could not be started or reported failure.
    #[error("`{command}` {what}")]
    Child {
        /// The command line.
        command: String,
        /// What happened to it, with its error output if that was captured.
        what: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action}: {source}")]
    File {
        /// The action and its path, as in `read README.md`.
        action: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl Failure {
    /// A child that exited with a failure, with its stderr if that was captured.
    pub fn status(command: &Command, status: ExitStatus, stderr: &[u8]) -> Self {
        let words = String::from_utf8_lossy(stderr);
        let what = match words.trim() {
            "" => format!("failed ({status})"),
            text => format!("failed ({status}):\n{text}"),
        };
        Failure::Child {
            command: command_line(command),
            what,
        }
    }

    /// A child that could not be started.
    pub fn start(command: &Command, source: &io::Error) -> Self {
        Failure::Child {
            command: command_line(command),
            what: format!("did not start: {source}"),
        }
    }

    /// Turns an I/O error into a failure that names the action and the path.
    pub fn file(action: &str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
        let action = format!("{action} {}", path.display());
        move |source| Failure::File { action, source }
    }
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
