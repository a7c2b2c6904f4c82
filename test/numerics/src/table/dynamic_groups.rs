//! Norms of groups and of channels whose number only a launch knows: they are axes of their own, and weights broadcast behind them.

use norma_bundle::Element::F64;

use super::named::over_axes;
use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;

const CALLS: &[Call] = &[
    Call {
        name: "layer_norm of groups of dynamic size",
        op: "layer_norm",
        x: "3x4x?xNxX",
        operands: &[("weight", "4x?x1xX"), ("bias", "4x?x1xf32")],
        attributes: "axes = array<i64: 2, 3>",
        results: &[("y", "3x4x?xNxY"), ("mean", "3x4xA"), ("rstd", "3x4xA")],
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm of each of dynamic channels",
        op: "layer_norm",
        x: "3x?xNxX",
        operands: &[("weight", "?x1xX")],
        results: &[("y", "3x?xNxY")],
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm_grad of groups of dynamic size",
        op: "layer_norm_grad",
        x: "3x4x?xNxX",
        operands: &[("dy", "3x4x?xNxX"), ("weight", "4x?x1xX")],
        attributes: "axes = array<i64: 2, 3>",
        results: &[("dx", "3x4x?xNxY"), ("dweight", "4x?x1xA"), ("dbias", "4x?x1xA")],
        by_keyword: true,
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm_grad of each of dynamic channels",
        op: "layer_norm_grad",
        x: "3x?xNxX",
        operands: &[("dy", "3x?xNxX"), ("weight", "?x1xX")],
        results: &[("dx", "3x?xNxY"), ("dweight", "?x1xA")],
        by_keyword: true,
        ..Call::PLAIN
    },
];

/// Every case of such norms.
pub fn cases(cases: &mut Vec<Case>) {
    for call in CALLS {
        over_axes(cases, call);
        cases.push(plain(Op::Named(call), F64, 20));
    }
}
