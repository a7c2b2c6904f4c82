//! Standard output and standard error as a program's caller sees them: a report that could not be written is an error, a
//! message that could not be written is lost, and neither is a panic.

use std::fmt::Display;
use std::io::{self, Write};

use thiserror::Error;

/// A report that did not reach standard output.
#[derive(Debug, Error)]
#[error("cannot write to standard output: {0}")]
pub struct ReportError(#[from] io::Error);

/// Writes a report to standard output. A reader that has closed the pipe has what it wanted.
///
/// # Errors
/// The output takes no more, as on a full disk.
pub fn report(bytes: &[u8]) -> Result<(), ReportError> {
    whole(&mut io::stdout().lock(), bytes)
}

/// Writes a message to standard error. Where that takes no more nobody is left to be told.
pub fn message(message: impl Display) {
    let _ = write!(io::stderr().lock(), "{message}");
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

    /// A stream that fails once it is flushed, as a buffered one does.
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
