//! Reductions that depend on another and are merged with it, at each level of the machine: within the CTAs of a cluster,
//! between them, and after loops.
//!
//! Each has rows that fill the tile, so that all partial results are of equally many elements, and rows that do not, so that
//! some have fewer or none.

use norma_bundle::Element::{BF16, F16, F32, F64};
use norma_oracle::Fill;

use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;

const PAIRS_OF_CTAS: &str = "spread = [[grid], [register(2), cluster(2), warp(2), lane(32), vector(4)]], merge_reductions = [cluster]";
const EIGHT_CTAS: &str =
    "spread = [[grid], [register(2), cluster(8), lane(32), vector(2)]], merge_reductions = [cluster]";
const THREADS_OF_CLUSTERS: &str = "spread = [[grid], [register(2), cluster(4), warp(4), lane(32), vector(2)]], merge_reductions = [cluster, warp, lane]";
const THREADS: &str =
    "spread = [[grid], [register(2), warp(4), lane(32), vector(4)]], merge_reductions = [warp, lane]";
/// Two rows of a CTA, each within one warp; two rows per thread.
const ROWS_OF_WARPS: &str =
    "spread = [[grid, warp(2)], [register(4), lane(32), vector(4)]], merge_reductions = [warp, lane]";
const ROWS_OF_THREADS: &str = "spread = [[grid, register(2)], [cluster(2), warp(2), lane(32), vector(4)]], merge_reductions = [cluster]";
/// Loops whose partial results are merged in each thread, then in the CTA (in two rounds or merged), then in the cluster.
const STEPS_OF_CLUSTERS: &str = "spread = [[grid], [loop, cluster(2), warp(2), lane(32), vector(4)]], keep = [l2], merge_reductions = [cluster, loop]";
const STEPS_AND_THREADS_OF_CLUSTERS: &str = "spread = [[grid], [loop, cluster(4), lane(32), vector(4)]], keep = [l2], merge_reductions = [cluster, loop, warp, lane]";
const STEPS_AND_THREADS: &str = "spread = [[grid], [loop, warp(4), lane(32), vector(2)]], keep = [l1], merge_reductions = [loop, warp, lane]";
/// Both reductions pass over the row, and the cluster exchanges once.
const PASSES_OF_CLUSTERS: &str = "spread = [[grid], [loop, cluster(2), warp(2), lane(32), vector(4)]], keep = [l2], merge_reductions = [cluster]";
/// Rows in the shared memory of a cluster.
const SHARED_BY_CLUSTERS: &str = "spread = [[grid], [register(2), cluster(2), warp(2), lane(32), vector(4)]], keep = [shared], bring = cp_async, merge_reductions = [cluster]";

/// Calls with the number of columns that fills their tile or one step of it, so that all partial results are of equally many
/// elements.
const CALLS: &[(Call, i64)] = &[
    (softmax(PAIRS_OF_CTAS), 1024),
    (layer_norm(PAIRS_OF_CTAS), 1024),
    (softmax(EIGHT_CTAS), 1024),
    (layer_norm(EIGHT_CTAS), 1024),
    (softmax(THREADS_OF_CLUSTERS), 2048),
    (layer_norm(THREADS_OF_CLUSTERS), 2048),
    (softmax(THREADS), 1024),
    (layer_norm(THREADS), 1024),
    (softmax(ROWS_OF_WARPS), 512),
    (layer_norm(ROWS_OF_WARPS), 512),
    (softmax(ROWS_OF_THREADS), 512),
    (layer_norm(ROWS_OF_THREADS), 512),
    (softmax(STEPS_OF_CLUSTERS), 512),
    (layer_norm(STEPS_OF_CLUSTERS), 512),
    (softmax(STEPS_AND_THREADS_OF_CLUSTERS), 512),
    (layer_norm(STEPS_AND_THREADS_OF_CLUSTERS), 512),
    (softmax(STEPS_AND_THREADS), 256),
    (layer_norm(STEPS_AND_THREADS), 256),
    (softmax(PASSES_OF_CLUSTERS), 512),
    (layer_norm(PASSES_OF_CLUSTERS), 512),
    (softmax(SHARED_BY_CLUSTERS), 1024),
    (layer_norm(SHARED_BY_CLUSTERS), 1024),
];

const fn softmax(schedule: &'static str) -> Call {
    Call {
        name: "softmax, merged",
        op: "softmax",
        schedule: Some(schedule),
        ..Call::PLAIN
    }
}

const fn layer_norm(schedule: &'static str) -> Call {
    Call {
        name: "layer_norm, merged",
        op: "layer_norm",
        operands: &[("weight", "NxX"), ("bias", "Nxf32")],
        schedule: Some(schedule),
        ..Call::PLAIN
    }
}

/// The fills of the inputs, in turn.
const FILLS: [Fill; 4] = [Fill::Normal, Fill::Special, Fill::Offset, Fill::Large];

pub(super) fn cases(cases: &mut Vec<Case>) {
    for (number, (call, held)) in CALLS.iter().enumerate() {
        let is_looped = call.schedule.is_some_and(|schedule| schedule.contains("loop"));
        // The named op does not support softmax of f64.
        let third = if call.op == "softmax" { F16 } else { F64 };
        let whole = if is_looped { 3 * held } else { *held };
        let rows = [
            (F32, whole),
            (BF16, whole - 24),
            (third, whole / 2 + 3),
            (BF16, 7),
            (F32, whole / 2),
        ];
        for (place, (x, columns)) in rows.into_iter().enumerate() {
            let mut case = plain(Op::Named(call), x, columns);
            case.run.rows = 3;
            case.run.fill = FILLS[(number / 2 + place) % FILLS.len()];
            cases.push(case);
        }
    }
}
