//! Scans as a named op: of floats and integers, along any axis, held in registers, across warps and in loops.

use norma_bundle::Element::{BF16, F32, F64, I8, I32, I64};
use norma_oracle::Fill;

use super::named::{over_axes, over_rows};
use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;

/// Scans of rows of floats along the last axis.
const ROWS: &[Call] = &[
    Call {
        name: "cumsum",
        op: "cumsum",
        ..Call::PLAIN
    },
    Call {
        name: "cumsum of those before",
        op: "cumsum",
        attributes: "exclusive",
        results: &[("y", "?xNxA")],
        ..Call::PLAIN
    },
    Call {
        name: "cumsum reversed",
        op: "cumsum",
        attributes: "reverse",
        ..Call::PLAIN
    },
];

/// Scans of integers.
const INTEGERS: &[Call] = &[
    Call {
        name: "cumsum of integers",
        op: "cumsum",
        results: &[("y", "?xNxi64")],
        ..Call::PLAIN
    },
    Call {
        name: "cumsum of integers before",
        op: "cumsum",
        attributes: "exclusive",
        ..Call::PLAIN
    },
    Call {
        name: "cumsum of integers behind",
        op: "cumsum",
        attributes: "exclusive, reverse",
        ..Call::PLAIN
    },
];

/// Other axes, and dynamic extents.
const AXES: &[Call] = &[
    Call {
        name: "cumsum of the first axis",
        op: "cumsum",
        attributes: "axis = 0",
        ..Call::PLAIN
    },
    Call {
        name: "cumsum of a middle axis",
        op: "cumsum",
        x: "?xNx5xX",
        attributes: "axis = -2, exclusive",
        results: &[("y", "?xNx5xY")],
        ..Call::PLAIN
    },
    Call {
        name: "cumsum of dynamic rows",
        op: "cumsum",
        x: "?x?xX",
        results: &[("y", "?x?xY")],
        ..Call::PLAIN
    },
    Call {
        name: "cumsum of one row",
        op: "cumsum",
        x: "?xX",
        attributes: "exclusive",
        results: &[("y", "?xA")],
        ..Call::PLAIN
    },
    Call {
        name: "cumsum of dynamic rows reversed",
        op: "cumsum",
        x: "?x?xX",
        attributes: "reverse",
        results: &[("y", "?x?xY")],
        ..Call::PLAIN
    },
];

/// Mappings of rows of 1000 onto a CTA: in a loop, across warps, with a thread's elements in outer and in inner factors.
const SCHEDULES: [&str; 8] = [
    "spread = [[grid], [loop, lane(32)]]",
    "spread = [[grid, warp(4)], [loop, lane(32), vector(2)]]",
    "spread = [[grid], [loop, warp(4), lane(32), vector(1)]]",
    "spread = [[grid], [register(2), warp(8), lane(32), vector(2)]]",
    "spread = [[grid, register(2)], [loop, register(2), warp(2), lane(16), vector(2)]]",
    "spread = [[grid], [loop, register(4)]]",
    "spread = [[grid, lane(8)], [loop]]",
    "spread = [[grid], [warp(4), register(4), lane(32), vector(2)]]",
];

/// Such rows under each mapping, in both directions.
const SCHEDULED: [[Call; 8]; 2] = [in_each_way(""), in_each_way("reverse")];

const fn in_each_way(attributes: &'static str) -> [Call; 8] {
    let mut calls = [const { Call::PLAIN }; 8];
    let mut way = 0;
    while way < SCHEDULES.len() {
        calls[way] = Call {
            name: "cumsum as scheduled",
            op: "cumsum",
            attributes,
            schedule: Some(SCHEDULES[way]),
            ..Call::PLAIN
        };
        way += 1;
    }
    calls
}

/// Every case of a scan.
pub fn cases(cases: &mut Vec<Case>) {
    for call in ROWS {
        over_rows(cases, call);
        cases.push(plain(Op::Named(call), F64, 769));
        cases.push(plain(Op::Named(call), BF16, 20000));
        let mut exact = plain(Op::Named(call), F32, 5000);
        exact.run.fill = Fill::Exact;
        cases.push(exact);
    }
    for call in INTEGERS {
        for (columns, x) in [(1, I32), (33, I8), (769, I64), (1000, I32)] {
            cases.push(plain(Op::Named(call), x, columns));
        }
    }
    for call in AXES {
        over_axes(cases, call);
        cases.push(plain(Op::Named(call), F64, 20));
    }
    for call in SCHEDULED.iter().flatten() {
        for fill in [Fill::Exact, Fill::Normal] {
            let mut case = plain(Op::Named(call), F32, 1000);
            case.run.fill = fill;
            cases.push(case);
        }
    }
}
