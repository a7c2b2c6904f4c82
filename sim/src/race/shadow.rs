//! Shadow memory: for every byte, the accesses that later ones are checked against.
//!
//! Bytes are grouped in cells, and cells in blocks. The cells of a block are as large as its accesses allow, 16 bytes
//! at most: an access that does not cover whole cells splits all cells of its block, and each part keeps the history.
//! So a tile that is moved 16 bytes at a time costs one cell per access, and a byte next to it is still told apart.

use std::ops::Range;

use super::access::{Access, Accessor, Conflict, ConflictKind, What};
use super::history::Cell;

/// Log2 of the bytes of a block.
const BLOCK_BITS: u32 = 9;
/// Log2 of the bytes of the largest cell: the widest access of a lane.
const CELL_BITS: u32 = 4;

/// The accesses of a range of bytes.
#[derive(Clone, Debug, Default)]
pub struct Shadow {
    blocks: Vec<Block>,
}

/// Consecutive bytes, in cells of one size.
#[derive(Clone, Debug, Default)]
struct Block {
    /// Log2 of the bytes of a cell.
    bits: u32,
    /// Empty before the first access.
    cells: Vec<Cell>,
}

impl Shadow {
    /// The shadow of that many bytes, none of them accessed yet.
    pub fn new(bytes: usize) -> Self {
        Self {
            blocks: vec![Block::default(); bytes.div_ceil(1 << BLOCK_BITS)],
        }
    }

    /// Forgets all accesses, as at the end of a launch.
    pub fn clear(&mut self) {
        self.blocks.fill(Block::default());
    }

    /// Checks a read of the range, and remembers it. Returns the first conflict; bytes beyond the end have none.
    #[inline]
    pub fn read(&mut self, range: Range<usize>, by: &Accessor<'_>) -> Option<Conflict> {
        let now = by.access(What::Read);
        self.visit(range, |cell| cell.read(by, &now))
    }

    /// Checks a write of the range, and remembers it.
    #[inline]
    pub fn write(&mut self, range: Range<usize>, by: &Accessor<'_>) -> Option<Conflict> {
        let now = by.access(What::Write);
        self.visit(range, |cell| cell.write(by, &now))
    }

    /// Checks an atomic read and write of the range, and remembers it.
    #[inline]
    pub fn atomic(&mut self, range: Range<usize>, by: &Accessor<'_>) -> Option<Conflict> {
        let now = by.access(What::Atomic);
        self.visit(range, |cell| cell.write(by, &now))
    }

    #[inline]
    fn visit(
        &mut self,
        range: Range<usize>,
        mut check: impl FnMut(&mut Cell) -> Option<(ConflictKind, Access)>,
    ) -> Option<Conflict> {
        let mut first: Option<Conflict> = None;
        let mut start = range.start;
        while start < range.end {
            let index = start >> BLOCK_BITS;
            let end = range.end.min((index + 1) << BLOCK_BITS);
            let block = self.blocks.get_mut(index)?;
            block.fit(start, end);
            let base = index << BLOCK_BITS;
            let cells = (start - base) >> block.bits..(end - base) >> block.bits;
            let size = 1 << block.bits;
            for (cell, offset) in block
                .cells
                .get_mut(cells)?
                .iter_mut()
                .zip((start..).step_by(size))
            {
                if let Some((kind, other)) = check(cell) {
                    extend(&mut first, kind, &other, offset, size);
                }
            }
            start = end;
        }
        first
    }
}

/// Extends the first conflict by the conflict of a cell if that continues it, and otherwise drops the cell's.
#[cold]
fn extend(first: &mut Option<Conflict>, kind: ConflictKind, other: &Access, offset: usize, bytes: usize) {
    match first {
        None => {
            *first = Some(Conflict {
                kind,
                other: other.past(),
                offset,
                bytes,
            });
        }
        Some(first) => {
            if first.kind == kind && first.other.site == other.site && first.offset + first.bytes == offset {
                first.bytes += bytes;
            }
        }
    }
}

impl Block {
    /// Splits cells until the access covers whole ones.
    #[inline]
    fn fit(&mut self, start: usize, end: usize) {
        let bits = (start | end).trailing_zeros().min(CELL_BITS);
        if self.cells.is_empty() || bits < self.bits {
            self.split(bits);
        }
    }

    #[cold]
    fn split(&mut self, bits: u32) {
        if self.cells.is_empty() {
            self.cells = vec![Cell::default(); 1 << (BLOCK_BITS - bits)];
        } else {
            let parts = 1 << (self.bits - bits);
            let cells = std::mem::take(&mut self.cells);
            self.cells = cells
                .into_iter()
                .flat_map(|cell| std::iter::repeat_n(cell, parts))
                .collect();
        }
        self.bits = bits;
    }
}
