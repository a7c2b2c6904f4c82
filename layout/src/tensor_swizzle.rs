//! Where the copy engine's swizzles leave a row-major tile in shared memory.
//!
//! The engine lays out a box row by row. A swizzle then moves each chunk of 16 bytes within its line of 128 bytes: it changes the chunk's
//! number, which is bits 4 to 6 of the address, by exclusive or with the number of the line, bits 7 to 9. A span of 128 bytes takes part
//! with all three bits, one of 64 bytes with the lower two, and one of 32 bytes with the lowest (PTX ISA, "Tensors: Swizzling Modes").
//! Rows of a box are as long as the span, so that lanes which access one column of several rows find it in different banks.
//!
//! A tile whose rows are longer consists of boxes that hold `span` bytes of each row, one box behind the other.

use crate::error::LayoutError;
use crate::linear::{Basis, log2_of};

/// log2 of the bytes of a chunk, which a swizzle moves as a whole.
const CHUNK_BITS: usize = 4;
/// log2 of the chunks of a line.
const LINE_CHUNK_BITS: usize = 3;

/// The coordinate that each bit of an element's number in memory stands for, for [`SharedLayout::linear`](crate::SharedLayout::linear):
/// the order in which a row-major tile of `shape`, of elements of `element_bytes`, lies in memory that begins at a multiple of `8 * span`
/// bytes. Rows are runs of `row` elements. `None` if they are shorter than `span` bytes, or the tile has none that long.
///
/// # Errors
/// If a number is no power of two.
pub fn tensor_swizzle(
    shape: &[i64],
    row: i64,
    element_bytes: i64,
    span: i64,
) -> Result<Option<Vec<Basis>>, LayoutError> {
    let mut units = Vec::new();
    for (axis, &extent) in shape.iter().enumerate().rev() {
        let unit = |bit: usize| -> Basis {
            let coordinate = |other| if other == axis { 1 << bit } else { 0 };
            (0..shape.len()).map(coordinate).collect()
        };
        units.extend((0..log2_of("a tile extent", extent)?).map(unit));
    }
    let of_row = log2_of("the elements of a row", row)?;
    let of_element = log2_of("the bytes of an element", element_bytes)?;
    let of_span = log2_of("the span of a swizzle", span)?;
    if of_element > CHUNK_BITS
        || of_span < CHUNK_BITS
        || of_row + of_element < of_span
        || of_row > units.len()
    {
        return Ok(None);
    }
    let (row, rows) = units.split_at(of_row);
    let (of_box, other_boxes) = row.split_at(of_span - of_element);
    let mut order = [of_box, rows, other_boxes].concat();
    for chunk in CHUNK_BITS..of_span {
        let moved = order[chunk - of_element].clone();
        if let Some(line) = order.get_mut(chunk + LINE_CHUNK_BITS - of_element) {
            line.iter_mut()
                .zip(&moved)
                .for_each(|(line, chunk)| *line ^= chunk);
        }
    }
    Ok(Some(order))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::{HardwareDim, LinearLayout};
    use crate::shared::SharedLayout;

    /// The address of an element of a tile of `rows` rows of `columns` elements, as the PTX ISA defines it.
    fn defined(row: i64, column: i64, rows: i64, bytes: i64, span: i64) -> i64 {
        let at = column * bytes;
        let address = at / span * rows * span + row * span + at % span;
        let (chunk, line) = (address / 16 % 8, address / 128 % 8);
        address - chunk * 16 + (chunk ^ (line % (span / 16))) * 16
    }

    #[test]
    fn addresses_are_those_of_the_swizzling_modes() {
        for (bytes, columns) in [(1, 128), (2, 64), (2, 256), (4, 32), (4, 64), (8, 16)] {
            for span in [32, 64, 128] {
                let rows = 32;
                let order = tensor_swizzle(&[rows, columns], columns, bytes, span)
                    .unwrap()
                    .unwrap();
                let layout = SharedLayout::linear(&[rows, columns], &order).unwrap();
                for row in 0..rows {
                    for column in 0..columns {
                        let address = layout.offset(&[row, column]) * bytes;
                        assert_eq!(address, defined(row, column, rows, bytes, span));
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_and_its_rows_may_be_several_axes() {
        let shape = [2, 1, 8, 16, 8];
        let order = tensor_swizzle(&shape, 128, 2, 128).unwrap().unwrap();
        let layout = SharedLayout::linear(&shape, &order).unwrap();
        for row in 0..16 {
            for chunk in 0..16 {
                let address = layout.offset(&[row / 8, 0, row % 8, chunk, 0]) * 2;
                assert_eq!(address, defined(row, chunk * 8, 16, 2, 128));
            }
        }
    }

    #[test]
    fn rows_shorter_than_the_span_are_not_swizzled() {
        assert_eq!(tensor_swizzle(&[32, 16], 16, 4, 128), Ok(None));
        assert!(tensor_swizzle(&[32, 16], 16, 4, 64).unwrap().is_some());
        assert_eq!(tensor_swizzle(&[], 32, 4, 32), Ok(None));
        assert!(tensor_swizzle(&[32, 48], 16, 4, 32).is_err());
    }

    #[test]
    fn lanes_down_a_column_of_chunks_do_not_conflict() {
        let column = |register: i64| {
            let registers = LinearLayout::identity(HardwareDim::Register, 1, 2, register).unwrap();
            let lanes = LinearLayout::identity(HardwareDim::Lane, 0, 2, 32).unwrap();
            registers.product(&lanes).unwrap()
        };
        for (columns, span) in [(32, 128), (16, 64), (64, 128)] {
            let shape = [32, columns];
            let plain = SharedLayout::plain(&shape, &[1, 0]).unwrap();
            let order = tensor_swizzle(&shape, columns, 4, span).unwrap().unwrap();
            let swizzled = SharedLayout::linear(&shape, &order).unwrap();
            let conflicts = |layout: &SharedLayout| {
                let report = layout.bank_conflicts(&column(columns), 32, 4).unwrap();
                report.conflicts()
            };
            assert!(conflicts(&plain) >= 12, "{columns}");
            assert_eq!(conflicts(&swizzled), 0, "{columns}");
        }
    }
}
