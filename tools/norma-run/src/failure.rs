//! The failures that can end a run, and their exit codes.

use std::io;
use std::path::PathBuf;

use norma_bundle::candidates::CandidatesError;
use norma_command_line::RunOptionsError;
use norma_command_line::output::ReportError;
use norma_oracle::OracleError;
use norma_oracle::outputs::OutputsError;
use norma_oracle::problem::BindError;
use norma_runtime::DriverError;
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum Failure {
    /// The bundle cannot be used, or the driver or the device failed.
    #[error(transparent)]
    Runtime(#[from] norma_runtime::Error),
    /// An expression of a launch cannot be evaluated.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The function, sizes, strides or scalars do not fit the bundle.
    #[error(transparent)]
    Options(#[from] RunOptionsError),
    /// Timing was asked for a sharded function, whose runs are separated by a collective.
    #[error("expected one device's run to time, {}, by --function, got the sharded function '{function}'", runs.join(" or "))]
    Sharded {
        /// The function.
        function: String,
        /// Its runs.
        runs: Vec<String>,
    },
    /// The definition of the function cannot be evaluated.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// There is no list of bundles to compare.
    #[error(transparent)]
    Candidates(#[from] CandidatesError),
    /// The outputs cannot be written.
    #[error(transparent)]
    Outputs(#[from] OutputsError),
    /// The report cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The page of the report cannot be written.
    #[error("cannot write '{}': {source}", path.display())]
    Page {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file that should hold measurements of earlier runs does not.
    #[error("expected measurements as --json writes them in '{}': {why}", path.display())]
    Saved {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        Failure::Runtime(error.into())
    }
}

impl Failure {
    /// The exit code: 1 for an error on the device, 2 for a wrong request or a report that cannot be written, 3 if there is
    /// no device to run on.
    pub fn exit_code(&self) -> u8 {
        use norma_runtime::Error as Runtime;
        match self {
            Failure::Runtime(
                Runtime::Driver(DriverError::NoDriver(_) | DriverError::NoDevice(_)) | Runtime::Target(_),
            ) => 3,
            Failure::Runtime(Runtime::Driver(
                DriverError::Call { .. } | DriverError::Occupancy { .. } | DriverError::ClusterRoom { .. },
            )) => 1,
            Failure::Runtime(
                Runtime::Call { .. } | Runtime::Manifest(_) | Runtime::Function(_) | Runtime::Bundle(_),
            )
            | Failure::Bind(_)
            | Failure::Candidates(_)
            | Failure::Options(_)
            | Failure::Sharded { .. }
            | Failure::Oracle(_)
            | Failure::Outputs(_)
            | Failure::Page { .. }
            | Failure::Saved { .. }
            | Failure::Report(_) => 2,
        }
    }
}
