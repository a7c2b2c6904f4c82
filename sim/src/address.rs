//! The layout of addresses: a pointer alone determines which memory it points to.
//!
//! - Shared memory of the own CTA is at its byte offset. Shared memory of the CTA of rank r in the cluster is at
//!   `(r + 1) << 24 | offset`, which fits the 32 bits that `mapa` and `st.async` use, as on the hardware, where the
//!   cluster's window contains the CTA's own.
//! - A generic pointer to either is the same plus [`SHARED_WINDOW`].
//! - Global buffer i begins at or just after `(i + 1) << 40`, so that running off one buffer never reaches another.
//! - Kernel parameters begin at [`PARAMETERS`], a thread's own memory at [`LOCAL`].

/// The number of low bits of a shared address that are the offset in a CTA's memory.
pub const SHARED_OFFSET_BITS: u32 = 24;
/// What a generic pointer adds to a shared address.
pub const SHARED_WINDOW: u64 = 1 << 36;
/// Log2 of the distance between global buffers, in bytes.
pub const BUFFER_BITS: u32 = 40;
/// Where kernel parameters begin; parameter i is at `PARAMETERS + i * PARAMETER_STRIDE`.
pub const PARAMETERS: u64 = 1 << 60;
/// The distance between kernel parameters, in bytes.
pub const PARAMETER_STRIDE: u64 = 4096;
/// Where a thread's own memory begins.
pub const LOCAL: u64 = 1 << 61;

/// The memory that an address points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Shared memory of a CTA: its rank in the cluster, or `None` for the own CTA.
    Shared {
        /// The rank.
        rank: Option<u32>,
        /// Bytes from the start of the CTA's shared memory.
        offset: u64,
    },
    /// A global buffer by its index; the offset may lie outside of it, and be negative.
    Global {
        /// The index.
        buffer: usize,
        /// Bytes from `(buffer + 1) << 40`, before the buffer's own start is subtracted.
        offset: i64,
    },
    /// A kernel parameter.
    Parameter {
        /// Its index.
        index: usize,
        /// Bytes from its start.
        offset: u64,
    },
    /// A thread's own memory.
    Local {
        /// Bytes from its start.
        offset: u64,
    },
    /// No memory.
    Nowhere,
}

/// Decodes a shared address, of the own CTA or of the cluster's window.
pub fn shared(address: u64) -> Place {
    let rank = address >> SHARED_OFFSET_BITS;
    if rank > 16 {
        return Place::Nowhere;
    }
    Place::Shared {
        rank: (rank as u32).checked_sub(1),
        offset: address & ((1 << SHARED_OFFSET_BITS) - 1),
    }
}

/// Maps a shared address to the same offset in the CTA of that rank, as an address of the cluster's window (`mapa`).
pub fn map_to_cta(address: u64, rank: u32) -> u64 {
    let offset = address & ((1 << SHARED_OFFSET_BITS) - 1);
    (u64::from(rank) + 1) << SHARED_OFFSET_BITS | offset
}

/// Decodes an address of global memory.
///
/// An address less than half a slot below a buffer is taken for one of that buffer, with a negative offset.
pub fn global(address: u64) -> Place {
    let slot = (address.wrapping_add(1 << (BUFFER_BITS - 1))) >> BUFFER_BITS;
    match usize::try_from(slot) {
        Ok(slot) if (1..1 << 16).contains(&slot) => Place::Global {
            buffer: slot - 1,
            offset: address.wrapping_sub((slot as u64) << BUFFER_BITS) as i64,
        },
        _ => Place::Nowhere,
    }
}

/// Decodes a generic address.
pub fn generic(address: u64) -> Place {
    if address >= LOCAL {
        Place::Local {
            offset: address - LOCAL,
        }
    } else if address >= PARAMETERS {
        Place::Parameter {
            index: ((address - PARAMETERS) / PARAMETER_STRIDE) as usize,
            offset: (address - PARAMETERS) % PARAMETER_STRIDE,
        }
    } else if (SHARED_WINDOW..SHARED_WINDOW + (32 << SHARED_OFFSET_BITS)).contains(&address) {
        shared(address - SHARED_WINDOW)
    } else {
        global(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_near_a_buffer_belong_to_it() {
        let base = 3u64 << BUFFER_BITS;
        assert_eq!(global(base), Place::Global { buffer: 2, offset: 0 });
        assert_eq!(
            global(base - 2),
            Place::Global {
                buffer: 2,
                offset: -2
            }
        );
        assert_eq!(generic(base + 7), Place::Global { buffer: 2, offset: 7 });
        assert_eq!(global(12), Place::Nowhere);
    }

    #[test]
    fn the_cluster_window_contains_the_own_memory() {
        let own = Place::Shared {
            rank: None,
            offset: 40,
        };
        let other = Place::Shared {
            rank: Some(1),
            offset: 40,
        };
        assert_eq!(shared(40), own);
        assert_eq!(shared(2 << SHARED_OFFSET_BITS | 40), other);
        assert_eq!(generic(SHARED_WINDOW + 40), own);
        assert_eq!(shared(1 << 40), Place::Nowhere);
    }
}
