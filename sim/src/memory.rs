//! The memories of a kernel: bytes, which of them were ever written, and who accessed them.
//!
//! Offsets and sizes are in bytes. Reading memory that nobody wrote gives garbage that depends on the seed, so that a
//! result computed from it differs between seeds.

pub mod atomic;
pub mod global;
mod initialized;
pub mod region;
pub mod shared;

pub use global::{Buffer, BufferAccess, Contents, Memory};
pub use region::{Fault, Region, WIDEST};
pub use shared::SharedMemory;
