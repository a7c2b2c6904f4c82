//! Schedules with alignment peeling: tiles begin at aligned addresses in rows that begin anywhere.

use norma_dialects::norm::Level;
use norma_targets::{THREADS_PER_CTA, Target, WARP_SIZE};

use super::{
    super::{
        facts::{Access, Facts, Use},
        mapping::{Factor, Mapping},
    },
    Extent, add_mappings, powers, registers_along,
    variants::push_held,
};

/// Rows of one thread where tiles are aligned: rows of the same alignment share the reads that do not vary by row.
const ALIGNED_ROWS: [u64; 3] = [1, 2, 4];

/// CTAs on each SM in walks over rows.
const WALKS_PER_SM: [u64; 4] = [1, 2, 3, 4];
/// The fewest reads that all rows share and that are aligned differently, for which a walk pays. RMSNorm over 10001 and 16385 columns, which
/// has one, reaches 3976 and 3979 GB/s by a CTA for each row, and 3691 and 3629 by walks; of a sum over 10001 columns 3798 and 3676 (H200).
const FEWEST_SHIFTED: usize = 2;
/// The fewest rows of a CTA in such a walk.
const FEWEST_STEPS: u64 = 4;

/// Returns the candidates whose tiles along `first` begin where vectors are aligned. All threads lie along `first`, and the rows of
/// one thread are `vector` rows apart, so that they have the same alignment.
pub(super) fn candidates(facts: &Facts, target: &Target, first: usize) -> Vec<Mapping> {
    let Some(lead) = facts.lead().filter(|lead| lead.contiguous() == Some(first)) else {
        return Vec::new();
    };
    let vector = lead.vector_if_aligned;
    let is_indirect = |access: &Access| access.is_indirect && access.uses[first];
    if vector <= lead.vector || facts.accesses.iter().any(is_indirect) {
        return Vec::new();
    }
    // A tile also holds elements before its row.
    let mut reaching = facts.clone();
    reaching.dims[first].extent += vector - 1;
    let begins_elsewhere = |dim: usize| lead.strides[dim].is_none_or(|stride| stride % vector as i64 != 0);
    let rows = (0..facts.dims.len())
        .filter(|dim| *dim != first && begins_elsewhere(*dim))
        .collect::<Vec<_>>();
    let is_shared = |access: &Access| access.uses[first] && rows.iter().any(|row| !access.uses[*row]);
    let row = match rows[..] {
        [row] if facts.accesses.iter().any(is_shared) && facts.dims[row].usage == Use::Kept => Some(row),
        _ => None,
    };
    let shifted = facts
        .accesses
        .iter()
        .filter(|access| is_shared(access) && facts.covers(access, first));
    let walked = row.filter(|_| shifted.count() >= FEWEST_SHIFTED);
    let rows_of_thread: &[u64] = if row.is_some() { &ALIGNED_ROWS } else { &[1] };
    let mut all = Vec::new();
    for warps in powers(1, THREADS_PER_CTA as u64 / WARP_SIZE as u64) {
        let along = Extent {
            warps,
            lanes: WARP_SIZE as u64,
            vector,
            ..Extent::ONE
        };
        for registers in registers_along(&reaching.dims[first], along) {
            let mut tile = vec![Extent::ONE; facts.dims.len()];
            tile[first] = Extent { registers, ..along };
            let mut whole = Vec::new();
            add_mappings(&reaching, target, &tile, &mut whole);
            // Partial sums over rows of different alignment would be of different columns. Unrolled steps lose: cross-entropy over 50257
            // columns reaches 4076 GB/s step by step, and 3909 with 128 bytes.
            whole.retain(|mapping| {
                mapping.extent(Level::Split) == 1 && mapping.unroll_bytes == 0 && !mapping.prefetches()
            });
            let walks = |row: usize| walks(facts, target, &whole, [row, first], vector);
            all.extend(walked.into_iter().flat_map(walks));
            for rows in rows_of_thread {
                for mapping in whole.iter().filter(|mapping| !mapping.early_reads) {
                    let mut mapping = mapping.clone();
                    mapping.aligned_dim = Some(first);
                    if let (Some(row), true) = (row, *rows > 1) {
                        mapping.spread[row].extend([
                            Factor::new(Level::Register, *rows as i64),
                            Factor::new(Level::Grid, vector as i64),
                        ]);
                    }
                    let is_held = mapping.looped_dims() == 0;
                    push_held(facts, mapping, is_held, &mut all);
                }
            }
        }
    }
    all
}

/// Returns the walks over rows of which a CTA holds one and loads the next one ahead. The rows of a CTA are multiples of `vector` apart, so
/// that what all rows share is aligned to them, and extended, once. LayerNorm over 5125, 10001 and 16385 columns reaches 3566, 3617 and
/// 3533 GB/s by such walks, and 2876, 2993 and 2541 at best by a CTA for each row (H200).
fn walks(
    facts: &Facts,
    target: &Target,
    mappings: &[Mapping],
    [row, first]: [usize; 2],
    vector: u64,
) -> Vec<Mapping> {
    let mut all = Vec::new();
    for per_sm in WALKS_PER_SM {
        let groups = u64::from(target.part.sms) * per_sm / vector;
        if groups == 0 || facts.dims[row].extent < FEWEST_STEPS * groups * vector {
            continue;
        }
        let whole = mappings.iter().filter(|mapping| {
            let holds_one = mapping.spread[row] == [Factor::rest(Level::Grid)];
            mapping.looped_dims() == 0 && !mapping.early_reads && holds_one
        });
        for mapping in whole {
            let mut walk = mapping.clone();
            walk.spread[row] = vec![
                Factor::rest(Level::Loop),
                Factor::new(Level::Grid, groups as i64),
                Factor::new(Level::Grid, vector as i64),
            ];
            walk.aligned_dim = Some(first);
            walk.stages = 2;
            walk.min_ctas_per_sm = per_sm as i64;
            all.push(walk);
        }
    }
    all
}
