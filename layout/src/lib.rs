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
//! A row of 2048 elements over a CTA of 4 warps, in 16-byte pieces of bf16:
//!
//! ```
//! use norma_layout::{BlockedParams, HardwareDim, LinearLayout};
//!
//! let params = BlockedParams {
//!     size_per_thread: vec![1, 8],
//!     threads_per_warp: vec![1, 32],
//!     warps_per_cta: vec![1, 4],
//!     ctas_per_cluster: vec![1, 1],
//!     order: vec![1, 0],
//! };
//! let layout = LinearLayout::blocked(&params, &[1, 2048])?;
//! assert_eq!(layout.num_registers(), 16);
//! assert_eq!(layout.contiguous_elements(&[1]), 8);
//!
//! let plan = layout.reduction(1)?;
//! assert_eq!(plan.lane_shuffles, [1, 2, 4, 8, 16]);
//! assert_eq!(plan.warps(), 4);
//! assert_eq!(layout.slice(1)?.layout.free_mask(HardwareDim::Lane), 31);
//! # Ok::<(), norma_layout::LayoutError>(())
//! ```
//!
//! | file | question |
//! |---|---|
//! | [`bits`] | Gaussian elimination on bit vectors |
//! | [`linear`] | the layout itself: apply, invert, product, compose, replication |
//! | [`blocked`] | layouts given by sizes per thread, warp and CTA |
//! | [`mod@slice`] | dropping an axis and broadcasting back |
//! | [`reduction`] | which registers, lanes, warps and CTAs a reduction combines |
//! | [`scan`] | which registers, lanes and warps a scan takes one after the other |
//! | [`contiguous`] | how many registers of a thread hold neighbouring elements, which bounds the width of an access |
//! | [`coalesce`] | which layout suits an access, and the sectors that it touches |
//! | [`conversion`] | how far data moves between two layouts |
//! | [`warp_exchange`] | a conversion within a warp as selects and shuffles |
//! | [`memory_exchange`] | a conversion through shared memory without bank conflicts |
//! | [`address`] | a thread's coordinate as shifts, masks and per-register constants |
//! | [`shared`] | shared-memory layouts and their bank conflicts |
//! | [`mod@tensor_swizzle`] | where the copy engine's swizzles leave a tile |
//! | [`cooperative_copy`] | how the threads of a CTA copy a tile to or from shared memory |

pub mod address;
pub mod bits;
pub mod blocked;
pub mod coalesce;
pub mod contiguous;
pub mod conversion;
pub mod cooperative_copy;
mod error;
pub mod linear;
pub mod memory_exchange;
pub mod reduction;
#[cfg(test)]
mod sampling;
pub mod scan;
pub mod shared;
pub mod slice;
pub mod tensor_swizzle;
pub mod warp_exchange;

pub use address::{OffsetSplit, StridedTerm};
pub use blocked::BlockedParams;
pub use conversion::{Conversion, ConversionLevel, ConversionPlan};
pub use error::LayoutError;
pub use linear::{Basis, HardwareDim, HardwareIndex, InverseLayout, LinearLayout};
pub use memory_exchange::MemoryExchange;
pub use reduction::ReductionPlan;
pub use scan::ScanStep;
pub use shared::{BankReport, OffsetMap, Padding, SharedLayout, Swizzle};
pub use slice::Slice;
pub use tensor_swizzle::tensor_swizzle;
pub use warp_exchange::{Round, Swap, WarpExchange};
