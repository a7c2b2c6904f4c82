//! Where the vectors of candidates lie: along one dim, and over all of the dims that are shorter than a vector.

use super::{super::facts::Facts, Extent};

/// Where vectors lie.
pub(super) struct Vectors {
    /// By dim, the part of each tile that lies within a vector.
    pub(super) within: Vec<Extent>,
    /// The dim along which vectors lie, beyond the dims that they contain as a whole.
    pub(super) along: usize,
    /// The most points of `along` in one vector.
    pub(super) widest: u64,
}

/// Lays vectors along the dim along which the leading access is contiguous. Vectors that are longer than that dim contain all of it
/// and continue along the next dim of the access's run.
pub(super) fn vectors(facts: &Facts) -> Option<Vectors> {
    let first = fastest(facts)?;
    let mut vectors = Vectors {
        within: vec![Extent::ONE; facts.dims.len()],
        along: first,
        widest: 1,
    };
    let Some(lead) = facts.lead().filter(|lead| lead.contiguous() == Some(first)) else {
        return Some(vectors);
    };
    vectors.widest = lead.vector;
    for dim in lead.run(&facts.dims).into_iter().skip(1) {
        let extent = facts.dims[vectors.along].extent;
        if vectors.widest <= extent {
            break;
        }
        // The results that a dim counts are computed in other steps of a loop.
        if facts.dims[dim].is_counting {
            vectors.widest = extent;
            break;
        }
        vectors.within[vectors.along].vector = extent;
        vectors.widest /= extent;
        vectors.along = dim;
    }
    Some(vectors)
}

/// Returns the dim along which the leading access is contiguous; if there is none, the dim of its shortest stride.
fn fastest(facts: &Facts) -> Option<usize> {
    let Some(lead) = facts.lead() else {
        return (!facts.dims.is_empty()).then(|| facts.dims.len() - 1);
    };
    let used = (0..facts.dims.len()).filter(|dim| lead.uses[*dim]);
    lead.contiguous()
        .or_else(|| {
            used.min_by_key(|dim| {
                (
                    lead.strides[*dim]
                        .filter(|stride| *stride > 0)
                        .unwrap_or(i64::MAX),
                    usize::MAX - dim,
                )
            })
        })
        .or(Some(facts.dims.len().checked_sub(1)?))
}
