//! Where the scales of blocks are in memory. With R rows and C columns of blocks, the last two axes of the scales, the axes are
//!
//! ```text
//! linear           ..., R, C
//! column_major     ..., C, R
//! swizzled_128x4   ..., ceil(R / 128), ceil(C / 4), 32, 4, 4
//! ```
//!
//! where row `32 * j + i` of a tile is at `i, j` of the last axes but one. What lies beyond the rows and columns is padding.

use super::Call;

/// The order of scales in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScaleLayout {
    Linear,
    ColumnMajor,
    Swizzled128x4,
}

/// The rows of a tile.
const TILE_ROWS: i64 = 128;
/// The columns of a tile.
const TILE_COLUMNS: i64 = 4;
/// The rows of each part of a tile.
const PART_ROWS: i64 = 32;

impl ScaleLayout {
    /// The layout that a call asks for.
    pub fn of(call: &Call<'_>) -> Result<Self, String> {
        match call.text("scale_layout")? {
            "linear" => Ok(Self::Linear),
            "column_major" => Ok(Self::ColumnMajor),
            "swizzled_128x4" => Ok(Self::Swizzled128x4),
            other => Err(format!("expected a layout of scales, got '{other}'")),
        }
    }

    /// The shape of the tensor that holds scales of that shape.
    pub fn stored_shape(self, shape: &[i64]) -> Vec<i64> {
        let (batch, rows, columns) = match (self, shape) {
            (Self::Linear, _) => return shape.to_vec(),
            (_, [batch @ .., rows, columns]) => (batch, *rows, *columns),
            _ => return shape.to_vec(),
        };
        let tiles = |extent: i64, of_tile: i64| (extent + of_tile - 1) / of_tile;
        let tail = match self {
            Self::Swizzled128x4 => vec![
                tiles(rows, TILE_ROWS),
                tiles(columns, TILE_COLUMNS),
                PART_ROWS,
                TILE_ROWS / PART_ROWS,
                TILE_COLUMNS,
            ],
            _ => vec![columns, rows],
        };
        [batch, &tail].concat()
    }

    /// The block, among those of that shape, whose scale is stored at `index`; `None` for padding.
    pub fn block_at(self, index: &[i64], shape: &[i64]) -> Option<Vec<i64>> {
        let block = match (self, index) {
            (Self::ColumnMajor, [batch @ .., column, row]) => [batch, &[*row, *column]].concat(),
            (Self::Swizzled128x4, [batch @ .., tile_row, tile_column, within, part, column]) => {
                let row = TILE_ROWS * tile_row + PART_ROWS * part + within;
                [batch, &[row, TILE_COLUMNS * tile_column + column]].concat()
            }
            _ => index.to_vec(),
        };
        let is_inside = block.iter().zip(shape).all(|(index, extent)| index < extent);
        is_inside.then_some(block)
    }

    /// Where the scale of a block is stored.
    pub fn place_of(self, block: &[i64]) -> Vec<i64> {
        match (self, block) {
            (Self::ColumnMajor, [batch @ .., row, column]) => [batch, &[*column, *row]].concat(),
            (Self::Swizzled128x4, [batch @ .., row, column]) => {
                let in_tile = row % TILE_ROWS;
                let of_tile = [row / TILE_ROWS, column / TILE_COLUMNS];
                let within = [in_tile % PART_ROWS, in_tile / PART_ROWS, column % TILE_COLUMNS];
                [batch, &of_tile, &within].concat()
            }
            _ => block.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_in_the_order_that_matrix_kernels_read() {
        let layout = ScaleLayout::Swizzled128x4;
        let shape = [300, 6];
        let stored = layout.stored_shape(&shape);
        assert_eq!(stored, [3, 2, 32, 4, 4]);
        let offset = |place: &[i64]| {
            place
                .iter()
                .zip(&stored)
                .fold(0, |at, (index, extent)| at * extent + index)
        };
        for row in 0..shape[0] {
            for column in 0..shape[1] {
                let place = layout.place_of(&[row, column]);
                // The formula of cuBLAS's documentation, "1D block scaling factors layout", for tiles of 512 bytes in row-major order.
                let tile = (row / 128) * 2 + column / 4;
                let (r, c) = (row % 128, column % 4);
                assert_eq!(offset(&place), 512 * tile + (r % 32) * 16 + (r / 32) * 4 + c);
                assert_eq!(layout.block_at(&place, &shape), Some(vec![row, column]));
            }
        }
        let padding = (0..3 * 2 * 512).filter(|at| {
            let place = [at / 1024, at / 512 % 2, at / 16 % 32, at / 4 % 4, at % 4];
            layout.block_at(&place, &shape).is_none()
        });
        assert_eq!(padding.count(), 3 * 2 * 512 - 300 * 6);
    }

    #[test]
    fn columns_are_in_turn() {
        let layout = ScaleLayout::ColumnMajor;
        assert_eq!(layout.stored_shape(&[7, 3, 5]), [7, 5, 3]);
        assert_eq!(layout.place_of(&[6, 2, 4]), [6, 4, 2]);
        assert_eq!(layout.block_at(&[6, 4, 2], &[7, 3, 5]), Some(vec![6, 2, 4]));
    }
}
