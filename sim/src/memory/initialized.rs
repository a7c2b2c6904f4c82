//! Which bytes hold a value: one bit each.

use std::ops::Range;

/// A bit set with one bit for each byte of a region: whether the byte holds a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Initialized {
    words: Vec<u64>,
    bytes: usize,
}

/// A mask of that many low bits.
fn low(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The indices of the words that a range touches, each with a mask of the range's bits in it.
fn parts(range: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        if start >= range.end {
            return None;
        }
        let (word, bit) = (start / 64, start % 64);
        let count = (64 - bit).min(range.end - start);
        start += count;
        Some((word, low(count) << bit))
    })
}

impl Initialized {
    pub(super) fn new(bytes: usize, initialized: bool) -> Self {
        let word = if initialized { u64::MAX } else { 0 };
        Self {
            words: vec![word; bytes.div_ceil(64)],
            bytes,
        }
    }

    /// Sets the bits of a range, which must lie within the region.
    #[inline]
    pub(super) fn set(&mut self, range: Range<usize>) {
        for (word, bits) in parts(range) {
            self.words[word] |= bits;
        }
    }

    /// The first byte of a range that holds no value; the range must lie within the region.
    #[inline]
    pub(super) fn first_unset(&self, range: Range<usize>) -> Option<usize> {
        parts(range).find_map(|(word, bits)| {
            let unset = bits & !self.words[word];
            (unset != 0).then(|| word * 64 + unset.trailing_zeros() as usize)
        })
    }

    /// The ranges of set bits, in order, none of them touching the next.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            while start < self.bytes && self.first_unset(start..start + 1).is_some() {
                let word = self.words[start / 64] >> (start % 64);
                start += if word == 0 {
                    64 - start % 64
                } else {
                    word.trailing_zeros() as usize
                };
            }
            if start >= self.bytes {
                return None;
            }
            let end = self.first_unset(start..self.bytes).unwrap_or(self.bytes);
            let range = start..end;
            start = end;
            Some(range)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_what_was_set() {
        let mut bits = Initialized::new(300, false);
        for range in [3..5, 5..9, 60..70, 128..256, 299..300] {
            bits.set(range);
        }
        let ranges: Vec<_> = bits.ranges().collect();
        assert_eq!(ranges, [3..9, 60..70, 128..256, 299..300]);
        assert_eq!(bits.first_unset(60..130), Some(70));
        assert_eq!(bits.first_unset(128..256), None);
        assert_eq!(bits.first_unset(130..257), Some(256));
    }

    #[test]
    fn memory_that_starts_with_values_is_set_to_its_end() {
        let bits = Initialized::new(70, true);
        assert!(bits.ranges().eq(std::iter::once(0..70)));
        assert_eq!(Initialized::new(0, true).ranges().count(), 0);
    }
}
