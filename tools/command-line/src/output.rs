//! Standard output and standard error: a report that cannot be written is an error, a message that cannot be written is
//! dropped, and neither causes a panic.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use thiserror::Error;

/// An error in writing a report to standard output.
#[derive(Debug, Error)]
#[error("cannot write to standard output: {0}")]
pub struct ReportError(#[from] io::Error);

/// Writes a report to standard output. A closed pipe is not an error: its reader has read what it wanted.
///
/// # Errors
/// The output cannot be written, for example because the disk is full.
pub fn report(bytes: &[u8]) -> Result<(), ReportError> {
    whole(&mut io::stdout().lock(), bytes)
}

/// Writes a message to standard error. If that fails, there is nobody left to tell.
pub fn message(message: impl Display) {
    let _ = write!(io::stderr().lock(), "{message}");
}

/// Writes an error to standard error in the format of all programs of the project: `error: ` and the text.
pub fn error(text: impl Display) {
    diagnostics(&format!("error: {text}\n"));
}

/// Writes a note about an error or about progress to standard error.
pub fn note(text: impl Display) {
    diagnostics(&format!("note: {text}\n"));
}

/// Writes the notes of an error; an internal one has another note, which asks for a report.
pub fn notes<T: Display>(notes: impl IntoIterator<Item = T>, is_internal: bool) {
    notes.into_iter().for_each(note);
    if is_internal {
        note("please report this, with the input and the command line");
    }
}

/// Writes rendered diagnostics to standard error; on a terminal the severity of each line is coloured, unless `NO_COLOR` is
/// set.
pub fn diagnostics(text: &str) {
    let mut stream = anstream::stderr().lock();
    for line in text.split_inclusive('\n') {
        let _ = match severity(line) {
            None => write!(stream, "{line}"),
            Some((at, word, style)) => {
                let (before, after) = (&line[..at], &line[at + word.len()..]);
                write!(stream, "{before}{style}{word}{style:#}{after}")
            }
        };
    }
}

/// The position of the severity in a line of a diagnostic: at its beginning or after a location.
fn severity(line: &str) -> Option<(usize, &'static str, Style)> {
    let severities = [
        ("error:", AnsiColor::Red),
        ("warning:", AnsiColor::Yellow),
        ("remark:", AnsiColor::Cyan),
        ("note:", AnsiColor::Cyan),
    ];
    let found = severities.iter().filter_map(|(word, colour)| {
        let at = line.find(word)?;
        let is_alone = at == 0 || line[..at].ends_with(": ");
        is_alone.then_some((at, *word, colour.on_default().bold()))
    });
    found.min_by_key(|(at, ..)| *at)
}

fn whole(stream: &mut impl Write, bytes: &[u8]) -> Result<(), ReportError> {
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_severity_is_what_stands_alone_or_behind_a_location() {
        let word = |line| severity(line).map(|(at, word, _)| (at, word));
        assert_eq!(word("error: no such file"), Some((0, "error:")));
        assert_eq!(word("a.mlir:3:1: note: see error: above"), Some((12, "note:")));
        assert_eq!(word("  %y = \"an error: in text\""), None);
    }

    /// A stream that fails when it is flushed, as a buffered stream does.
    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_full_disk_is_an_error_and_a_closed_pipe_is_not() {
        let error = whole(&mut Failing(io::ErrorKind::StorageFull), b"report").unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot write to standard output: no storage space"
        );
        whole(&mut Failing(io::ErrorKind::BrokenPipe), b"report").unwrap();
    }
}
