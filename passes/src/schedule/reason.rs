//! Why a schedule cannot be applied.

use std::fmt::Display;

use melior::ir::Location;

use crate::mlir::diagnostic::Diagnostic;

/// Why a mapping cannot be applied to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It does not fit the kernel.
    Wrong(String),
    /// No pass applies it yet.
    Unsupported(String),
}

impl Reason {
    /// A [`Self::Wrong`].
    pub fn wrong(message: impl Display) -> Self {
        Self::Wrong(message.to_string())
    }

    /// A [`Self::Unsupported`].
    pub fn unsupported(message: impl Display) -> Self {
        Self::Unsupported(message.to_string())
    }

    /// As an error at the kernel.
    pub fn at<'c>(self, location: Location<'c>) -> Diagnostic<'c> {
        match self {
            Self::Wrong(message) => Diagnostic::user(location, message),
            Self::Unsupported(message) => Diagnostic::unsupported(location, message),
        }
    }
}
