//! Runs kernels of level `nvvm` on the CPU, as adversely as the PTX memory model allows, and reports what they do
//! wrong.
//!
//! [`decode::program`] turns a module of MLIR's LLVM and NVVM dialects into a [`program::Program`]; [`run()`] executes a
//! [`Launch`] of one of its kernels on a [`Memory`] and gives an [`Outcome`]: findings, counts, and the memory as the
//! kernel left it. See `sim/README.md` for what is modelled and how.

mod address;
pub mod arithmetic;
mod copy;
pub mod decode;
pub mod finding;
pub mod launch;
mod machine;
mod mbarrier;
pub mod memory;
pub mod mutation;
pub mod options;
pub mod program;
mod race;
mod splitmix;
pub mod traffic;
mod warp_exchange;

pub use finding::{Finding, FindingKind, MemoryPlace, Note, ThreadPlace};
pub use launch::{Argument, Launch, TensorMap};
pub use machine::{LaunchError, Outcome, Progress, run};
pub use memory::{Buffer, BufferAccess, Contents, Memory};
pub use options::{Approximation, Options};
