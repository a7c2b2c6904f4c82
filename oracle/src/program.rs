//! Evaluation of scalar programs: the kernel form, walked point by point in f64.

pub mod access;
mod combine;
pub mod evaluate;
mod functions;
mod gather;
pub mod grid;
mod guards;
mod nth;
pub mod operation;
mod scan;
mod values;

pub use evaluate::Evaluator;
