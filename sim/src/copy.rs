//! What an asynchronous copy moves: its bytes cut into parts, after its instruction's rules are checked.
//!
//! Planning is pure: numbers in, a [`CopyPlan`] or a [`CopyFault`] out. Neither memory's contents nor time take part;
//! the machine moves the bytes when it pleases, one landing at a time, in any order.

mod bulk;
mod tensor;

pub use bulk::{bulk, cp_async};
pub use tensor::{check_map, tensor};

use std::ops::Range;

use thiserror::Error;

/// The most landings a copy is cut into: enough for a reader that does not wait to see half of one, few enough to be
/// quick.
pub const LARGEST_LANDING_COUNT: usize = 32;

/// A copy, cut up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// What moves, in the order of the destination as the instruction walks it.
    pub parts: Vec<Part>,
    /// Which parts land at once: consecutive ranges of `parts`, none empty.
    pub landings: Vec<Range<usize>>,
    /// Bytes that completion counts: those of a whole box even where it hangs over the tensor's edge.
    pub transaction_bytes: u64,
}

/// Bytes that are consecutive on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The address they are read at; `None` where zeros are written.
    pub source: Option<u64>,
    /// The address they are written at.
    pub destination: u64,
    /// How many.
    pub bytes: u32,
}

/// Why a copy is not one that its instruction can make.
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

impl CopyPlan {
    /// Groups parts, in order, to landings of about equal numbers of bytes.
    fn of(parts: Vec<Part>, transaction_bytes: u64) -> Self {
        let total: u64 = parts.iter().map(|part| u64::from(part.bytes)).sum();
        let enough = total.div_ceil(LARGEST_LANDING_COUNT as u64);
        let mut landings = Vec::with_capacity(LARGEST_LANDING_COUNT);
        let (mut start, mut bytes) = (0, 0);
        for (index, part) in parts.iter().enumerate() {
            bytes += u64::from(part.bytes);
            if bytes >= enough {
                landings.push(start..index + 1);
                (start, bytes) = (index + 1, 0);
            }
        }
        if start < parts.len() {
            landings.push(start..parts.len());
        }
        Self {
            parts,
            landings,
            transaction_bytes,
        }
    }

    /// The parts of each landing.
    pub fn pieces(&self) -> impl ExactSizeIterator<Item = &[Part]> {
        self.landings.iter().map(|landing| &self.parts[landing.clone()])
    }
}

fn aligned(side: &'static str, address: u64, align: u64) -> Result<(), CopyFault> {
    if address.is_multiple_of(align) {
        Ok(())
    } else {
        Err(CopyFault::Misaligned { side, address, align })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landings_cover_all_parts_in_order() {
        for count in [0, 1, 5, 31, 32, 33, 100, 512] {
            let parts: Vec<Part> = (0..count)
                .map(|index| Part {
                    source: Some(index * 16),
                    destination: index * 16,
                    bytes: 16,
                })
                .collect();
            let plan = CopyPlan::of(parts.clone(), count * 16);
            assert!(plan.landings.len() <= LARGEST_LANDING_COUNT);
            assert!(
                plan.landings.len() as u64 >= count.min(16),
                "{count} parts land in {}",
                plan.landings.len()
            );
            assert_eq!(plan.pieces().flatten().copied().collect::<Vec<_>>(), parts);
            assert!(plan.pieces().all(|piece| !piece.is_empty()));
        }
    }
}
