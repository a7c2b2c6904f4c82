//! The pipeline, targets, diagnostics, code emission and bundle writer.
//!
//! This crate knows no command line: tools turn their arguments into options of this crate, and its errors
//! into exit codes.

pub mod emit;
pub mod error;
pub mod registry;
pub mod target;

pub use error::{Error, Kind, Result};
pub use target::Target;
