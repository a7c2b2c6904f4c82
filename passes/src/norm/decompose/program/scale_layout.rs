//! Where the scales of blocks are in memory: the coordinates at which a layout has the scale of a block.

use melior::ir::Value;
use norma_dialects::norm::ScaleLayout;

use super::Coordinate;

/// The coordinates of the scale of the block that these dims are over, of which the last two number the rows and the columns of blocks.
///
/// The tiles of `swizzled_128x4` are those of NVIDIA's matrix kernels (cuBLAS documentation, 1D block scaling factors layout).
pub(in crate::norm::decompose) fn coordinates<'c, 'a>(
    layout: ScaleLayout,
    of_block: &[Value<'c, 'a>],
) -> Vec<Coordinate<'c, 'a>> {
    let (batch, row, column) = match (layout, of_block) {
        (ScaleLayout::ColumnMajor | ScaleLayout::Swizzled128x4, [batch @ .., row, column]) => {
            (batch, *row, *column)
        }
        _ => return Coordinate::of(of_block),
    };
    let mut coordinates = Coordinate::of(batch);
    if layout == ScaleLayout::ColumnMajor {
        coordinates.extend(Coordinate::of(&[column, row]));
        return coordinates;
    }
    let digit = |of, stride, radix| Coordinate::Digit { of, stride, radix };
    coordinates.extend([
        digit(row, 128, None),
        digit(column, 4, None),
        digit(row, 1, Some(32)),
        digit(row, 32, Some(4)),
        digit(column, 1, Some(4)),
    ]);
    coordinates
}
