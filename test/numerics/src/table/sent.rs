//! Results written to memory by way of shared memory, by bulk copies and as boxes of tensor maps: of rows that a CTA holds, of
//! walks through rings with and without a producer warp, and of walks that draw their tiles.
//!
//! Each has rows that reuse the shared memory several times, part of a tile, one row, and none; and rows shorter than a tile.

use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;
use norma_bundle::Element::{BF16, F32};

/// RMSNorm with a weight.
pub(super) const RMS: Call = Call {
    op: "rms_norm",
    operands: &[("weight", "NxX")],
    ..Call::PLAIN
};

/// Calls with the number of rows of one step of all CTAs.
const CALLS: &[(Call, i64)] = &[
    (
        Call {
            name: "rms_norm, sent",
            schedule: Some(
                "spread = [[grid, warp(2)], [register(4), warp(2), lane(32), vector(8)]], keep = [register, none, shared], bring = bulk",
            ),
            ..RMS
        },
        2,
    ),
    (
        Call {
            name: "rms_norm, sent from a ring",
            schedule: Some(
                "spread = [[loop, grid(2), warp(2)], [register(4), warp(2), lane(32), vector(8)]], keep = [shared, none, shared], \
                 bring = bulk, stages = 3, producer_warps = 1",
            ),
            ..RMS
        },
        4,
    ),
    (
        Call {
            name: "rms_norm, sent from a ring of all warps",
            schedule: Some(
                "spread = [[loop, grid(2)], [register(8), lane(32), vector(8)]], keep = [shared, none, shared], bring = bulk, stages = 2",
            ),
            ..RMS
        },
        2,
    ),
    (
        Call {
            name: "rms_norm, sent as boxes",
            schedule: Some(
                "spread = [[grid, warp(2)], [register(4), warp(2), lane(32), vector(8)]], keep = [register, none, shared], bring = tensor",
            ),
            ..RMS
        },
        2,
    ),
    (
        Call {
            name: "rms_norm, sent as boxes from a ring",
            schedule: Some(
                "spread = [[loop, grid(2), warp(2)], [register(8), lane(32), vector(8)]], keep = [shared, none, shared], \
                 bring = tensor, stages = 3, producer_warps = 1",
            ),
            ..RMS
        },
        4,
    ),
    (
        Call {
            name: "rms_norm, drawn and sent as boxes",
            schedule: Some(
                "spread = [[loop, grid(2), warp(2)], [register(4), warp(2), lane(32), vector(8)]], keep = [shared, none, shared], \
                 bring = tensor, stages = 2, hand_out = dynamic",
            ),
            ..RMS
        },
        4,
    ),
    (
        Call {
            name: "rms_norm, drawn and sent from a ring",
            schedule: Some(
                "spread = [[loop, grid(2)], [register(4), warp(2), lane(32), vector(8)]], keep = [shared, none, shared], \
                 bring = bulk, stages = 2, producer_warps = 1, hand_out = dynamic",
            ),
            ..RMS
        },
        2,
    ),
    (
        Call {
            name: "rms_norm, drawn and sent",
            schedule: Some(
                "spread = [[loop, grid(2), warp(2)], [register(8), lane(32), vector(8)]], keep = [register, none, shared], \
                 bring = bulk, hand_out = dynamic",
            ),
            ..RMS
        },
        4,
    ),
    (
        Call {
            name: "rms_norm_grad, sent from a ring",
            op: "rms_norm_grad",
            operands: &[("dy", "?xNxX"), ("weight", "NxX"), ("rstd", "?xA")],
            results: &[("dx", "?xNxY"), ("dweight", "NxX")],
            by_keyword: true,
            schedule: Some(
                "spread = [[loop, split(2)], [register(4), warp(2), lane(32), vector(8)]], \
                 keep = [shared, shared, none, none, shared, none], bring = bulk, stages = 2, producer_warps = 1",
            ),
            ..Call::PLAIN
        },
        2,
    ),
];

/// Every case.
pub(super) fn cases(cases: &mut Vec<Case>) {
    for (call, rows_of_step) in CALLS {
        for (x, columns) in [(BF16, 2048), (BF16, 1288), (F32, 516)] {
            for rows in [5 * rows_of_step + 1, rows_of_step - 1, 1, 0] {
                let mut case = plain(Op::Named(call), x, columns);
                case.run.rows = rows;
                case.run.seeds = 4;
                cases.push(case);
            }
        }
    }
}
