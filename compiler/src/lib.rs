//! The pipeline, targets, diagnostics, code emission and bundle writer.
//!
//! This crate knows no command line: tools turn their arguments into options of this crate, and its errors
//! into exit codes.

pub mod bundle;
pub mod candidates;
pub mod compile;
pub mod emit;
pub mod error;
mod left_out;
pub mod level;
mod located_text;
pub mod options;
pub mod pipeline;
pub mod preset;
pub mod provenance;
pub mod registry;
mod schedules;
pub mod timing;

pub use norma_dialects::named_op;
pub use norma_targets as target;

pub use error::{Error, Kind, Result};
pub use level::Level;
pub use norma_passes::FpContract;
pub use options::CompileOptions;
pub use target::Target;
