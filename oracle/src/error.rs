//! Why the oracle has no answer.

use norma_bundle::expression::EvaluateError;
use thiserror::Error;

use crate::program::access::AccessError;
use crate::program::operation::OperationError;

/// Why what a function computes cannot be evaluated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OracleError {
    /// A size has no value.
    #[error("in the definition: {0}")]
    Size(#[from] EvaluateError),
    /// An extent is negative.
    #[error("in the definition: expected extents of at least 0, got {0}")]
    Extent(i64),
    /// A statement computes a tensor of another shape than the declared one.
    #[error("in the definition: expected '{tensor}' of shape {expected:?}, got {got:?}")]
    Shape {
        /// The tensor.
        tensor: String,
        /// Its shape.
        expected: Vec<i64>,
        /// The shape that the statement computes.
        got: Vec<i64>,
    },
    /// An operation has no value.
    #[error("in step {step} of the definition's program: {source}")]
    Operation {
        /// The step's index.
        step: usize,
        /// Why.
        source: OperationError,
    },
    /// Steps disagree on whether a value is a float or an integer, which validation of the manifest does not detect.
    #[error(
        "in step {0} of the definition's program: expected operands of one kind, all float or all integer"
    )]
    Kind(usize),
    /// A read or write lies outside of its tensor, or one of its coordinates has no value.
    #[error("in the definition, tensor '{tensor}': {source}")]
    Access {
        /// The tensor.
        tensor: String,
        /// Why.
        source: AccessError,
    },
    /// The caller did not bind a tensor, or its memory ends too early.
    #[error("the definition needs '{0}', which is not bound to enough memory")]
    Unbound(String),
    /// The oracle has no formula for a named op, or it is used in a way that its definition does not allow.
    #[error("in the definition, op '{op}': {message}")]
    Named {
        /// The op.
        op: String,
        /// A message that says what was expected.
        message: String,
    },
}
