//! Why a function could not be simulated, grouped by who has to act.

use norma_command_line::RunOptionsError;
use norma_command_line::output::ReportError;
use thiserror::Error as ThisError;

/// Why a function could not be simulated.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The compiler refused the input, or failed.
    #[error(transparent)]
    Compile(#[from] norma_compiler::Error),
    /// The bundle cannot be used.
    #[error(transparent)]
    Manifest(#[from] norma_bundle::manifest::ManifestError),
    /// A module contains something that the simulator does not model, or is not a module.
    #[error(transparent)]
    Decode(#[from] norma_simulator::decode::DecodeError),
    /// A size or scalar of a launch is missing, or violates an assumption of the kernels.
    #[error(transparent)]
    Bind(#[from] norma_oracle::problem::BindError),
    /// A size is missing that the source of the function would say to equal another one.
    #[error("{0}")]
    Open(norma_oracle::problem::BindError),
    /// A function, size, stride or scalar is missing, or does not fit the bundle.
    #[error(transparent)]
    Options(#[from] RunOptionsError),
    /// A driver would refuse the launch.
    #[error(transparent)]
    Launch(#[from] norma_simulator::LaunchError),
    /// The definition cannot be evaluated.
    #[error(transparent)]
    Oracle(#[from] norma_oracle::OracleError),
    /// The outputs of another run cannot be read.
    #[error(transparent)]
    Outputs(#[from] norma_oracle::outputs::OutputsError),
    /// The tensors and workspaces need more memory than is allowed.
    #[error("'{name}' takes {bytes} bytes of simulated memory, and {left} are left")]
    TooLarge {
        /// The tensor or workspace.
        name: String,
        /// The bytes that it needs.
        bytes: u64,
        /// The bytes that are left after earlier ones.
        left: u64,
    },
    /// The report cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The request makes no sense for this bundle.
    #[error("{0}")]
    Request(String),
}

impl Error {
    /// The option that allows what was refused, if there is one.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { .. } => Some("--max-bytes raises the bound"),
            Self::Open(_) => {
                Some("--oracle <FILE>, the source that the module comes from, says which sizes are equal")
            }
            Self::Launch(norma_simulator::LaunchError::Ctas { .. }) => Some("--max-ctas raises the bound"),
            _ => None,
        }
    }

    /// Whether the fault is Norma's rather than the caller's.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Compile(error) if error.kind() == norma_compiler::Kind::Internal)
    }
}
