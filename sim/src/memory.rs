//! The memories of a kernel: bytes, which of them were ever written, and who accessed them.
//!
//! Offsets and sizes are in bytes. Reading memory that nobody wrote gives garbage that depends on the seed, so that a
//! result computed from it differs between seeds.

pub(crate) mod atomic;
mod global;
mod initialized;
mod region;
mod shared;

pub use global::{Buffer, BufferAccess, Contents, Memory};
pub(crate) use region::{Fault, Region, WIDEST};
pub(crate) use shared::SharedMemory;
