//! The ahead-of-time bundle: manifest, size expressions, and the scalar program's reference evaluator.
//!
//! This crate knows neither MLIR nor a GPU, so that what the compiler writes and what a launcher reads are the
//! same types, and a launcher stays small. `README.md` describes the format.

pub mod access;
mod combine;
pub mod element;
pub mod evaluate;
pub mod expression;
pub mod grid;
pub mod manifest;
pub mod operation;
pub mod program;
pub mod tolerance;

pub use element::Element;
pub use evaluate::Evaluator;
pub use expression::Expression;
pub use manifest::Manifest;
pub use program::Program;
