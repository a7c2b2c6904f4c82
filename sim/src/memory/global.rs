//! Global memory: buffers with names, far apart.
//!
//! A buffer lies at exactly the alignment it asks for, an odd multiple of it, so that a kernel which assumes more is
//! caught. Nothing lies next to it: an access that leaves it by a single byte is out of bounds.

use std::ops::Range;

use super::region::Region;
use crate::address::BUFFER_BITS;

/// Describes a buffer that is added to a [`Memory`].
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name in reports.
    pub name: String,
    /// What kernels may do with it.
    pub access: BufferAccess,
    /// What it holds at first.
    pub contents: Contents,
    /// The alignment of its address in bytes, a power of two. It is exact: the address is not a multiple of twice that.
    pub align: u32,
    /// Whether a kernel ahead in the stream still writes it, so that it must not be read before `griddepcontrol.wait`.
    pub pending: bool,
}

/// What kernels may do with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferAccess {
    /// Only read it.
    Input,
    /// Write results for the launcher into it.
    Output,
    /// Use it as scratch memory.
    Workspace,
}

/// What a buffer holds at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The given bytes.
    Bytes(Vec<u8>),
    /// That many bytes without a value.
    Uninitialized(usize),
}

/// The global memory of a launch.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    seed: u64,
    buffers: Vec<Placed>,
}

#[derive(Clone, Debug)]
struct Placed {
    name: String,
    access: BufferAccess,
    pending: bool,
    base: u64,
    region: Region,
}

impl Memory {
    /// A memory without buffers. The seed determines the garbage in memory that nobody wrote.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            buffers: Vec::new(),
        }
    }

    /// Adds a buffer and gives its index.
    pub fn add(&mut self, buffer: Buffer) -> usize {
        let index = self.buffers.len();
        let align = u64::from(buffer.align.max(1)).next_power_of_two();
        let region = match (buffer.contents, buffer.access) {
            (Contents::Bytes(bytes), BufferAccess::Input) => Region::constant(bytes),
            (Contents::Bytes(bytes), _) => Region::filled(bytes),
            (Contents::Uninitialized(bytes), _) => {
                Region::uninitialized(bytes, self.seed.wrapping_add(index as u64))
            }
        };
        self.buffers.push(Placed {
            name: buffer.name,
            access: buffer.access,
            pending: buffer.pending,
            base: ((index as u64 + 1) << BUFFER_BITS) + align,
            region,
        });
        index
    }

    /// Marks a buffer as still being written by a kernel ahead in the stream.
    pub fn set_pending(&mut self, index: usize) {
        self.buffers[index].pending = true;
    }

    /// How many buffers there are. The indices that other functions take must be less.
    pub fn len(&self) -> usize {
        self.buffers.len()
    }

    /// Whether there are no buffers.
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Where a buffer begins.
    pub fn address(&self, index: usize) -> u64 {
        self.buffers[index].base
    }

    /// A buffer's name.
    pub fn name(&self, index: usize) -> &str {
        &self.buffers[index].name
    }

    /// What kernels may do with a buffer.
    pub fn access(&self, index: usize) -> BufferAccess {
        self.buffers[index].access
    }

    /// Whether a buffer must not be read before `griddepcontrol.wait`.
    pub fn pending(&self, index: usize) -> bool {
        self.buffers[index].pending
    }

    /// What a buffer holds.
    pub fn bytes(&self, index: usize) -> &[u8] {
        self.buffers[index].region.bytes()
    }

    /// The ranges of bytes of a buffer that hold a value, at first or since, in order.
    pub fn written(&self, index: usize) -> impl Iterator<Item = Range<usize>> {
        self.buffers[index].region.initialized()
    }

    /// A buffer's memory.
    pub fn region(&self, index: usize) -> &Region {
        &self.buffers[index].region
    }

    /// A buffer's memory.
    #[inline]
    pub fn region_mut(&mut self, index: usize) -> &mut Region {
        &mut self.buffers[index].region
    }

    /// Forgets all accesses, as at the end of a launch: everything that a launch does happens before the next one.
    pub fn forget_accesses(&mut self) {
        for buffer in &mut self.buffers {
            buffer.region.forget_accesses();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(align: u32, contents: Contents) -> Memory {
        let mut memory = Memory::new(1);
        for name in ["x", "y"] {
            memory.add(Buffer {
                name: name.to_string(),
                access: BufferAccess::Output,
                contents: contents.clone(),
                align,
                pending: false,
            });
        }
        memory
    }

    #[test]
    fn a_buffer_has_no_more_alignment_than_it_asks_for() {
        for align in [1, 2, 4, 16, 256] {
            let memory = memory(align, Contents::Uninitialized(8));
            assert_eq!(memory.address(1).trailing_zeros(), align.trailing_zeros());
        }
    }

    #[test]
    fn garbage_differs_between_buffers() {
        let memory = memory(16, Contents::Uninitialized(40));
        assert_ne!(memory.bytes(0), memory.bytes(1));
        assert_eq!(memory.written(0).count(), 0);
    }

    #[test]
    fn contents_count_as_written() {
        let memory = memory(16, Contents::Bytes(vec![3; 40]));
        assert_eq!(memory.bytes(1), [3; 40]);
        assert!(memory.written(1).eq(std::iter::once(0..40)));
    }
}
