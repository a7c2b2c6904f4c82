//! Chooses which parts of a large result are compared.

use std::collections::HashSet;
use std::ops::Range;

use crate::fill::Random;

/// Spaces up to this many points are compared whole.
const WHOLE_SPACE: i64 = 1 << 20;
/// The points that the evaluation of one sampled piece of a result without rows should cost.
const COLUMN_POINTS: i64 = 1 << 18;

/// The boxes of the space to compare. A small space is compared whole. Of a larger one, rows along the innermost dim are
/// compared: the first, the last and others at random. A result that varies over the innermost dim alone is compared in short
/// pieces of it.
pub(crate) fn sample(
    extents: &[i64],
    dims: &[usize],
    rows: usize,
    random: &mut Random,
) -> Vec<Vec<Range<i64>>> {
    let whole: Vec<Range<i64>> = extents.iter().map(|extent| 0..*extent).collect();
    let points = extents
        .iter()
        .try_fold(1i64, |points, extent| points.checked_mul(*extent));
    if points.is_some_and(|points| points <= WHOLE_SPACE) {
        return vec![whole];
    }
    let innermost = extents.len() - 1;
    let outer: Vec<usize> = dims.iter().copied().filter(|dim| *dim != innermost).collect();
    let (count, piece) = if outer.is_empty() {
        // Each element may cost a walk over all dims that the result was reduced over.
        let cost: i64 = (0..innermost)
            .map(|dim| extents[dim])
            .fold(1, i64::saturating_mul);
        let piece = (COLUMN_POINTS / cost.max(1)).clamp(16, extents[innermost].max(16));
        ((extents[innermost] + piece - 1) / piece, Some(piece))
    } else {
        (
            outer.iter().map(|dim| extents[*dim]).fold(1, i64::saturating_mul),
            None,
        )
    };
    let region = |number: i64| {
        let mut region = whole.clone();
        let mut rest = number;
        for dim in outer.iter().rev() {
            region[*dim] = rest % extents[*dim]..rest % extents[*dim] + 1;
            rest /= extents[*dim];
        }
        if let Some(piece) = piece {
            region[innermost] = number * piece..((number + 1) * piece).min(extents[innermost]);
        }
        region
    };
    let wanted = if rows == 0 { count } else { count.min(rows as i64) };
    if wanted == count {
        return (0..count).map(region).collect();
    }
    chosen(count, wanted, random).into_iter().map(region).collect()
}

/// Chooses `wanted` numbers below `count`, which is larger: the first, the last, and distinct others at random.
fn chosen(count: i64, wanted: i64, random: &mut Random) -> Vec<i64> {
    let mut chosen: Vec<i64> = [0, count - 1].into_iter().take(wanted as usize).collect();
    // Robert Floyd's algorithm: each step adds a number up to `last`, or `last` itself, which is new, in place of a known one.
    let between = count - 2;
    let mut known = HashSet::new();
    for last in between - (wanted - 2).max(0)..between {
        let number = random.below(last as u64 + 1) as i64;
        let number = if known.contains(&number) { last } else { number };
        known.insert(number);
        chosen.push(1 + number);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_results_are_sampled_by_rows() {
        let regions = sample(&[16384, 4096], &[0, 1], 8, &mut Random::new(1));
        assert_eq!(regions.len(), 8);
        assert_eq!(regions[0], [0..1, 0..4096]);
        assert_eq!(regions[1], [16383..16384, 0..4096]);
        assert!(regions.iter().all(|region| region[0].end - region[0].start == 1));
        assert_eq!(
            sample(&[16384, 4096], &[0], 8, &mut Random::new(1))[1],
            [16383..16384, 0..4096]
        );
        assert_eq!(sample(&[2000, 4096], &[0, 1], 0, &mut Random::new(1)).len(), 2000);
    }

    #[test]
    fn results_without_rows_are_sampled_by_pieces() {
        let regions = sample(&[16384, 4096], &[1], 4, &mut Random::new(1));
        assert_eq!(regions[0], [0..16384, 0..16]);
        assert_eq!(regions[1], [0..16384, 4080..4096]);
    }

    #[test]
    fn no_row_is_sampled_twice() {
        for (seed, wanted) in (0..20).flat_map(|seed| [1, 2, 3, 16, 19].map(|wanted| (seed, wanted))) {
            let regions = sample(&[20, 1 << 16], &[0, 1], wanted, &mut Random::new(seed));
            let mut rows: Vec<i64> = regions.iter().map(|region| region[0].start).collect();
            rows.sort_unstable();
            rows.dedup();
            assert_eq!((rows.len(), rows[0]), (wanted, 0), "{rows:?}");
            assert!(wanted == 1 || rows.last() == Some(&19), "{rows:?}");
        }
    }

    #[test]
    fn small_spaces_are_checked_whole() {
        assert_eq!(sample(&[3, 4], &[0], 1, &mut Random::new(1)), [[0..3, 0..4]]);
        assert_eq!(
            sample(&[0, 1 << 40], &[0, 1], 1, &mut Random::new(1)),
            [[0..0, 0..1 << 40]]
        );
        assert_eq!(
            sample(&[], &[], 1, &mut Random::new(1)),
            [Vec::<Range<i64>>::new()]
        );
    }
}
