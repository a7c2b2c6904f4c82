//! Rows that lie one behind the other and that a CTA accesses as one run, by way of shared memory: what is read, what is written, and both.
//!
//! Each has all rows of several CTAs, part of the last one's, one row, and none; runs that begin at multiples of 16 bytes, and of fewer.

use super::{plain, sent::RMS};
use crate::case::{Case, Op};
use crate::source::named::Call;
use norma_bundle::Element::{BF16, F16, F32};

/// Calls with the number of rows of a CTA.
const CALLS: &[(Call, i64)] = &[
    (
        Call {
            name: "rms_norm, read as runs",
            schedule: Some(
                "spread = [[grid, register(2), warp(4)], [register(32), lane(32)]], keep = [shared, register, register], bring = load",
            ),
            ..RMS
        },
        8,
    ),
    (
        Call {
            name: "rms_norm, written as runs",
            schedule: Some(
                "spread = [[grid, register(2), warp(4)], [register(32), lane(32)]], keep = [register, register, shared], bring = load",
            ),
            ..RMS
        },
        8,
    ),
    (
        Call {
            name: "rms_norm, read and written as runs",
            schedule: Some(
                "spread = [[grid, register(4), warp(2)], [register(16), warp(2), lane(32)]], keep = [shared, none, shared], bring = load",
            ),
            ..RMS
        },
        8,
    ),
    (
        Call {
            name: "rms_norm, all of it as runs",
            schedule: Some(
                "spread = [[grid, warp(2)], [register(16), warp(2), lane(32)]], keep = [shared, shared, shared], bring = load",
            ),
            ..RMS
        },
        2,
    ),
    (
        Call {
            name: "rms_norm, one row as a run",
            schedule: Some(
                "spread = [[grid], [register(16), warp(2), lane(32)]], keep = [shared, none, shared], bring = load",
            ),
            ..RMS
        },
        1,
    ),
    (
        Call {
            name: "softmax, rows of lanes as runs",
            op: "softmax",
            schedule: Some(
                "spread = [[grid, warp(2), lane(4)], [register(128), lane(8)]], keep = [shared, shared], bring = load",
            ),
            ..Call::PLAIN
        },
        8,
    ),
];

/// Every case.
pub(super) fn cases(cases: &mut Vec<Case>) {
    for (call, rows_of_cta) in CALLS {
        for (x, columns) in [(BF16, 769), (F16, 1024), (BF16, 6), (F32, 1001)] {
            for rows in [3 * rows_of_cta + 1, 2 * rows_of_cta, rows_of_cta - 1, 1, 0] {
                let mut case = plain(Op::Named(call), x, columns);
                case.run.rows = rows;
                cases.push(case);
            }
        }
    }
}
