//! Loops that load the tiles of their next step ahead: along the rows of one kernel, along rows that are summed, and walks.
//!
//! Each has many steps, a tail, one step, part of one, and none; and a number of steps that is known only at run time.

use super::{plain, rings};
use crate::case::{Case, Op};
use crate::source::named::Call;
use norma_bundle::Element::{BF16, F32};

const ROWS: &str =
    "spread = [[grid], [loop, register(2), warp(2), lane(32), vector(4)]], keep = [l2], stages = 2";
const MERGED: &str = "spread = [[grid], [loop, register(2), warp(2), lane(32), vector(4)]], keep = [l2], stages = 2, merge_reductions = [loop]";
const PARTS: &str = "spread = [[grid], [loop, split(3), warp(2), lane(32), vector(4)]], keep = [l2], stages = 2, merge_reductions = [split, loop]";
const COLUMNS: &str =
    "spread = [[loop, register(2), warp(2), lane(4)], [grid, lane(8), vector(4)]], stages = 2";
const SPLIT_COLUMNS: &str =
    "spread = [[loop, split(3), warp(4), lane(4)], [grid, lane(8), vector(4)]], stages = 2";
const COLUMNS_TWICE: &str =
    "spread = [[loop, warp(4), lane(4)], [grid, lane(8), vector(4)]], keep = [l2], stages = 2";
const WALK: &str = "spread = [[loop, split(3)], [register(4), warp(2), lane(32), vector(8)]], stages = 2";
const WALK_OF_WARPS: &str = "spread = [[loop, split(2), warp(2), register(2)], [register(8), warp(2), lane(32), vector(4)]], stages = 2";

/// Loops along the columns of a row.
const ALONG_ROWS: &[Call] = &[
    Call {
        name: "softmax, loaded ahead",
        op: "softmax",
        schedule: Some(ROWS),
        ..Call::PLAIN
    },
    Call {
        name: "softmax merged, loaded ahead",
        op: "softmax",
        schedule: Some(MERGED),
        ..Call::PLAIN
    },
    Call {
        name: "softmax in parts, loaded ahead",
        op: "softmax",
        schedule: Some(PARTS),
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm merged, loaded ahead",
        op: "layer_norm",
        operands: &[("weight", "NxX"), ("bias", "Nxf32")],
        schedule: Some(MERGED),
        ..Call::PLAIN
    },
    Call {
        name: "cross_entropy, loaded ahead",
        op: "cross_entropy",
        operands: &[("labels", "?xi64")],
        attributes: "ignore_index = 3",
        results: &[("loss", "?xf32"), ("dlogits", "?xNxY")],
        by_keyword: true,
        schedule: Some(MERGED),
        ..Call::PLAIN
    },
    Call {
        name: "argmax, loaded ahead",
        op: "reduce_axes argmax",
        results: &[("y", "?xi32")],
        by_keyword: true,
        schedule: Some(ROWS),
        ..Call::PLAIN
    },
    Call {
        name: "softmax of rows that the run knows, loaded ahead",
        op: "softmax",
        x: "?x?xX",
        results: &[("y", "?x?xY")],
        schedule: Some(MERGED),
        ..Call::PLAIN
    },
];

/// Loops along rows, with the number of rows of one step of all parts.
const ALONG_COLUMNS: &[(Call, i64)] = &[
    (
        Call {
            name: "sum over rows, loaded ahead",
            op: "reduce_axes sum",
            attributes: "axes = array<i64: 0>",
            results: &[("y", "NxY")],
            by_keyword: true,
            schedule: Some(COLUMNS),
            ..Call::PLAIN
        },
        16,
    ),
    (
        Call {
            name: "max over rows, loaded ahead",
            op: "reduce_axes max",
            attributes: "axes = array<i64: 0>",
            results: &[("y", "NxY")],
            by_keyword: true,
            schedule: Some(COLUMNS),
            ..Call::PLAIN
        },
        16,
    ),
    (
        Call {
            name: "sum_sq over rows in parts, loaded ahead",
            op: "reduce_axes sum_sq",
            attributes: "axes = array<i64: 0>",
            results: &[("y", "NxA")],
            by_keyword: true,
            schedule: Some(SPLIT_COLUMNS),
            ..Call::PLAIN
        },
        48,
    ),
    (
        Call {
            name: "batch_stats, loaded ahead",
            op: "batch_stats",
            attributes: "axes = array<i64: 0>",
            results: &[("mean", "NxA"), ("var", "NxA")],
            schedule: Some(COLUMNS_TWICE),
            ..Call::PLAIN
        },
        16,
    ),
    (
        Call {
            name: "rms_norm_grad, loaded ahead",
            schedule: Some(WALK),
            ..rings::RMS
        },
        3,
    ),
    (
        Call {
            name: "layer_norm_grad of several rows, loaded ahead",
            schedule: Some(WALK_OF_WARPS),
            ..rings::LAYER
        },
        8,
    ),
];

pub(super) fn cases(cases: &mut Vec<Case>) {
    for call in ALONG_ROWS {
        for (x, columns) in [(BF16, 4096), (BF16, 769), (F32, 1000), (F32, 7)] {
            let mut case = plain(Op::Named(call), x, columns);
            // If the row length is dynamic too: two steps and part of one.
            case.run.rows = if call.x == "?x?xX" { columns.min(1100) } else { 3 };
            cases.push(case);
        }
    }
    for (call, rows_of_step) in ALONG_COLUMNS {
        for (x, columns) in [(BF16, 1288), (F32, 516)] {
            for rows in [4 * rows_of_step, 3 * rows_of_step + 1, *rows_of_step, 1, 0] {
                let mut case = plain(Op::Named(call), x, columns);
                case.run.rows = rows;
                cases.push(case);
            }
        }
    }
}
