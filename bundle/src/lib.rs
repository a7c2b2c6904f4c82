//! The ahead-of-time bundle: the manifest, size expressions, and the definitions of what functions compute.
//!
//! This crate depends on neither MLIR nor a GPU. So the compiler and the launchers share its types, and a launcher stays
//! small. `README.md` describes the format.

pub mod candidates;
pub mod condition;
pub mod content;
pub mod cubin;
pub mod definition;
pub mod derivative;
pub mod element;
pub mod expression;
pub mod manifest;
mod number;
pub mod program;
pub mod ptx;
pub mod scalar_op;

pub use candidates::Candidates;
pub use cubin::Cubin;
pub use definition::Definition;
pub use element::{Element, RANGE_OF_F32, is_in_range_of_f32};
pub use expression::Expression;
pub use manifest::{Manifest, Part};
pub use program::Program;
pub use scalar_op::ScalarOp;
