//! Persistent clusters: rows that clusters hold, drawn by as many clusters as are resident.
//!
//! What all rows share, such as a weight, is read once by each CTA and stays in its registers, and rings bring the next rows meanwhile. By a
//! cluster for each row, LayerNorm reads a weight and a bias from L2 for each row, twice the bytes of the row, and L2 is what it is bound
//! by. Rows are drawn: with a fixed share for each cluster the last ones end late.
//!
//! | bf16 columns, H200, GB/s | a cluster for each row, at best | persistent, fixed shares | persistent, drawn |
//! |---|---|---|---|
//! | LayerNorm, 49152, 65536, 131072 | 3841, 3644, 3648 | 3858, 3826, 3942 | 4046, 4101, 4050 |
//! | RMSNorm, 65536, 131072, 200000 | 4102, 4058, 3899 | 3991, 3999, 3869 | 4162, 4153, 4061 |

use norma_dialects::norm::{HandOut, Level};
use norma_targets::Target;

use super::{
    super::{
        cluster_room,
        facts::{Access, Facts},
        mapping::{Factor, Mapping},
        rings,
    },
    clusters::is_held,
};

/// CTAs on each SM.
const CTAS_PER_SM: [u64; 2] = [1, 2];

/// The fewest rows for each cluster: with fewer, its ring is never filled more than once.
const ROWS_OF_CLUSTER: u64 = 4;

/// Returns the persistent variants of mappings by which clusters hold rows along the dim `first`. With `merges` their
/// reductions share an exchange, if all threads hold as many elements: otherwise the weights of partial means are computed in each step.
/// LayerNorm over 40960 columns, in which half of the threads hold 16 elements and the others 24, takes 2.3 us a step in clusters of
/// eight, and over 49152 columns, 24 in each thread, 1.5 us (H200).
pub(super) fn variants(
    facts: &Facts,
    target: &Target,
    mappings: &[Mapping],
    first: usize,
    merges: bool,
) -> Vec<Mapping> {
    let mut all = Vec::new();
    for mapping in mappings.iter().filter(|mapping| is_held(mapping)) {
        let Some(rows) = rows(facts, mapping) else {
            continue;
        };
        let is_shared = |access: &Access| !access.is_write && !access.uses[rows] && access.uses[first];
        if !facts.accesses.iter().any(is_shared) {
            continue;
        }
        for per_sm in CTAS_PER_SM {
            let Some(mut walk) = drawing(facts, target, mapping, rows, per_sm) else {
                continue;
            };
            if merges && is_whole(facts, mapping, first) {
                walk.merge_reductions = vec![Level::Cluster];
            }
            all.extend(produced(facts, target, &walk));
        }
    }
    all
}

/// Returns the walk of resident clusters, `per_sm` of whose CTAs share an SM, that draw the points of the dim `rows`, of which `mapping`
/// gives each cluster one; `None` if there are too few points.
pub(super) fn drawing(
    facts: &Facts,
    target: &Target,
    mapping: &Mapping,
    rows: usize,
    per_sm: u64,
) -> Option<Mapping> {
    let clusters = cluster_room::resident(target, mapping.ctas_per_cluster().unsigned_abs(), per_sm);
    if facts.dims[rows].extent < ROWS_OF_CLUSTER * clusters {
        return None;
    }
    let mut walk = mapping.clone();
    walk.spread[rows] = vec![
        Factor::rest(Level::Loop),
        Factor::new(Level::Grid, clusters as i64),
    ];
    walk.min_ctas_per_sm = per_sm as i64;
    walk.hand_out = HandOut::Dynamic;
    Some(walk)
}

/// Returns the variant of a walk whose rows a producer warp brings through rings, if there is one.
pub(super) fn produced(facts: &Facts, target: &Target, walk: &Mapping) -> Option<Mapping> {
    rings::ringed(facts, walk, target).filter(|ringed| ringed.producer_warps > 0)
}

/// The dim that counts the rows of which a cluster holds one; `None` if several dims do, or if a cluster holds several rows.
fn rows(facts: &Facts, mapping: &Mapping) -> Option<usize> {
    let in_grid = |dim: &usize| mapping.spread[*dim].contains(&Factor::rest(Level::Grid));
    let mut rows = (0..facts.dims.len()).filter(in_grid);
    let only = rows.next()?;
    (rows.next().is_none() && mapping.spread[only].len() == 1).then_some(only)
}

/// Whether each thread of a cluster has as many elements of the dim `first`.
fn is_whole(facts: &Facts, mapping: &Mapping, first: usize) -> bool {
    let beside = mapping.spread[first]
        .iter()
        .filter(|factor| factor.level != Level::Register);
    let points = beside.filter_map(|factor| factor.size).product::<i64>();
    facts.dims[first]
        .extent
        .is_multiple_of(points.unsigned_abs().max(1))
}
