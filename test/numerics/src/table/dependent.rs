//! Kernels that start before the kernel ahead of them has ended, with and without a producer warp: the second of two reduces
//! what the first one writes in parts.
//!
//! Each has rows for several steps of every part, for a single part, and none.

use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;
use norma_bundle::Element::{BF16, F32};

const WALK: Call = Call {
    op: "rms_norm_grad",
    operands: &[("dy", "?xNxX"), ("weight", "NxX"), ("rstd", "?xA")],
    results: &[("dx", "?xNxY"), ("dweight", "NxX")],
    by_keyword: true,
    ..Call::PLAIN
};

/// Both kernels load through registers.
pub const LOADED: Call = Call {
    name: "rms_norm_grad, early",
    schedule: Some(
        "spread = [[loop, split(4)], [register(2), warp(2), lane(32), vector(4)]], dependent_launch = true",
    ),
    finish: Some("spread = [[lane(4)], [grid, lane(8)]], dependent_launch = true"),
    ..WALK
};

/// Both kernels have a producer. The consumers of the first one load the weight, and so wait for themselves; those of the
/// second one touch memory only behind what the producer copied.
pub const PRODUCED: Call = Call {
    name: "rms_norm_grad, early with producers",
    schedule: Some(
        "spread = [[loop, split(4)], [register(2), warp(2), lane(32), vector(4)]], keep = [shared, shared, none, none, none, none], \
         bring = bulk, stages = 2, producer_warps = 1, dependent_launch = true",
    ),
    finish: Some(
        "spread = [[register(4)], [loop, grid(2), warp(2), lane(32), vector(4)]], keep = [shared, none], bring = bulk, stages = 2, \
         producer_warps = 1, dependent_launch = true",
    ),
    ..WALK
};

/// Every case.
pub(super) fn cases(cases: &mut Vec<Case>) {
    for call in [&LOADED, &PRODUCED] {
        for (x, columns) in [(BF16, 512), (F32, 512), (BF16, 264)] {
            for rows in [14, 1, 0] {
                let mut case = plain(Op::Named(call), x, columns);
                case.run.rows = rows;
                case.run.seeds = 4;
                cases.push(case);
            }
        }
    }
}
