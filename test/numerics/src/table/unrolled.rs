//! Loops whose steps are unrolled, their loads together: along rows of one kernel, along rows that are summed, and in place.
//!
//! Each has many groups of steps, a group and steps that are left, part of a step, and a number of steps that is known only at run time.

use super::plain;
use crate::case::{Case, Op};
use crate::source::graphs::{ADD_RMS_NORM_IN_PLACE, CROSS_ENTROPY_IN_PLACE};
use crate::source::named::Call;
use norma_bundle::Element::{BF16, F32};

const ROWS: &str = "spread = [[grid], [loop, warp(2), lane(32), vector(4)]], keep = [l2], unroll_bytes = 32";
const MERGED: &str = "spread = [[grid], [loop, warp(2), lane(32), vector(4)]], keep = [l1], unroll_bytes = 64, merge_reductions = [loop]";
const OF_CLUSTERS: &str = "spread = [[grid], [loop, cluster(2), warp(2), lane(32), vector(4)]], keep = [l2], unroll_bytes = 24, merge_reductions = [loop]";
const PARTS: &str = "spread = [[grid], [loop, split(3), warp(2), lane(32), vector(4)]], keep = [l2], unroll_bytes = 32, merge_reductions = [split, loop]";
const COLUMNS: &str = "spread = [[loop, warp(2), lane(4)], [grid, lane(8), vector(4)]], unroll_bytes = 32";

/// Loops along the columns of a row.
const ALONG_ROWS: &[Call] = &[
    Call {
        name: "layer_norm, unrolled",
        op: "layer_norm",
        operands: &[("weight", "NxX"), ("bias", "Nxf32")],
        schedule: Some(ROWS),
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm merged, unrolled",
        op: "layer_norm",
        operands: &[("weight", "NxX"), ("bias", "Nxf32")],
        schedule: Some(MERGED),
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm merged in clusters, unrolled",
        op: "layer_norm",
        schedule: Some(OF_CLUSTERS),
        ..Call::PLAIN
    },
    Call {
        name: "softmax in parts, unrolled",
        op: "softmax",
        schedule: Some(PARTS),
        ..Call::PLAIN
    },
    Call {
        name: "softmax of rows that the run knows, unrolled",
        op: "softmax",
        x: "?x?xX",
        results: &[("y", "?x?xY")],
        schedule: Some(MERGED),
        ..Call::PLAIN
    },
];

/// A loop along rows.
const ALONG_COLUMNS: &Call = &Call {
    name: "sum over rows, unrolled",
    op: "reduce_axes sum",
    attributes: "axes = array<i64: 0>",
    results: &[("y", "NxY")],
    by_keyword: true,
    schedule: Some(COLUMNS),
    ..Call::PLAIN
};

pub fn cases(cases: &mut Vec<Case>) {
    for call in ALONG_ROWS {
        for x in [BF16, F32] {
            for columns in [3, 256, 1024, 1792, 1900, 4097] {
                let mut case = plain(Op::Named(call), x, columns);
                case.run.rows = 3;
                cases.push(case);
            }
        }
    }
    for rows in [0, 1, 8, 63, 64, 200] {
        let mut case = plain(Op::Named(ALONG_COLUMNS), BF16, 96);
        case.run.rows = rows;
        cases.push(case);
    }
    for graph in [&ADD_RMS_NORM_IN_PLACE, &CROSS_ENTROPY_IN_PLACE] {
        for columns in [1000, 2048] {
            let mut case = plain(Op::Graph(graph), BF16, columns);
            case.program.schedule = Some(crate::case::Schedule {
                chunk: Some(1),
                keep: crate::case::Keep::L1,
                threads_per_row: 32,
                vector: 4,
                unroll_bytes: 32,
                ..Default::default()
            });
            cases.push(case);
        }
    }
}
