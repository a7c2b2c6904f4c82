//! Decides whether two tensors share memory. Tensors whose spans of addresses overlap may still lie apart, as parts of the rows
//! of one packed tensor do.
//!
//! The bytes of an element are one more dim, of stride 1. A byte is then at the tensor's address plus an index times a stride
//! for each dim, and two tensors share a byte if, for some indices,
//!
//! ```text
//! second address - first address = sum of index * stride over the first's dims - the same over the second's
//! ```
//!
//! The right side has one [`Term`] for each different stride, since dims of equal strides add their indices. A term that fills
//! the steps of a larger one is joined with it ([`Sum::join`]), which leaves the rows and the bytes within a row of parts of a
//! packed tensor, whatever their shapes. The terms are then searched from the largest stride to the smallest. The rest of the
//! terms bounds the indices to try, of which there are few where strides are nested; if there are too many, the question stays
//! open.

/// The number of different strides above which the question stays open.
const MAX_TERMS: usize = 16;

/// The number of indices tried before the question stays open. A launch has this much time for each pair of tensors.
const MAX_TRIES: u32 = 32;

/// A span, in bytes, above which the question stays open. Sums of a few spans below it fit in 64 bits.
const MAX_SPAN: u64 = 1 << 60;

/// A tensor that has elements.
#[derive(Clone)]
pub(super) struct View<D> {
    /// The address of the first element.
    pub(super) address: u64,
    /// The distance from the beginning of the first element to the end of the last.
    pub(super) bytes: u64,
    /// The extent and the stride of each dim, strides in bytes and at least 0. One dim is that of an element's bytes.
    pub(super) dims: D,
}

/// Whether two tensors share a byte; `None` if that would take too long to find out.
pub(super) fn share_memory(
    first: View<impl Iterator<Item = (i64, i64)>>,
    second: View<impl Iterator<Item = (i64, i64)>>,
) -> Option<bool> {
    let apart = |low: &u64, bytes: u64, high: u64| high - low >= bytes;
    let is_apart = match first.address <= second.address {
        true => apart(&first.address, first.bytes, second.address),
        false => apart(&second.address, second.bytes, first.address),
    };
    if is_apart {
        return Some(false);
    }
    if first.bytes.max(second.bytes) > MAX_SPAN {
        return None;
    }
    let mut sum = Sum::default();
    for (extent, stride) in first.dims {
        sum.add(stride, 0, extent - 1)?;
    }
    for (extent, stride) in second.dims {
        sum.add(stride, 1 - extent, 0)?;
    }
    sum.join();
    // The spans overlap, so the distance of the addresses is less than one of them.
    let distance = second.address.wrapping_sub(first.address).cast_signed();
    let mut tries = MAX_TRIES;
    can_be(distance, sum.terms(), &mut tries)
}

/// Multiples of a stride, from `least` to `greatest` times the stride.
#[derive(Clone, Copy, Default)]
struct Term {
    /// In bytes, at least 1.
    stride: i64,
    /// At most 0.
    least: i64,
    /// At least 0.
    greatest: i64,
}

/// A sum of terms with different strides, the largest first.
#[derive(Default)]
struct Sum {
    terms: [Term; MAX_TERMS],
    count: usize,
}

impl Sum {
    fn terms(&self) -> &[Term] {
        &self.terms[..self.count]
    }

    /// Adds the multiples of a stride from `least` to `greatest`; `None` if there are too many strides.
    fn add(&mut self, stride: i64, least: i64, greatest: i64) -> Option<()> {
        if stride == 0 || least == greatest {
            return Some(());
        }
        let place = self.terms().iter().position(|term| term.stride <= stride);
        let place = place.unwrap_or(self.count);
        if self.terms().get(place).is_none_or(|term| term.stride != stride) {
            if self.count == MAX_TERMS {
                return None;
            }
            self.terms.copy_within(place..self.count, place + 1);
            self.count += 1;
            self.terms[place] = Term {
                stride,
                ..Term::default()
            };
        }
        let term = &mut self.terms[place];
        term.least += least;
        term.greatest += greatest;
        Some(())
    }

    /// Joins terms without changing the values of the sum: if a stride is a multiple of the next smaller one, whose multiples
    /// reach from one multiple of the larger to the next, then the two together are the multiples of the smaller stride from
    /// the sum of the lower bounds to the sum of the upper bounds.
    fn join(&mut self) {
        let mut kept = [Term::default(); MAX_TERMS];
        let mut first = MAX_TERMS;
        for term in self.terms().iter().rev() {
            if let Some(inner) = kept.get_mut(first)
                && term.stride % inner.stride == 0
                && inner.greatest - inner.least + 1 >= term.stride / inner.stride
            {
                let factor = term.stride / inner.stride;
                inner.least += term.least * factor;
                inner.greatest += term.greatest * factor;
            } else {
                first -= 1;
                kept[first] = *term;
            }
        }
        self.count = MAX_TERMS - first;
        kept.copy_within(first.., 0);
        self.terms = kept;
    }
}

/// Whether terms can have this sum; `None` if the tries do not suffice to find out.
fn can_be(sum: i64, terms: &[Term], tries: &mut u32) -> Option<bool> {
    let Some((term, rest)) = terms.split_first() else {
        return Some(sum == 0);
    };
    let low: i64 = rest.iter().map(|term| term.stride * term.least).sum();
    let high: i64 = rest.iter().map(|term| term.stride * term.greatest).sum();
    // What the rest must add is from `low` to `high`.
    let least = term.least.max(-(high - sum).div_euclid(term.stride));
    let greatest = term.greatest.min((sum - low).div_euclid(term.stride));
    for index in least..=greatest {
        *tries = tries.checked_sub(1)?;
        if can_be(sum - index * term.stride, rest, tries)? {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A view of elements of `element` bytes: an address, and dims with strides in bytes.
    #[derive(Clone, Debug)]
    struct Sample {
        address: u64,
        element: i64,
        dims: Vec<(i64, i64)>,
    }

    impl Sample {
        fn bytes(&self) -> BTreeSet<u64> {
            let mut offsets = BTreeSet::from([0]);
            for (extent, stride) in self.dims() {
                offsets = (0..extent)
                    .flat_map(|index| offsets.iter().map(move |offset| offset + index * stride))
                    .collect();
            }
            let address = |offset: i64| self.address + offset.unsigned_abs();
            offsets.into_iter().map(address).collect()
        }

        fn dims(&self) -> impl Iterator<Item = (i64, i64)> {
            self.dims.iter().copied().chain([(self.element, 1)])
        }

        fn shares_with(&self, other: &Sample) -> Option<bool> {
            let view = |sample: &Sample| {
                let reach: i64 = sample.dims().map(|(extent, stride)| (extent - 1) * stride).sum();
                (sample.address, reach.unsigned_abs() + 1)
            };
            let ((address, bytes), dims) = (view(self), self.dims());
            let first = View { address, bytes, dims };
            let ((address, bytes), dims) = (view(other), other.dims());
            share_memory(first, View { address, bytes, dims })
        }
    }

    /// Views of any strides, also 0, also such by which they overlap themselves.
    fn any_view() -> impl Strategy<Value = Sample> {
        let dims = prop::collection::vec((1i64..6, 0i64..24), 0..4);
        (1000u64..1040, 0u32..3, dims).prop_map(|(address, log2, dims)| {
            let element = 1 << log2;
            let dims = dims
                .into_iter()
                .map(|(extent, stride)| (extent, stride * element));
            Sample {
                address,
                element,
                dims: dims.collect(),
            }
        })
    }

    /// Views of parts of one packed tensor of 5 x 4 x 3 x 8 elements of 2 bytes: a range of each dim, dims in any order.
    fn part() -> impl Strategy<Value = Sample> {
        let range = |extent: i64| (0..extent).prop_flat_map(move |from| (Just(from), from + 1..=extent));
        let strides = [4 * 3 * 8, 3 * 8, 8, 1].map(|stride| 2 * stride);
        let ranges = (range(5), range(4), range(3), range(8));
        let views = ranges.prop_map(move |(a, b, c, d)| {
            let dims = [a, b, c, d].into_iter().zip(strides);
            let offset: i64 = dims.clone().map(|((from, _), stride)| from * stride).sum();
            let dims = dims.map(|((from, to), stride)| (to - from, stride));
            (1000 + offset.unsigned_abs(), dims.collect::<Vec<_>>())
        });
        let shuffled = views.prop_flat_map(|(address, dims)| (Just(address), Just(dims).prop_shuffle()));
        shuffled.prop_map(|(address, dims)| Sample {
            address,
            element: 2,
            dims,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn an_answer_is_that_of_the_sets_of_bytes(first in any_view(), second in any_view()) {
            if let Some(answer) = first.shares_with(&second) {
                prop_assert_eq!(answer, !first.bytes().is_disjoint(&second.bytes()));
            }
        }

        #[test]
        fn parts_of_one_tensor_are_always_decided(first in part(), second in part()) {
            let expected = !first.bytes().is_disjoint(&second.bytes());
            prop_assert_eq!(first.shares_with(&second), Some(expected));
        }

        #[test]
        fn a_view_shares_memory_with_itself(view in any_view()) {
            prop_assert_ne!(view.shares_with(&view), Some(false));
        }
    }

    /// A view of bf16 at an offset into a tensor, strides in elements.
    fn bf16(offset: u64, dims: &[(i64, i64)]) -> Sample {
        Sample {
            address: 0x7000_0000_0000 + 2 * offset,
            element: 2,
            dims: dims
                .iter()
                .map(|(extent, stride)| (*extent, 2 * stride))
                .collect(),
        }
    }

    #[test]
    fn heads_of_a_packed_tensor_lie_apart() {
        let rows = 1 << 20;
        let q = bf16(0, &[(rows, 6144), (32, 128), (128, 1)]);
        let k = bf16(4096, &[(rows, 6144), (8, 128), (128, 1)]);
        let v = bf16(5120, &[(rows, 6144), (1024, 1)]);
        let batches = bf16(5120, &[(64, 6144 << 14), (8, 128), (1 << 14, 6144), (128, 1)]);
        for (first, second) in [(&q, &k), (&k, &v), (&v, &q), (&k, &batches), (&q, &batches)] {
            assert_eq!(first.shares_with(second), Some(false));
        }
        assert_eq!(v.shares_with(&batches), Some(true));
        let shifted = bf16(4095, &[(rows, 6144), (8, 128), (128, 1)]);
        assert_eq!(shifted.shares_with(&q), Some(true));
    }

    #[test]
    fn every_second_row_lies_apart_from_the_rows_between() {
        let [even, odd] = [0, 64].map(|offset| bf16(offset, &[(1 << 20, 128), (64, 1)]));
        let all = bf16(0, &[(2 << 20, 64), (64, 1)]);
        assert_eq!(even.shares_with(&odd), Some(false));
        assert_eq!(even.shares_with(&all), Some(true));
    }

    #[test]
    fn what_would_take_too_long_stays_open() {
        let first = bf16(0, &[(1 << 20, 6), (1 << 20, 10 << 20)]);
        let second = bf16(1, &[(1 << 20, 14), (1 << 20, 22 << 20)]);
        assert_eq!(first.shares_with(&second), None);
        let many: Vec<_> = (0..10).map(|dim| (2, 2 << (2 * dim))).collect();
        let between: Vec<_> = (0..10).map(|dim| (2, 3 << (2 * dim))).collect();
        assert_eq!(bf16(0, &many).shares_with(&bf16(1, &between)), None);
        let long = bf16(0, &[(2, 1 << 60)]);
        assert_eq!(long.shares_with(&bf16(1, &[(2, 1 << 60)])), None);
    }
}
