//! Errors, in three kinds that callers treat differently: the input is wrong, the input asks for something that this compiler
//! or target does not support, or the compiler itself is at fault.
//!
//! Problems in the IR are reported as located MLIR diagnostics. The error that follows them only names the stage that failed,
//! and has [`Error::is_diagnosed`] set, so that nothing is reported twice.

use std::fmt;

/// Who has to act on an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The input, an option or the machine's set-up is wrong.
    User,
    /// The input is right, but asks for what is not supported; the message says what is.
    Unsupported,
    /// The compiler is at fault.
    Internal,
}

/// An error of any stage of the compiler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    kind: Kind,
    message: String,
    notes: Vec<String>,
    diagnosed: bool,
}

/// A result of any stage of the compiler.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn new(kind: Kind, message: String) -> Self {
        Self {
            kind,
            message,
            notes: Vec::new(),
            diagnosed: false,
        }
    }

    /// An error that the user can fix.
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(Kind::User, message.into())
    }

    /// A request that is understood but not supported.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, message.into())
    }

    /// A fault of the compiler.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message.into())
    }

    /// Adds a line that says where to look or what to do.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Turns the error into the user's: the text that failed was written by the user, not by the compiler.
    #[must_use]
    pub fn of_user(mut self) -> Self {
        self.kind = Kind::User;
        self
    }

    /// Marks the cause as already reported through the context's diagnostic handler.
    #[must_use]
    pub fn diagnosed(mut self) -> Self {
        self.diagnosed = true;
        self
    }

    /// Who has to act.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The lines that say where to look or what to do.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether located diagnostics have already reported the cause.
    pub fn is_diagnosed(&self) -> bool {
        self.diagnosed
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == Kind::Internal {
            formatter.write_str("internal compiler error: ")?;
        }
        formatter.write_str(&self.message)
    }
}
