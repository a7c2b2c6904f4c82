//! Random layouts for property tests, small enough to be checked element by element.

use proptest::prelude::*;

use crate::blocked::BlockedParams;
use crate::linear::{Basis, LinearLayout};

fn powers(rank: usize, max_log2: u32) -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec((0..=max_log2).prop_map(|bits| 1_i64 << bits), rank)
}

fn params(rank: usize) -> impl Strategy<Value = BlockedParams> {
    let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
    (
        powers(rank, 2),
        powers(rank, 2),
        powers(rank, 1),
        powers(rank, 1),
        order,
    )
        .prop_map(
            |(size_per_thread, threads_per_warp, warps_per_cta, ctas_per_cluster, order)| BlockedParams {
                size_per_thread,
                threads_per_warp,
                warps_per_cta,
                ctas_per_cluster,
                order,
            },
        )
}

/// Parameters of a blocked layout and a tile that may be smaller or larger than the block.
pub(crate) fn blocked_and_shape() -> impl Strategy<Value = (BlockedParams, Vec<i64>)> {
    (1..=3_usize).prop_flat_map(|rank| (params(rank), powers(rank, if rank == 3 { 3 } else { 5 })))
}

/// A blocked layout.
pub(crate) fn blocked_layout() -> impl Strategy<Value = LinearLayout> {
    blocked_and_shape().prop_map(|(params, shape)| LinearLayout::blocked(&params, &shape).unwrap())
}

/// Two blocked layouts of one tile over the same numbers of lanes, warps and CTAs.
pub(crate) fn pair_of_blocked() -> impl Strategy<Value = (LinearLayout, LinearLayout)> {
    blocked_and_shape().prop_flat_map(|(from, shape)| {
        let rank = shape.len();
        let threads = (0..rank).collect::<Vec<_>>();
        let permuted = (
            Just(threads.clone()).prop_shuffle(),
            Just(threads).prop_shuffle(),
            powers(rank, 2),
        );
        permuted.prop_map(move |(axes, order, size_per_thread)| {
            let pick = |list: &[i64]| axes.iter().map(|&axis| list[axis]).collect::<Vec<_>>();
            let to = BlockedParams {
                size_per_thread,
                threads_per_warp: pick(&from.threads_per_warp),
                warps_per_cta: pick(&from.warps_per_cta),
                ctas_per_cluster: pick(&from.ctas_per_cluster),
                order,
            };
            (
                LinearLayout::blocked(&from, &shape).unwrap(),
                LinearLayout::blocked(&to, &shape).unwrap(),
            )
        })
    })
}

fn basis(shape: Vec<i64>) -> impl Strategy<Value = Basis> {
    shape
        .into_iter()
        .map(|extent| 0..extent as i32)
        .collect::<Vec<_>>()
}

/// The unit vectors of the tile in random order with random further bases mixed in, dealt to the four dims, each
/// basis by chance replaced by its XOR with its predecessor: always onto, seldom blocked.
fn linear(shape: Vec<i64>, dealt: [usize; 3]) -> impl Strategy<Value = LinearLayout> {
    let rank = shape.len();
    let units: Vec<Basis> = (0..rank)
        .flat_map(|axis| {
            (0..shape[axis].ilog2()).map(move |bit| {
                let mut unit = vec![0; rank];
                unit[axis] = 1 << bit;
                unit
            })
        })
        .collect();
    let total = units.len() + 2;
    (
        Just(units),
        prop::collection::vec(basis(shape.clone()), 2),
        prop::collection::vec(0..6_u8, total),
    )
        .prop_map(|(mut units, extra, chance)| {
            units.extend(extra);
            (units, chance)
        })
        .prop_flat_map(|(all, chance)| {
            (
                prop_oneof![Just(all.clone()).boxed(), Just(all).prop_shuffle().boxed()],
                Just(chance),
            )
        })
        .prop_map(move |(mut all, chance)| {
            for i in (1..all.len()).filter(|&i| chance[i] == 0) {
                let previous = all[i - 1].clone();
                all[i]
                    .iter_mut()
                    .zip(previous)
                    .for_each(|(value, other)| *value ^= other);
            }
            let [lanes, warps, blocks] = dealt;
            let registers = all.split_off((lanes + warps + blocks).min(all.len()));
            let mut rest = all.into_iter();
            let mut take = |count| rest.by_ref().take(count).collect::<Vec<_>>();
            let (lane, warp, block) = (take(lanes), take(warps), take(blocks));
            LinearLayout::new([registers, lane, warp, block], shape.clone()).unwrap()
        })
}

fn small_shape() -> impl Strategy<Value = Vec<i64>> {
    (1..=3_usize).prop_flat_map(|rank| powers(rank, 3))
}

fn dealt() -> impl Strategy<Value = [usize; 3]> {
    [0..=3_usize, 0..=2, 0..=1]
}

/// A layout that need not be blocked.
pub(crate) fn any_layout() -> impl Strategy<Value = LinearLayout> {
    let other = (small_shape(), dealt()).prop_flat_map(|(shape, dealt)| linear(shape, dealt));
    prop_oneof![blocked_layout(), other]
}

/// Two layouts of one tile over the same numbers of lanes, warps and CTAs that need not be blocked.
pub(crate) fn any_layout_pair() -> impl Strategy<Value = (LinearLayout, LinearLayout)> {
    (small_shape(), dealt())
        .prop_flat_map(|(shape, dealt)| (linear(shape.clone(), dealt), linear(shape, dealt)))
}
