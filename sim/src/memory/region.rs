//! A piece of memory: its bytes, which of them hold a value, and the accesses that later ones may race with.
//!
//! A lane's access is one call, [`Region::load`] or [`Region::store`], of at most 16 bytes. An asynchronous copy takes
//! two steps: [`Region::note_read`] and [`Region::note_write`] when it is issued, from when on other accesses may race
//! with it, and [`Region::place`] when it lands.

use std::ops::Range;

use super::initialized::Initialized;
use crate::race::{Accessor, Conflict, Shadow};
use crate::splitmix;

/// The most bytes that one access moves; a wider one of a lane is made in parts.
pub const WIDEST: usize = 16;

/// A contiguous piece of memory.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// The bytes, and [`WIDEST`] more so that every access can be read as if it were the widest.
    bytes: Vec<u8>,
    initialized: Initialized,
    /// Absent for memory that is only read.
    shadow: Option<Shadow>,
}

/// The ways in which an access can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does not lie within the region.
    OutOfBounds,
    /// It conflicts with an earlier access.
    Conflict(Conflict),
    /// It reads a byte that nobody wrote.
    Uninitialized {
        /// The first such byte.
        offset: usize,
    },
}

impl Region {
    /// Memory that nobody wrote yet.
    pub fn uninitialized(bytes: usize, seed: u64) -> Self {
        let mut region = Self {
            bytes: vec![0; bytes + WIDEST],
            initialized: Initialized::new(bytes, false),
            shadow: Some(Shadow::new(bytes)),
        };
        region.poison(0..bytes, seed);
        region
    }

    /// Memory that holds values, and may be written.
    pub fn filled(bytes: Vec<u8>) -> Self {
        Self {
            shadow: Some(Shadow::new(bytes.len())),
            ..Self::constant(bytes)
        }
    }

    /// Memory that holds values and is never written, so that reads of it conflict with nothing.
    pub fn constant(mut bytes: Vec<u8>) -> Self {
        let initialized = Initialized::new(bytes.len(), true);
        bytes.resize(bytes.len() + WIDEST, 0);
        Self {
            bytes,
            initialized,
            shadow: None,
        }
    }

    /// Its size in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len().saturating_sub(WIDEST)
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// The ranges of bytes that hold a value, in order.
    pub fn initialized(&self) -> impl Iterator<Item = Range<usize>> {
        self.initialized.ranges()
    }

    /// Forgets all accesses, as at the end of a launch.
    pub fn forget_accesses(&mut self) {
        if let Some(shadow) = &mut self.shadow {
            shadow.clear();
        }
    }

    /// Reads up to 16 bytes for a lane, little-endian. Returns what memory holds even where the access is a fault, and
    /// 0 out of bounds.
    #[inline]
    pub fn load(&mut self, offset: usize, bytes: usize, by: &Accessor<'_>) -> (u128, Option<Fault>) {
        let Some(value) = self.peek(offset, bytes) else {
            return (0, Some(Fault::OutOfBounds));
        };
        (
            value,
            self.note_within(offset..offset + bytes, by, Shadow::read, true),
        )
    }

    /// Writes up to 16 bytes for a lane, little-endian.
    #[inline]
    pub fn store(&mut self, offset: usize, bytes: usize, value: u128, by: &Accessor<'_>) -> Option<Fault> {
        if !self.poke(offset, bytes, value) {
            return Some(Fault::OutOfBounds);
        }
        self.note_within(offset..offset + bytes, by, Shadow::write, false)
    }

    /// Reads up to 16 bytes for a lane and replaces them atomically; returns the old value.
    pub fn update(
        &mut self,
        offset: usize,
        bytes: usize,
        by: &Accessor<'_>,
        replace: impl FnOnce(u128) -> u128,
    ) -> (u128, Option<Fault>) {
        let Some(old) = self.peek(offset, bytes) else {
            return (0, Some(Fault::OutOfBounds));
        };
        let fault = self.note_within(offset..offset + bytes, by, Shadow::atomic, true);
        self.poke(offset, bytes, replace(old));
        (old, fault)
    }

    /// Records that a read of any size begins; its bytes are taken later.
    pub fn note_read(&mut self, range: Range<usize>, by: &Accessor<'_>) -> Option<Fault> {
        if range.end > self.len() {
            return Some(Fault::OutOfBounds);
        }
        self.note_within(range, by, Shadow::read, true)
    }

    /// Records that a write of any size begins; its bytes are placed later.
    pub fn note_write(&mut self, range: Range<usize>, by: &Accessor<'_>) -> Option<Fault> {
        if range.end > self.len() {
            return Some(Fault::OutOfBounds);
        }
        self.note_within(range, by, Shadow::write, false)
    }

    /// Records that an update of any size begins, which reads and writes each element atomically.
    pub fn note_update(&mut self, range: Range<usize>, by: &Accessor<'_>) -> Option<Fault> {
        if range.end > self.len() {
            return Some(Fault::OutOfBounds);
        }
        self.note_within(range, by, Shadow::atomic, true)
    }

    /// Writes bytes without checking for conflicting accesses; those out of bounds are dropped.
    pub fn place(&mut self, offset: usize, bytes: &[u8]) {
        let end = self.len().min(offset + bytes.len());
        if let Some(place) = self.bytes.get_mut(offset..end) {
            place.copy_from_slice(&bytes[..place.len()]);
            self.initialized.set(offset..end);
        }
    }

    /// Up to 16 bytes as memory holds them, without checking for conflicting accesses; `None` out of bounds.
    #[inline]
    pub fn peek(&self, offset: usize, bytes: usize) -> Option<u128> {
        if bytes > WIDEST || offset.checked_add(bytes)? > self.len() {
            return None;
        }
        let window = self.bytes.get(offset..offset + WIDEST)?;
        let value = u128::from_le_bytes(window.try_into().ok()?);
        Some(if bytes == WIDEST {
            value
        } else {
            value & ((1 << (8 * bytes)) - 1)
        })
    }

    /// Writes up to 16 bytes without checking for conflicting accesses; returns whether they are in bounds.
    #[inline]
    pub fn poke(&mut self, offset: usize, bytes: usize, value: u128) -> bool {
        if bytes > WIDEST || offset.checked_add(bytes).is_none_or(|end| end > self.len()) {
            return false;
        }
        let value = value.to_le_bytes();
        let place = &mut self.bytes[offset..offset + bytes];
        // With a constant size, each copy compiles to one store.
        match bytes {
            2 => place.copy_from_slice(&value[..2]),
            4 => place.copy_from_slice(&value[..4]),
            8 => place.copy_from_slice(&value[..8]),
            16 => place.copy_from_slice(&value),
            _ => place.copy_from_slice(&value[..bytes]),
        }
        self.initialized.set(offset..offset + bytes);
        true
    }

    /// Fills bytes with garbage, as if they had never been written.
    fn poison(&mut self, range: Range<usize>, seed: u64) {
        let start = range.start;
        for (index, chunk) in self.bytes[range].chunks_mut(8).enumerate() {
            let garbage = garbage(seed, (start + 8 * index) as u64).to_le_bytes();
            chunk.copy_from_slice(&garbage[..chunk.len()]);
        }
    }

    #[inline]
    fn note_within(
        &mut self,
        range: Range<usize>,
        by: &Accessor<'_>,
        note: impl FnOnce(&mut Shadow, Range<usize>, &Accessor<'_>) -> Option<Conflict>,
        reads: bool,
    ) -> Option<Fault> {
        let shadow = self.shadow.as_mut()?;
        if let Some(conflict) = note(shadow, range.clone(), by) {
            return Some(Fault::Conflict(conflict));
        }
        if reads {
            let offset = self.initialized.first_unset(range)?;
            return Some(Fault::Uninitialized { offset });
        }
        None
    }
}

/// The garbage at a place of uninitialized memory; another seed gives other bits.
fn garbage(seed: u64, place: u64) -> u64 {
    splitmix::mix(seed ^ place.wrapping_add(1).wrapping_mul(splitmix::STEP))
}
