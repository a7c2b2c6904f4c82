//! The oracle: what a function of a bundle must compute, in f64, and whether a run of its kernels computed it.
//!
//! Nothing here knows of a GPU or of MLIR. Whoever runs kernels, on a device or simulated, binds sizes to a function
//! ([`Problem`]), fills its inputs ([`memory::inputs`]), takes each kernel's launch and parameters from [`launch`], and
//! hands the memory from before and after to [`verify::verify`].

mod compare;
mod error;
pub mod evaluation;
pub mod fill;
pub mod launch;
pub mod layout;
pub mod memory;
pub mod named;
pub mod outputs;
pub mod part;
pub mod problem;
pub mod program;
mod report;
mod rounding;
mod sample;
pub mod scaled;
mod scattered;
pub mod sharded;
mod stored;
pub mod tensor;
pub mod tolerance;
pub mod verify;

pub use compare::{OutputCheck, Worst};
pub use error::OracleError;
pub use fill::Fill;
pub use problem::Problem;
pub use verify::{Verification, verify};
