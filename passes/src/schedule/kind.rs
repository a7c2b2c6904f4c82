//! The kind of a schedule: what it does, apart from the sizes of its factors.

use std::collections::{BTreeSet, HashMap};

use norma_dialects::norm::{CachePlace, CopyMechanism, Level};

use super::mapping::Mapping;

/// The levels that each dim is spread over, where reused reads are kept and how they get there, and what loops do besides. The
/// sizes of factors do not count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    levels: Vec<BTreeSet<Level>>,
    keep: Vec<CachePlace>,
    bring: CopyMechanism,
    prefetches: bool,
    holds_steps: bool,
    merges_reductions: Vec<Level>,
    aligned_dim: Option<usize>,
}

impl Kind {
    /// Returns the kind of a mapping.
    pub fn of(mapping: &Mapping) -> Self {
        let levels = mapping.spread.iter().map(|factors| {
            let takes_part = factors.iter().filter(|factor| factor.size != Some(1));
            takes_part.map(|factor| factor.level).collect()
        });
        Self {
            levels: levels.collect(),
            keep: mapping.keep.clone(),
            bring: mapping.bring,
            prefetches: mapping.prefetches(),
            holds_steps: mapping.held_steps > 0,
            merges_reductions: mapping.merge_reductions.clone(),
            aligned_dim: mapping.aligned_dim,
        }
    }
}

/// The relative penalty on a candidate for each better one of its kind. The cost model judges other kinds by other terms, so the
/// best of another kind may seem worse by this much without being so.
const LIKE_ANOTHER: f64 = 0.02;

/// Orders candidates, which come with their microseconds and cheapest first, so that several of one kind do not crowd out the best
/// of other kinds.
pub fn by_kind<T>(sorted: Vec<T>, of: impl Fn(&T) -> (&Mapping, f64)) -> Vec<T> {
    let mut seen = HashMap::<Kind, usize>::new();
    let mut places = Vec::with_capacity(sorted.len());
    for candidate in sorted {
        let (mapping, microseconds) = of(&candidate);
        let before = seen.entry(Kind::of(mapping)).or_insert(0);
        places.push((microseconds * (1.0 + LIKE_ANOTHER * *before as f64), candidate));
        *before += 1;
    }
    places.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    places.into_iter().map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::mapping::Factor;

    fn row(registers: i64, warps: i64) -> Mapping {
        Mapping::new(vec![vec![
            Factor::new(Level::Register, registers),
            Factor::new(Level::Warp, warps),
            Factor::new(Level::Lane, 32),
        ]])
    }

    #[test]
    fn sizes_make_no_kind() {
        assert_eq!(Kind::of(&row(2, 4)), Kind::of(&row(4, 8)));
        assert_ne!(Kind::of(&row(2, 4)), Kind::of(&row(1, 4)));
    }

    #[test]
    fn the_best_of_each_kind_come_early() {
        let sorted = [
            (row(2, 4), 10.0),
            (row(4, 8), 10.1),
            (row(8, 2), 10.2),
            (row(1, 4), 10.25),
        ];
        let order = by_kind(sorted.to_vec(), |(mapping, microseconds)| {
            (mapping, *microseconds)
        });
        let expected = [0, 3, 1, 2].map(|index: usize| sorted[index].clone());
        assert_eq!(order, expected);
    }
}
