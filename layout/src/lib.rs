//! Linear layouts over GF(2): how a tile's elements lie in registers, lanes, warps and CTAs.
//!
//! A layout is a linear map over GF(2) from the bits of a hardware index (register, lane, warp, block) to the bits of
//! a tile coordinate. It is stored as the images of the unit vectors, its *bases*: the coordinate held at an index is
//! the XOR of the bases of the index's set bits. One representation covers blocked, sliced, replicated and swizzled
//! layouts, so every question the lowering asks (vector width, reduction plan, conversion, bank conflicts) is linear
//! algebra on small bit matrices and is written once.
//!
//! Sources: Zhou et al., "Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2",
//! arXiv:2505.23819, and Triton's `LinearLayout`, whose meaning of blocked and sliced layouts is followed here except
//! that no layout made here repeats an element within a thread's registers.
//!
//! | file | question |
//! |---|---|
//! | [`bits`] | Gaussian elimination on bit vectors |
//! | [`linear`] | the layout itself: apply, invert, product, compose, replication |
//! | [`blocked`] | layouts given by sizes per thread, warp and CTA |
//! | [`slice`] | dropping an axis and broadcasting back |
//! | [`reduction`] | which registers, lanes, warps and CTAs a reduction combines |
//! | [`vectorize`] | how wide a memory access may be |
//! | [`conversion`] | how far data moves between two layouts |
//! | [`address`] | a thread's coordinate as shifts, masks and per-register constants |
//! | [`shared`] | shared-memory layouts and their bank conflicts |

pub mod address;
pub mod bits;
pub mod blocked;
pub mod conversion;
mod error;
pub mod linear;
pub mod reduction;
#[cfg(test)]
mod sampling;
pub mod shared;
pub mod slice;
pub mod vectorize;

pub use address::{OffsetSplit, StridedTerm};
pub use blocked::BlockedParams;
pub use conversion::{Conversion, ConversionLevel};
pub use error::LayoutError;
pub use linear::{Basis, HardwareDim, HardwareIndex, InverseLayout, LinearLayout};
pub use reduction::ReductionPlan;
pub use shared::{BankReport, OffsetMap, Padding, SharedLayout, Swizzle};
pub use slice::Slice;
