//! Where the vectors of candidates lie: along one dim, and along what is shorter than they are as a whole.

use super::{super::facts::Facts, Extent};

/// Where vectors lie.
pub(super) struct Vectors {
    /// By dim, what each tile has of it for being within vectors.
    pub(super) within: Vec<Extent>,
    /// The dim along which vectors lie, of what is not within them.
    pub(super) along: usize,
    /// The most points of it that one has.
    pub(super) widest: u64,
}

/// Vectors lie along the dim along which the leading access is contiguous. Where they are longer than that dim, they have all of it,
/// and lie along the next one of the access's run.
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
        vectors.within[vectors.along].vector = extent;
        vectors.widest /= extent;
        vectors.along = dim;
    }
    Some(vectors)
}

/// The dim along which the leading access is contiguous; of one that is so nowhere, the dim of its shortest stride.
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
