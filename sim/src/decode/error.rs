//! Why a module cannot be decoded.
//!
//! Decoding goes on after a problem, so that one error lists everything in a module that is not modelled.

use std::fmt;

use thiserror::Error;

use super::op::Op;
use crate::program::Site;

/// Why a module cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The text does not parse or verify as a module.
    #[error("expected a module that parses and verifies{}", Notes(.0))]
    Syntax(Vec<String>),
    /// The module has no kernel.
    #[error(
        "expected a kernel (an `llvm.func` with `nvvm.kernel` or `gpu.kernel`), got a module without one"
    )]
    NoKernel,
    /// Ops that cannot be decoded, in the order of the module.
    #[error("{}", Lines(.0))]
    Problems(Vec<Problem>),
}

/// One op, or one PTX statement of one, that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whose fault it is.
    pub kind: ProblemKind,
    /// The op.
    pub site: Site,
    /// What is wrong with it.
    pub message: String,
}

/// Whose fault a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The program's: no device could run it.
    Invalid,
    /// The simulator's, which does not model it.
    Unsupported,
    /// The decoder's: something holds that it takes to be impossible.
    Internal,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.site.location {
            write!(f, "{location}: ")?;
        }
        if self.kind == ProblemKind::Internal {
            write!(f, "internal error: ")?;
        }
        write!(f, "'{}' op {}", self.site.op, self.message)
    }
}

struct Lines<'p>(&'p [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

struct Notes<'n>(&'n [String]);

impl fmt::Display for Notes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|note| write!(f, "\n{note}"))
    }
}

/// A problem without its op, which the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub kind: ProblemKind,
    pub message: String,
}

impl Fault {
    pub fn at(self, op: &Op<'_, '_>) -> Problem {
        Problem {
            kind: self.kind,
            site: op.site(),
            message: self.message,
        }
    }
}

/// The result of decoding a part of an op.
pub(super) type Result<T, E = Fault> = std::result::Result<T, E>;

/// Something that the simulator does not model.
pub(super) fn unsupported(message: impl Into<String>) -> Fault {
    Fault {
        kind: ProblemKind::Unsupported,
        message: message.into(),
    }
}

/// Something that no device could run.
pub(super) fn invalid(message: impl Into<String>) -> Fault {
    Fault {
        kind: ProblemKind::Invalid,
        message: message.into(),
    }
}

/// Something that MLIR's verifier rules out.
pub(super) fn internal(message: impl fmt::Display) -> Fault {
    Fault {
        kind: ProblemKind::Internal,
        message: message.to_string(),
    }
}

impl From<melior::Error> for Fault {
    fn from(error: melior::Error) -> Self {
        internal(error)
    }
}
