//! How many elements one access may move.

use norma_targets::ACCESS_BYTES;

use crate::kernel::space::Strides;

/// The most elements, a power of two, that one access along the contiguous dim may move: at most 16 bytes, aligned to its own
/// size wherever it starts, and never across the end of a row. `divisors` divide the strides, `multiples` the extents.
pub(super) fn widest(
    strides: &Strides,
    divisors: &[i64],
    multiples: &[i64],
    alignment: i64,
    bytes: i64,
) -> i64 {
    let Some(along) = strides.dims.iter().position(|stride| *stride == Some(1)) else {
        return 1;
    };
    let fits = |vector: i64| {
        let others = divisors.iter().enumerate().filter(|(dim, _)| *dim != along);
        vector * bytes <= ACCESS_BYTES
            && multiples[along] % vector == 0
            && alignment % (vector * bytes) == 0
            && strides.offset.is_some_and(|offset| offset % vector == 0)
            && others.into_iter().all(|(_, divisor)| divisor % vector == 0)
    };
    [16, 8, 4, 2]
        .into_iter()
        .find(|vector| fits(*vector))
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::{Strides, widest};

    /// The width along rows of `extent` elements that are `stride` apart.
    fn width(extent: i64, stride: i64, offset: i64, alignment: i64, bytes: i64) -> i64 {
        let strides = Strides {
            dims: vec![None, Some(1)],
            offset: Some(offset),
        };
        widest(&strides, &[stride, 1], &[1, extent], alignment, bytes)
    }

    #[test]
    fn an_access_is_at_most_16_bytes() {
        assert_eq!(width(4096, 4096, 0, 64, 2), 8);
        assert_eq!(width(4096, 4096, 0, 64, 4), 4);
    }

    #[test]
    fn an_access_divides_the_row_and_its_stride() {
        assert_eq!(width(4095, 4095, 0, 16, 2), 1);
        assert_eq!(width(1004, 1004, 0, 16, 2), 4);
        assert_eq!(width(4096, 4098, 0, 16, 2), 2);
    }

    #[test]
    fn an_access_is_aligned() {
        assert_eq!(width(4096, 4, 0, 16, 2), 4);
        assert_eq!(width(4096, 4096, 0, 2, 2), 1);
        assert_eq!(width(4096, 4096, 2, 16, 2), 2);
    }

    #[test]
    fn a_row_of_which_nothing_is_promised_is_read_element_by_element() {
        assert_eq!(width(1, 1, 0, 16, 2), 1);
        assert_eq!(width(8, 8, 0, 16, 2), 8);
    }
}
