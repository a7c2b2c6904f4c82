//! What can end a run, and with which exit code.

use norma_bundle::manifest::ManifestError;
use norma_command_line::RunOptionsError;
use norma_command_line::output::ReportError;
use norma_oracle::OracleError;
use norma_oracle::outputs::OutputsError;
use norma_oracle::problem::BindError;
use thiserror::Error;

use crate::driver::DriverError;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum Failure {
    /// The manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The request does not fit the bundle.
    #[error("{0}")]
    Request(String),
    /// A launch's expression has no value.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The function, sizes, strides or scalars do not fit the bundle.
    #[error(transparent)]
    Options(#[from] RunOptionsError),
    /// What the function computes cannot be evaluated.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// The outputs cannot be written.
    #[error(transparent)]
    Outputs(#[from] OutputsError),
    /// The report cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The bundle has nothing for the device.
    #[error("{0}")]
    Target(String),
    /// The driver or the device failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

impl Failure {
    /// 1 for what went wrong on the device, 2 for what was asked and a report that
    /// cannot be written, 3 where there is no device to run on.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Driver(DriverError::NoDriver(_) | DriverError::NoDevice(_)) | Failure::Target(_) => 3,
            Failure::Driver(DriverError::Call { .. }) => 1,
            Failure::Manifest(_)
            | Failure::Request(_)
            | Failure::Bind(_)
            | Failure::Options(_)
            | Failure::Oracle(_)
            | Failure::Outputs(_)
            | Failure::Report(_) => 2,
        }
    }
}
