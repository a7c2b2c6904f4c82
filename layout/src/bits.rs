//! Gaussian elimination over GF(2) on vectors packed into `u64`.
//!
//! A vector is the set bits of a word and addition is XOR. [`Span`] grows one vector at a time and remembers how each
//! of its members was made, which is all that rank, kernel, solving and right inverses need.

/// The span of the vectors inserted so far, in echelon form.
///
/// Each vector carries a *tag*, itself a GF(2) vector; whatever XOR of vectors is formed, the same XOR of tags is
/// formed beside it. With tag `1 << i` for the i-th vector, tags are the coefficients of a linear combination.
///
/// Invariant: each row's pivot, its highest set bit, is different from every other row's.
#[derive(Debug, Clone, Default)]
pub struct Span {
    rows: Vec<(u64, u64)>,
}

impl Span {
    /// The span of `columns`, where column `i` is tagged `1 << i`.
    pub fn of(columns: impl IntoIterator<Item = u64>) -> Self {
        let mut span = Self::default();
        for (i, column) in columns.into_iter().enumerate() {
            span.insert(column, 1 << i);
        }
        span
    }

    /// The span of vectors with tags of their own.
    pub fn of_tagged(vectors: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut span = Self::default();
        for (vector, tag) in vectors {
            span.insert(vector, tag);
        }
        span
    }

    /// Adds `vector`; if it is dependent on the vectors so far, changes nothing and returns the tag of the dependency
    /// (with coefficient tags, a kernel vector).
    pub fn insert(&mut self, vector: u64, tag: u64) -> Option<u64> {
        let (rest, tag) = self.reduce(vector, tag);
        if rest == 0 {
            return Some(tag);
        }
        let position = self.rows.partition_point(|row| row.0 > rest);
        self.rows.insert(position, (rest, tag));
        None
    }

    /// The tag of the combination that makes `vector`, or `None` if it lies outside the span.
    pub fn express(&self, vector: u64) -> Option<u64> {
        let (rest, tag) = self.reduce(vector, 0);
        (rest == 0).then_some(tag)
    }

    /// The number of independent vectors.
    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    // Rows are sorted by descending pivot, so one pass clears every pivot bit.
    fn reduce(&self, mut vector: u64, mut tag: u64) -> (u64, u64) {
        for &(row, row_tag) in &self.rows {
            if vector & (1 << row.ilog2()) != 0 {
                vector ^= row;
                tag ^= row_tag;
            }
        }
        (vector, tag)
    }
}

/// The XOR of the columns that `coefficients` selects: the matrix product of `columns` with a vector.
pub fn combine(columns: &[u64], coefficients: u64) -> u64 {
    set_bits(coefficients).fold(0, |sum, i| sum ^ columns[i])
}

/// A basis of the vectors that the matrix with these columns maps to zero.
pub fn kernel(columns: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut span = Span::default();
    columns
        .into_iter()
        .enumerate()
        .filter_map(|(i, column)| span.insert(column, 1 << i))
        .collect()
}

/// All `2^n` combinations of `n` independent generators, ascending.
pub fn subspace(generators: &[u64]) -> Vec<u64> {
    let mut members = vec![0];
    for generator in generators {
        members.extend(members.clone().iter().map(|member| member ^ generator));
    }
    members.sort_unstable();
    members
}

/// The positions of the set bits, ascending.
pub fn set_bits(word: u64) -> impl Iterator<Item = usize> {
    (0..u64::BITS as usize).filter(move |bit| word >> bit & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rank_plus_kernel_is_the_number_of_columns(columns in prop::collection::vec(0u64..256, 0..12)) {
            let kernel = kernel(columns.iter().copied());
            prop_assert_eq!(Span::of(columns.iter().copied()).rank() + kernel.len(), columns.len());
            for vector in kernel {
                prop_assert_ne!(vector, 0);
                prop_assert_eq!(combine(&columns, vector), 0);
            }
        }

        #[test]
        fn express_solves_exactly_when_a_solution_exists(
            columns in prop::collection::vec(0u64..32, 0..6),
            target in 0u64..32,
        ) {
            let reachable = (0..1u64 << columns.len()).any(|x| combine(&columns, x) == target);
            let solution = Span::of(columns.iter().copied()).express(target);
            prop_assert_eq!(solution.is_some(), reachable);
            if let Some(x) = solution {
                prop_assert_eq!(combine(&columns, x), target);
            }
        }
    }

    #[test]
    fn subspace_lists_every_combination_once() {
        assert_eq!(subspace(&[1, 6]), [0, 1, 6, 7]);
    }
}
