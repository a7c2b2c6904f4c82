//! Walks over rows that come through rings in shared memory, by one CTA and by the CTAs of a cluster.
//!
//! Each has rows for several steps of every part, for part of a step, for a single part, and none.

use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;
use norma_bundle::Element::{self, BF16, F16, F32};

pub(crate) const RMS: Call = Call {
    name: "rms_norm_grad through rings",
    op: "rms_norm_grad",
    operands: &[("dy", "?xNxX"), ("weight", "NxX"), ("rstd", "?xA")],
    results: &[("dx", "?xNxY"), ("dweight", "NxX")],
    by_keyword: true,
    ..Call::PLAIN
};
pub(super) const LAYER: Call = Call {
    name: "layer_norm_grad through rings",
    op: "layer_norm_grad",
    operands: &[
        ("dy", "?xNxX"),
        ("weight", "NxX"),
        ("mean", "?xA"),
        ("rstd", "?xA"),
    ],
    results: &[("dx", "?xNxY"), ("dweight", "NxA"), ("dbias", "NxA")],
    ..RMS
};

/// Gradients by walks whose steps reduce `x` and `dy` from shared memory, with the number of rows of one step of all parts.
const WALKS: &[(Call, i64)] = &[
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(3)], [register(4), warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none], bring = bulk, stages = 3, producer_warps = 1",
            ),
            ..RMS
        },
        3,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(3)], [register(2), cluster(2), warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none], bring = bulk, stages = 3, producer_warps = 1",
            ),
            ..RMS
        },
        3,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(2), warp(2)], [register(4), cluster(4), lane(32), vector(4)]], \
                 keep = [shared, shared, none, none, none, none], bring = bulk, stages = 2",
            ),
            ..RMS
        },
        4,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(2), register(2)], [cluster(8), warp(2), lane(32), vector(4)]], \
                 keep = [shared, shared, none, none, none, none, none, none], bring = bulk, stages = 4, producer_warps = 1",
            ),
            ..LAYER
        },
        4,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(2), warp(2)], [register(2), cluster(4), warp(2), lane(32), vector(4)]], \
                 keep = [shared, none, none, none, none, none, none, none], bring = bulk, stages = 2, producer_warps = 1",
            ),
            ..LAYER
        },
        4,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(2)], [register(2), cluster(16), warp(2), lane(32), vector(4)]], \
                 keep = [shared, shared, none, none, none, none, none, none], bring = bulk, stages = 2, producer_warps = 1",
            ),
            ..LAYER
        },
        2,
    ),
];

/// The same with copies by the threads themselves, of rows of any number of bytes: rings of several stages and of one.
const WALKS_BY_THREADS: &[(Call, i64)] = &[
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(3)], [register(4), warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none], bring = cp_async, stages = 3",
            ),
            ..RMS
        },
        3,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(2), register(2)], [register(4), warp(4), lane(32), vector(4)]], \
                 keep = [shared, none, none, none, none, none], bring = cp_async",
            ),
            ..RMS
        },
        4,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(2), warp(2)], [register(4), cluster(2), warp(2), lane(32), vector(4)]], \
                 keep = [shared, shared, none, none, none, none, none, none], bring = cp_async, stages = 2",
            ),
            ..LAYER
        },
        4,
    ),
];

/// The same with tensor maps, whose boxes extend past the ends of rows.
const WALKS_BY_BOXES: &[(Call, i64)] = &[
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(3)], [register(4), warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none], bring = tensor, stages = 3, producer_warps = 1",
            ),
            ..RMS
        },
        3,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(2), warp(2)], [register(4), cluster(2), warp(2), lane(32), vector(4)]], \
                 keep = [shared, shared, none, none, none, none, none, none], bring = tensor, stages = 2",
            ),
            ..LAYER
        },
        4,
    ),
];

/// The same by groups of consumers that take the steps in turns, and by consumers that get the registers of a warpgroup of producers. Steps
/// are as many as groups and one more, fewer than groups, and none.
const WALKS_IN_TURNS: &[(Call, i64)] = &[
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(3)], [register(4), warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none], bring = bulk, stages = 4, producer_warps = 1, consumer_groups = 2",
            ),
            ..RMS
        },
        3,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(2), warp(2)], [register(4), warp(2), lane(32), vector(8)]], \
                 keep = [shared, none, none, none, none, none, none, none], bring = tensor, stages = 3, producer_warps = 4, \
                 producer_registers = 24, consumer_groups = 3, min_ctas_per_sm = 1",
            ),
            ..LAYER
        },
        4,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(3)], [register(2), warp(4), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none], bring = bulk, stages = 3, producer_warps = 4, \
                 producer_registers = 40, min_ctas_per_sm = 2",
            ),
            ..RMS
        },
        3,
    ),
];

/// The same over rows that begin anywhere, of which a part's begin alike, with sums of columns by tiles that begin before their rows.
const WALKS_OF_ODD_ROWS: &[(Call, i64)] = &[
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(8)], [register(4), warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none], bring = bulk, stages = 3, producer_warps = 1, aligned_dim = 1",
            ),
            ..RMS
        },
        8,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(8)], [register(2), cluster(2), warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, none, none, none, none], bring = bulk, stages = 2, producer_warps = 1, \
                 aligned_dim = 1",
            ),
            ..LAYER
        },
        8,
    ),
    (
        Call {
            schedule: Some(
                "spread = [[loop, split(8)], [register(4), warp(2), lane(32), vector(8)]], aligned_dim = 1",
            ),
            ..LAYER
        },
        8,
    ),
];

/// Every case: rows that the CTAs of a cluster share evenly, and rows that leave the last CTA fewer elements or none.
pub(super) fn cases(cases: &mut Vec<Case>) {
    walks(cases, WALKS, &[(BF16, 2048), (BF16, 1288), (F32, 516)]);
    walks(cases, WALKS_IN_TURNS, &[(BF16, 2048), (BF16, 1288), (F32, 516)]);
    walks(cases, WALKS_BY_BOXES, &[(BF16, 2048), (BF16, 1288), (F32, 516)]);
    walks(
        cases,
        WALKS_BY_THREADS,
        &[(BF16, 2048), (F16, 1290), (BF16, 1289), (F32, 517)],
    );
    walks(
        cases,
        WALKS_OF_ODD_ROWS,
        &[(BF16, 1289), (F16, 1290), (F16, 1031)],
    );
}

fn walks(cases: &mut Vec<Case>, walks: &'static [(Call, i64)], rows_of: &[(Element, i64)]) {
    for (call, rows_of_step) in walks {
        for (x, columns) in rows_of {
            for rows in [5 * rows_of_step + 1, rows_of_step - 1, 1, 0] {
                let mut case = plain(Op::Named(call), *x, *columns);
                case.run.rows = rows;
                case.run.seeds = 4;
                cases.push(case);
            }
        }
    }
}
