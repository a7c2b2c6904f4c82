//! Errors of loading and launching.

use norma_bundle::expression::EvaluateError;
use norma_bundle::manifest::{FunctionError, ManifestError};
use thiserror::Error;

use crate::driver::DriverError;

/// Why a bundle cannot be loaded, or a function not launched.
#[derive(Debug, Error)]
pub enum Error {
    /// The arguments of a call are not what the kernels are made for.
    #[error("cannot launch '{function}': {message}")]
    Call {
        /// The function.
        function: String,
        /// What was expected, and what was passed.
        message: String,
    },
    /// A manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The bundle has no such function.
    #[error(transparent)]
    Function(#[from] FunctionError),
    /// A file of the bundle is missing or does not match its manifest, or the bundle needs something that launchers do not
    /// support.
    #[error("{0}")]
    Bundle(String),
    /// The bundle has no code for the device.
    #[error("{0}")]
    Target(String),
    /// The driver or the device failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// An error in a call, before the function's name is added.
#[derive(Debug)]
pub(crate) enum CallError {
    /// An argument is not one that the kernels are made for.
    Argument(String),
    /// The driver failed.
    Driver(DriverError),
}

impl From<EvaluateError> for CallError {
    fn from(error: EvaluateError) -> Self {
        CallError::Argument(error.to_string())
    }
}

impl From<DriverError> for CallError {
    fn from(error: DriverError) -> Self {
        CallError::Driver(error)
    }
}

impl CallError {
    /// Turns it into the error of a call of `function`.
    pub(crate) fn of(self, function: &str) -> Error {
        match self {
            CallError::Argument(message) => Error::Call {
                function: function.to_owned(),
                message,
            },
            CallError::Driver(error) => Error::Driver(error),
        }
    }
}
