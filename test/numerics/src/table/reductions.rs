//! Reductions over axes as a named op: every kind, of floats and of integers, including argmax and boolean ones.

use norma_bundle::Element::{BF16, F16, F32, F64, I8, I32, I64};

use super::named::{over_axes, over_rows};
use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;

/// A reduction to one number per row, of the type of `y`, as a base for others.
const PLAIN: Call = Call {
    results: &[("y", "?xY")],
    by_keyword: true,
    ..Call::PLAIN
};

/// Reductions of rows of floats along the last axis.
const ROWS: &[Call] = &[
    Call {
        name: "sum of rows",
        op: "reduce_axes sum",
        ..PLAIN
    },
    Call {
        name: "norm of each element, over no axes",
        op: "reduce_axes norm",
        attributes: "axes = array<i64>",
        results: &[("y", "?xNxY")],
        ..PLAIN
    },
    Call {
        name: "all of each element, over no axes",
        op: "reduce_axes all",
        attributes: "axes = array<i64>",
        results: &[("y", "?xNxi8")],
        ..PLAIN
    },
    Call {
        name: "mean of rows, kept",
        op: "reduce_axes mean",
        attributes: "keepdims",
        results: &[("y", "?x1xA")],
        ..PLAIN
    },
    Call {
        name: "max of rows",
        op: "reduce_axes max",
        ..PLAIN
    },
    Call {
        name: "min of rows",
        op: "reduce_axes min",
        ..PLAIN
    },
    Call {
        name: "amax of rows",
        op: "reduce_axes amax",
        ..PLAIN
    },
    Call {
        name: "sum_sq of rows",
        op: "reduce_axes sum_sq",
        results: &[("y", "?xA")],
        ..PLAIN
    },
    Call {
        name: "norm of rows",
        op: "reduce_axes norm",
        ..PLAIN
    },
    Call {
        name: "var of rows",
        op: "reduce_axes var",
        attributes: "correction = 1",
        ..PLAIN
    },
    Call {
        name: "var and mean of rows",
        op: "reduce_axes var",
        results: &[("y", "?xA"), ("mean", "?xA")],
        ..PLAIN
    },
    Call {
        name: "any of rows",
        op: "reduce_axes any",
        results: &[("y", "?xi8")],
        ..PLAIN
    },
    Call {
        name: "all of rows",
        op: "reduce_axes all",
        results: &[("y", "?xi8")],
        ..PLAIN
    },
    Call {
        name: "any of rows, as a boolean",
        op: "reduce_axes any",
        results: &[("y", "?xi1")],
        ..PLAIN
    },
    Call {
        name: "argmax of rows",
        op: "reduce_axes argmax",
        results: &[("y", "?xi32")],
        ..PLAIN
    },
    Call {
        name: "argmin of rows, kept",
        op: "reduce_axes argmin",
        attributes: "keepdims",
        results: &[("y", "?x1xi64")],
        ..PLAIN
    },
];

/// A product of short rows, which neither overflows nor vanishes.
const PRODUCT: Call = Call {
    name: "prod of rows",
    op: "reduce_axes prod",
    ..PLAIN
};

/// Reductions of integers.
const INTEGERS: &[Call] = &[
    Call {
        name: "sum of integers",
        op: "reduce_axes sum",
        results: &[("y", "?xi64")],
        ..PLAIN
    },
    Call {
        name: "max of integers",
        op: "reduce_axes max",
        ..PLAIN
    },
    Call {
        name: "min of integers",
        op: "reduce_axes min",
        ..PLAIN
    },
    Call {
        name: "amax of integers",
        op: "reduce_axes amax",
        results: &[("y", "?xi64")],
        ..PLAIN
    },
    Call {
        name: "any of integers",
        op: "reduce_axes any",
        results: &[("y", "?xi8")],
        ..PLAIN
    },
    Call {
        name: "all of integers",
        op: "reduce_axes all",
        results: &[("y", "?xi8")],
        ..PLAIN
    },
    Call {
        name: "argmax of integers",
        op: "reduce_axes argmax",
        results: &[("y", "?xi32")],
        ..PLAIN
    },
    Call {
        name: "argmin of integers",
        op: "reduce_axes argmin",
        results: &[("y", "?xi64")],
        ..PLAIN
    },
];

/// Other axes, and dynamic extents.
const AXES: &[Call] = &[
    Call {
        name: "sum of the first axis",
        op: "reduce_axes sum",
        attributes: "axes = array<i64: 0>",
        results: &[("y", "NxA")],
        ..PLAIN
    },
    Call {
        name: "max of two axes apart, kept",
        op: "reduce_axes max",
        x: "3x?xNxX",
        attributes: "axes = array<i64: -1, 0>, keepdims",
        results: &[("y", "1x?x1xY")],
        ..PLAIN
    },
    Call {
        name: "var of dynamic rows",
        op: "reduce_axes var",
        x: "?x?xX",
        attributes: "correction = 1",
        results: &[("y", "?xY"), ("mean", "?xY")],
        ..PLAIN
    },
    Call {
        name: "argmin of a middle axis",
        op: "reduce_axes argmin",
        x: "?xNx5xX",
        attributes: "axes = array<i64: 1>",
        results: &[("y", "?x5xi32")],
        ..PLAIN
    },
    Call {
        name: "norm of everything",
        op: "reduce_axes norm",
        attributes: "axes = array<i64: 0, 1>",
        results: &[("y", "A")],
        ..PLAIN
    },
    Call {
        name: "any of booleans",
        op: "reduce_axes any",
        x: "?xNxi1",
        results: &[("y", "?xi1")],
        ..PLAIN
    },
    Call {
        name: "all of booleans of the first axis",
        op: "reduce_axes all",
        x: "?xNxi1",
        attributes: "axes = array<i64: 0>",
        results: &[("y", "Nxi8")],
        ..PLAIN
    },
    Call {
        name: "argmax of the first axis",
        op: "reduce_axes argmax",
        attributes: "axes = array<i64: 0>",
        results: &[("y", "Nxi64")],
        ..PLAIN
    },
    Call {
        name: "argmax of two axes",
        op: "reduce_axes argmax",
        x: "?x3xNxX",
        attributes: "axes = array<i64: 2, 1>",
        results: &[("y", "?xi32")],
        ..PLAIN
    },
    Call {
        name: "argmin of two axes apart, kept",
        op: "reduce_axes argmin",
        x: "3x?xNxX",
        attributes: "axes = array<i64: 0, 2>, keepdims",
        results: &[("y", "1x?x1xi64")],
        ..PLAIN
    },
    Call {
        name: "argmax of everything, dynamic",
        op: "reduce_axes argmax",
        x: "?x?xX",
        attributes: "axes = array<i64: 0, 1>",
        results: &[("y", "i64")],
        ..PLAIN
    },
    Call {
        name: "argmin of dynamic axes before a static one",
        op: "reduce_axes argmin",
        x: "?x?x3xX",
        attributes: "axes = array<i64: 0, 1, 2>",
        results: &[("y", "i32")],
        ..PLAIN
    },
];

/// Every case of a reduction over axes.
pub fn cases(cases: &mut Vec<Case>) {
    for call in ROWS {
        over_rows(cases, call);
        cases.push(plain(Op::Named(call), F64, 769));
    }
    for (columns, x) in [(1, F32), (3, BF16), (7, F16), (31, F32), (31, I32), (7, I64)] {
        cases.push(plain(Op::Named(&PRODUCT), x, columns));
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
}
