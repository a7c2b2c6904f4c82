//! Plans asynchronous copies: checks the rules of the instruction, and cuts the bytes that it moves into parts.
//!
//! Planning is pure: numbers in, a [`CopyPlan`] or a [`CopyFault`] out. A plan depends neither on the contents of
//! memory nor on time; the machine moves the bytes later, one part at a time, in any order.

mod bulk;
mod tensor;

pub use bulk::{bulk, cp_async};
pub use tensor::{check_map, tensor};

use thiserror::Error;

/// The most parts that a plain copy is cut into: enough that a reader which does not wait sees a copy half done, few
/// enough to be quick.
pub const LARGEST_PART_COUNT: usize = 32;

/// A copy, cut into parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// The parts, in the order in which the instruction walks the destination. The bytes of a part land together. The
    /// parts of a load have as many bytes in all as its completion counts, even if a box extends beyond the tensor.
    pub parts: Vec<Part>,
}

/// Bytes that are consecutive on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The address they are read from; `None` if zeros are written.
    pub source: Option<u64>,
    /// The address they are written to.
    pub destination: u64,
    /// The number of bytes.
    pub bytes: u32,
}

/// A rule of its instruction that a copy breaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum CopyFault {
    #[error("expected a size that is a multiple of 16 bytes, got {bytes}")]
    BulkSize { bytes: u64 },
    #[error("expected a size of 4, 8 or 16 bytes, got {bytes}")]
    AsyncSize { bytes: u64 },
    #[error("expected at most the {bytes} bytes that are written to be read, got {source_bytes}")]
    SourceSize { source_bytes: u64, bytes: u64 },
    #[error("expected a {side} address that is a multiple of {align}, got {address:#x}")]
    Misaligned {
        side: &'static str,
        address: u64,
        align: u64,
    },
    #[error("expected one coordinate for each of the tensor map's {rank} dims, got {coordinates}")]
    CoordinateCount { rank: usize, coordinates: usize },
    #[error("expected a tensor map of 1 to 5 dims with as many box extents and one stride less, got {map}")]
    MapRank { map: String },
    #[error("expected a tensor map whose strides are multiples of 16 bytes below 2^40, got {stride}")]
    MapStride { stride: u64 },
    #[error("expected a tensor map whose extents are 1 to 2^32, got {extent}")]
    MapExtent { extent: u64 },
    #[error("expected a tensor map whose box extents are 1 to 256, got {extent}")]
    BoxExtent { extent: u32 },
    #[error("expected a box whose rows are a multiple of 16 bytes, got {bytes}")]
    BoxRow { bytes: u64 },
    #[error("expected a box whose rows are at most the {span} bytes of the swizzle, got {bytes}")]
    SwizzleRow { bytes: u64, span: u64 },
    #[error("expected a swizzle of 0 (none), 1 (32 B), 2 (64 B) or 3 (128 B), got {swizzle}")]
    Swizzle { swizzle: u32 },
}

#[cfg(test)]
impl CopyPlan {
    /// How many bytes land.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.bytes)).sum()
    }
}

fn aligned(side: &'static str, address: u64, align: u64) -> Result<(), CopyFault> {
    if address.is_multiple_of(align) {
        Ok(())
    } else {
        Err(CopyFault::Misaligned { side, address, align })
    }
}
