//! Schedules whose rows the CTAs of a cluster share.

use norma_targets::{THREADS_PER_CTA, Target, WARP_SIZE};

use super::{
    super::{facts::Facts, mapping::Mapping},
    Extent, finish, powers, registers_along,
};

/// The candidates with clusters along `first`, each of whose CTAs has accesses for all of its threads. What needs a row again finds
/// a part of it in each CTA; rows that are only summed up are split instead. Only sizes that are portable: others need more of
/// whoever launches.
pub(super) fn candidates(facts: &Facts, target: &Target, first: usize, vector: u64, all: &mut Vec<Mapping>) {
    let dim = &facts.dims[first];
    if !dim.is_known || !dim.is_revisited {
        return;
    }
    for ctas in powers(2, target.cluster_size.into()) {
        for warps in powers(1, THREADS_PER_CTA as u64 / WARP_SIZE as u64) {
            let along = Extent {
                ctas,
                warps,
                lanes: WARP_SIZE as u64,
                vector,
                ..Extent::ONE
            };
            if along.points() > dim.extent.next_power_of_two() {
                continue;
            }
            for registers in registers_along(dim, along) {
                let mut tile = vec![Extent::ONE; facts.dims.len()];
                tile[first] = Extent { registers, ..along };
                finish(facts, target, &tile, all);
            }
        }
    }
}
