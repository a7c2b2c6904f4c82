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
