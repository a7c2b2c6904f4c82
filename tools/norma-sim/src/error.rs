//! Why nothing could be simulated, by who has to act.

use thiserror::Error as ThisError;

/// Why nothing could be simulated.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The compiler refused the input, or broke down.
    #[error(transparent)]
    Compile(#[from] norma_compiler::Error),
    /// The bundle cannot be used.
    #[error(transparent)]
    Manifest(#[from] norma_bundle::manifest::ManifestError),
    /// A module holds what the simulator does not model, or is none.
    #[error(transparent)]
    Decode(#[from] norma_simulator::decode::DecodeError),
    /// A size is missing, or breaks what the kernels assume.
    #[error(transparent)]
    Bind(#[from] norma_oracle::problem::BindError),
    /// A driver would refuse the launch.
    #[error(transparent)]
    Launch(#[from] norma_simulator::LaunchError),
    /// The definition cannot be evaluated.
    #[error(transparent)]
    Oracle(#[from] norma_oracle::OracleError),
    /// The outputs of another run cannot be read.
    #[error(transparent)]
    Outputs(#[from] norma_oracle::outputs::OutputsError),
    /// What was asked for makes no sense for this bundle.
    #[error("{0}")]
    Request(String),
}

impl Error {
    /// Whether Norma is at fault, not whoever called it.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Compile(error) if error.kind() == norma_compiler::Kind::Internal)
    }
}
