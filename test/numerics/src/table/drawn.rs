//! Walks whose CTAs or clusters draw their tiles dynamically: through rings with and without a producer warp, and by plain loads.
//!
//! Each has numbers of rows with several draws per CTA, with as many tiles as CTAs, with fewer, and with none; and tiles of
//! several rows that are only partly filled.

use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;
use norma_bundle::Element::{BF16, F32};

/// RMSNorm, LayerNorm, softmax and a sum of rows, each with the number of rows of a tile.
const WALKS: &[(Call, i64)] = &[
    (
        Call {
            name: "rms_norm, drawn through a ring",
            op: "rms_norm",
            operands: &[("weight", "NxX")],
            schedule: Some(
                "spread = [[loop, grid(3)], [register(4), warp(2), lane(32), vector(8)]], keep = [shared, none, none], \
                 bring = bulk, stages = 3, producer_warps = 1, hand_out = dynamic",
            ),
            ..Call::PLAIN
        },
        1,
    ),
    (
        Call {
            name: "layer_norm, drawn through a ring of one stage",
            op: "layer_norm",
            operands: &[("weight", "NxX"), ("bias", "Nxf32")],
            schedule: Some(
                "spread = [[loop, grid(2), warp(2)], [register(8), warp(2), lane(32), vector(4)]], \
                 keep = [shared, none, none, none], bring = bulk, stages = 1, producer_warps = 1, hand_out = dynamic",
            ),
            ..Call::PLAIN
        },
        2,
    ),
    (
        Call {
            name: "softmax, drawn through a ring of all warps",
            op: "softmax",
            schedule: Some(
                "spread = [[loop, grid(2), warp(4), register(2)], [register(16), lane(32), vector(4)]], keep = [shared, none], \
                 bring = bulk, stages = 2, hand_out = dynamic",
            ),
            ..Call::PLAIN
        },
        8,
    ),
    (
        Call {
            name: "rms_norm, drawn as boxes",
            op: "rms_norm",
            operands: &[("weight", "NxX")],
            schedule: Some(
                "spread = [[loop, grid(2), warp(2)], [register(8), lane(32), vector(8)]], keep = [shared, none, none], \
                 bring = tensor, stages = 2, producer_warps = 1, hand_out = dynamic",
            ),
            ..Call::PLAIN
        },
        2,
    ),
    (
        Call {
            name: "layer_norm, drawn by clusters",
            op: "layer_norm",
            operands: &[("weight", "NxX"), ("bias", "NxX")],
            schedule: Some(
                "spread = [[loop, grid(3)], [register(2), cluster(4), warp(2), lane(32), vector(8)]], \
                 keep = [shared, none, none, none], bring = bulk, stages = 2, producer_warps = 1, hand_out = dynamic, \
                 merge_reductions = [cluster]",
            ),
            ..Call::PLAIN
        },
        1,
    ),
    (
        Call {
            name: "layer_norm, drawn by clusters of 16",
            op: "layer_norm",
            operands: &[("weight", "NxX"), ("bias", "NxX")],
            schedule: Some(
                "spread = [[loop, grid(2)], [register(2), cluster(16), lane(32), vector(4)]], keep = [shared, none, none, none], \
                 bring = bulk, stages = 2, producer_warps = 1, hand_out = dynamic, merge_reductions = [cluster]",
            ),
            ..Call::PLAIN
        },
        1,
    ),
    (
        Call {
            name: "rms_norm, drawn as boxes by clusters",
            op: "rms_norm",
            operands: &[("weight", "NxX")],
            schedule: Some(
                "spread = [[loop, grid(2)], [register(4), cluster(2), warp(2), lane(32), vector(8)]], keep = [shared, none, none], \
                 bring = tensor, stages = 3, producer_warps = 1, hand_out = dynamic",
            ),
            ..Call::PLAIN
        },
        1,
    ),
    (
        Call {
            name: "softmax, drawn and loaded",
            op: "softmax",
            schedule: Some(
                "spread = [[loop, grid(3)], [register(8), warp(2), lane(32), vector(4)]], hand_out = dynamic",
            ),
            ..Call::PLAIN
        },
        1,
    ),
    (
        Call {
            name: "sum, drawn and loaded by warps on their own",
            op: "reduce_axes sum",
            results: &[("y", "?xY")],
            by_keyword: true,
            schedule: Some(
                "spread = [[loop, grid(2), warp(4)], [register(16), lane(32), vector(4)]], hand_out = dynamic",
            ),
            ..Call::PLAIN
        },
        4,
    ),
];

/// The largest number of CTAs, or of clusters, that draw.
const CTAS: i64 = 3;

/// Every case.
pub(super) fn cases(cases: &mut Vec<Case>) {
    for (call, rows_of_tile) in WALKS {
        for (x, columns) in [(BF16, 2048), (F32, 516)] {
            for rows in [7 * CTAS * rows_of_tile + 1, CTAS * rows_of_tile, 1, 0] {
                let mut case = plain(Op::Named(call), x, columns);
                case.run.rows = rows;
                case.run.seeds = 4;
                cases.push(case);
            }
        }
    }
}
