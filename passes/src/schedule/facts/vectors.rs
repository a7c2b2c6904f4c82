//! How many elements one access may move.

use norma_targets::ACCESS_BYTES;

use super::{Access, Dim};
use crate::kernel::space::{Divisors, Strides};

impl Access {
    /// Returns the dims along which neighbouring elements follow each other in memory, the contiguous one first: the stride of each
    /// dim is the product of the extents before it.
    pub fn run(&self, dims: &[Dim]) -> Vec<usize> {
        let mut run = Vec::new();
        let mut stride = Some(1);
        while let Some(reached) = stride {
            let is_next = |dim: &usize| self.strides[*dim] == Some(reached) && !run.contains(dim);
            let Some(dim) = (0..dims.len()).find(is_next) else {
                break;
            };
            run.push(dim);
            let extent = i64::try_from(dims[dim].extent).ok();
            stride = extent
                .filter(|_| dims[dim].is_known)
                .and_then(|extent| reached.checked_mul(extent));
        }
        run
    }
}

/// Returns the most elements, a power of two, that one access along the contiguous dim may move: at most 16 bytes, aligned to its
/// own size wherever it starts, and never across the end of a row. A vector that is longer than the contiguous dim continues along
/// the dim whose stride is that dim's extent, as the two numbers of 4 bits in each byte continue in the next byte. `divisors`
/// divide the strides and the offset, `multiples` divide the extents and what guards leave of them, and `extents` holds the static
/// extents.
pub(super) fn widest(
    strides: &Strides,
    divisors: &Divisors,
    extents: &[Option<i64>],
    multiples: &[i64],
    alignment: i64,
    bytes: i64,
) -> i64 {
    let fits = |vector: i64| {
        let is_aligned = |divisor: i64| divisor % vector == 0;
        let run = run(strides, extents, multiples, vector);
        let others = |run: Vec<usize>| {
            let mut others = (0..divisors.dims.len()).filter(|dim| !run.contains(dim));
            others.all(|dim| is_aligned(divisors.dims[dim]))
        };
        vector * bytes <= ACCESS_BYTES
            && alignment % (vector * bytes) == 0
            && is_aligned(divisors.offset)
            && run.is_some_and(others)
    };
    [16, 8, 4, 2]
        .into_iter()
        .find(|vector| fits(*vector))
        .unwrap_or(1)
}

/// Returns the dims over which a vector of `vector` neighbouring elements extends, the contiguous one first; `None` if the extents
/// do not divide into such vectors.
fn run(strides: &Strides, extents: &[Option<i64>], multiples: &[i64], vector: i64) -> Option<Vec<usize>> {
    let (mut dims, mut stride, mut left) = (Vec::new(), 1, vector);
    loop {
        let is_next = |dim: &usize| strides.dims[*dim] == Some(stride) && !dims.contains(dim);
        let dim = (0..strides.dims.len()).find(is_next)?;
        dims.push(dim);
        if multiples[dim] % left == 0 {
            return Some(dims);
        }
        let whole = extents[dim].filter(|extent| *extent > 0 && left % extent == 0)?;
        left /= whole;
        stride *= whole;
    }
}

#[cfg(test)]
mod tests {
    use super::{Divisors, Strides, widest};

    /// The width of an access to rows of `extent` elements that are `stride` apart.
    fn width(extent: i64, stride: i64, offset: i64, alignment: i64, bytes: i64) -> i64 {
        let strides = Strides {
            dims: vec![None, Some(1)],
            offset: Some(offset),
        };
        let divisors = Divisors {
            dims: vec![stride, 1],
            offset,
        };
        widest(
            &strides,
            &divisors,
            &[None, Some(extent)],
            &[1, extent],
            alignment,
            bytes,
        )
    }

    /// The width of an access to `outer` parts of `inner` neighbouring elements, which are `stride` apart, in rows of 4096.
    fn width_of_parts(outer: i64, stride: i64, inner: i64) -> i64 {
        let strides = Strides {
            dims: vec![Some(4096), Some(stride), Some(1)],
            offset: Some(0),
        };
        let extents = [7, outer, inner];
        let divisors = Divisors {
            dims: vec![4096, stride, 1],
            offset: 0,
        };
        widest(&strides, &divisors, &extents.map(Some), &extents, 16, 2)
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

    #[test]
    fn an_access_continues_where_a_dim_is_a_part_of_what_follows_it() {
        assert_eq!(width_of_parts(8, 2, 2), 8);
        assert_eq!(width_of_parts(6, 2, 2), 4);
        assert_eq!(width_of_parts(8, 3, 3), 1);
        assert_eq!(width_of_parts(8, 4, 2), 2);
    }
}
