//! Named ops: each with its options, over rows of edge lengths, in the types that it supports.

use norma_bundle::Element::{BF16, F16, F32, F64};
use norma_oracle::Fill;

use super::{TYPED_EDGES, plain, rows_of_some_ctas};
use crate::case::{Case, Op};
use crate::source::named::Call;

/// Ops on rows along the last axis, over every edge length.
const ROWS: &[Call] = &[
    Call {
        name: "layer_norm",
        op: "layer_norm",
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm of everything",
        op: "layer_norm",
        operands: &[("weight", "NxX"), ("bias", "Nxf16")],
        attributes: "weight_offset = 1.0 : f32",
        results: &[("y", "?xNxY"), ("mean", "?xA"), ("rstd", "?xA")],
        ..Call::PLAIN
    },
    Call {
        name: "rms_norm of lengths",
        op: "rms_norm",
        operands: &[("weight", "NxX"), ("lengths", "?xi32")],
        results: &[("y", "?xNxY"), ("rstd", "?xA")],
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm of lengths",
        op: "layer_norm",
        operands: &[("weight", "NxX"), ("bias", "NxX"), ("lengths", "?xi64")],
        results: &[("y", "?xNxY"), ("mean", "?xA"), ("rstd", "?xA")],
        ..Call::PLAIN
    },
    Call {
        name: "rms_norm of an eps at run time",
        op: "rms_norm",
        operands: &[("weight", "NxX")],
        numbers: &[("eps", "0.25")],
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm of an eps at run time",
        op: "layer_norm",
        numbers: &[("eps", "0.25")],
        results: &[("y", "?xNxY"), ("mean", "?xA"), ("rstd", "?xA")],
        ..Call::PLAIN
    },
    Call {
        name: "l2_norm of an eps at run time",
        op: "l2_norm",
        numbers: &[("eps", "16.0")],
        ..Call::PLAIN
    },
    Call {
        name: "rms_norm of a weight of each row",
        op: "rms_norm",
        operands: &[("weight", "?x1xX"), ("bias", "?xNxf32")],
        attributes: "weight_offset = 1.0 : f32",
        ..Call::PLAIN
    },
    Call {
        name: "l2_norm",
        op: "l2_norm",
        results: &[("y", "?xNxY"), ("inverse", "?xA")],
        ..Call::PLAIN
    },
    Call {
        name: "batch_stats of rows",
        op: "batch_stats",
        attributes: "correction = 1",
        results: &[("mean", "?xA"), ("var", "?xA")],
        ..Call::PLAIN
    },
];

/// The same for ops whose functions exist up to f32 only.
const LOGITS: &[Call] = &[
    Call {
        name: "softmax",
        op: "softmax",
        ..Call::PLAIN
    },
    Call {
        name: "softmax of everything",
        op: "softmax",
        operands: &[("mask", "1xNxf32"), ("keep", "?xNxi8")],
        attributes: "scale = 0.5 : f32, softcap = 2.0 : f32, causal = array<i64: 0, 1>",
        ..Call::PLAIN
    },
    Call {
        name: "softmax of numbers at run time",
        op: "softmax",
        numbers: &[("scale", "0.5"), ("softcap", "2.0")],
        ..Call::PLAIN
    },
    Call {
        name: "log_softmax of a softcap of 0 at run time",
        op: "log_softmax",
        numbers: &[("softcap", "0.0")],
        ..Call::PLAIN
    },
    Call {
        name: "logsumexp of a scale at run time",
        op: "logsumexp",
        numbers: &[("scale", "-0.5")],
        results: &[("y", "?xY")],
        ..Call::PLAIN
    },
    Call {
        name: "cross_entropy of numbers at run time",
        op: "cross_entropy",
        operands: &[("labels", "?xi32"), ("weight", "Nxf32")],
        numbers: &[
            ("label_smoothing", "0.125"),
            ("z_loss", "0.0625"),
            ("softcap", "4.0"),
        ],
        results: &[("loss", "?xf32"), ("dlogits", "?xNxY")],
        by_keyword: true,
        ..Call::PLAIN
    },
    Call {
        name: "cross_entropy of zeros at run time",
        op: "cross_entropy",
        operands: &[("labels", "?xi64")],
        numbers: &[("label_smoothing", "0.0"), ("z_loss", "0.0"), ("softcap", "0.0")],
        results: &[("loss", "?xf32"), ("dlogits", "?xNxY")],
        by_keyword: true,
        ..Call::PLAIN
    },
    Call {
        name: "log_softmax",
        op: "log_softmax",
        operands: &[("keep", "Nxi1")],
        ..Call::PLAIN
    },
    Call {
        name: "softmax of lengths",
        op: "softmax",
        operands: &[("keep", "?xNxi1"), ("lengths", "?xi32")],
        attributes: "scale = 0.5 : f32",
        ..Call::PLAIN
    },
    Call {
        name: "log_softmax of lengths",
        op: "log_softmax",
        operands: &[("lengths", "?xi64")],
        ..Call::PLAIN
    },
    Call {
        name: "logsumexp of lengths",
        op: "logsumexp",
        operands: &[("lengths", "?xi32")],
        results: &[("y", "?xY")],
        ..Call::PLAIN
    },
    Call {
        name: "logsumexp",
        op: "logsumexp",
        results: &[("y", "?xY")],
        ..Call::PLAIN
    },
    Call {
        name: "logsumexp of a mask",
        op: "logsumexp",
        operands: &[("mask", "?x1xX")],
        attributes: "causal = array<i64: -2, -1>",
        results: &[("y", "?xY")],
        ..Call::PLAIN
    },
    Call {
        name: "cross_entropy",
        op: "cross_entropy",
        operands: &[("labels", "?xi64")],
        attributes: "ignore_index = 3",
        results: &[("loss", "?xf32")],
        by_keyword: true,
        ..Call::PLAIN
    },
    Call {
        name: "cross_entropy of everything",
        op: "cross_entropy",
        operands: &[("labels", "?xi32"), ("weight", "Nxf32")],
        attributes: "ignore_index = 5, label_smoothing = 0.125 : f32, z_loss = 0.0625 : f32, softcap = 4.0 : f32",
        results: &[
            ("loss", "?xf32"),
            ("lse", "?xf32"),
            ("row_weight", "?xf32"),
            ("dlogits", "?xNxY"),
        ],
        by_keyword: true,
        ..Call::PLAIN
    },
    Call {
        name: "cross_entropy with its gradient",
        op: "cross_entropy",
        operands: &[("labels", "?xi64")],
        results: &[("loss", "?xY"), ("dlogits", "?xNxY")],
        by_keyword: true,
        ..Call::PLAIN
    },
    Call {
        name: "cross_entropy with what rows weigh",
        op: "cross_entropy",
        operands: &[("labels", "?xi64")],
        attributes: "ignore_index = 3",
        results: &[("loss", "?xf32"), ("row_weight", "?xf32")],
        by_keyword: true,
        ..Call::PLAIN
    },
];

/// Losses reduced over all rows.
const REDUCED: &[Call] = &[
    Call {
        name: "cross_entropy summed",
        op: "cross_entropy",
        operands: &[("labels", "?xi64")],
        keywords: "reduction(sum)",
        attributes: "ignore_index = 3",
        results: &[("loss", "f32")],
        by_keyword: true,
        ..Call::PLAIN
    },
    Call {
        name: "cross_entropy averaged",
        op: "cross_entropy",
        operands: &[("labels", "?xi32"), ("weight", "NxX")],
        keywords: "reduction(mean)",
        attributes: "ignore_index = 5, label_smoothing = 0.125 : f32, z_loss = 0.0625 : f32",
        results: &[("loss", "f32"), ("lse", "?xf32")],
        by_keyword: true,
        ..Call::PLAIN
    },
];

/// Other axes, and dynamic extents.
const AXES: &[Call] = &[
    Call {
        name: "layer_norm of the first axis",
        op: "layer_norm",
        operands: &[("weight", "?xX"), ("bias", "?xf32")],
        attributes: "axes = array<i64: 0>",
        results: &[("y", "?xNxY"), ("mean", "NxA"), ("rstd", "NxA")],
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm of a middle axis",
        op: "layer_norm",
        x: "?xNx5xX",
        operands: &[("weight", "NxX")],
        attributes: "axes = array<i64: 1>",
        results: &[("y", "?xNx5xY"), ("mean", "?x5xA"), ("rstd", "?x5xA")],
        ..Call::PLAIN
    },
    Call {
        name: "rms_norm of two axes apart",
        op: "rms_norm",
        x: "3x?xNxX",
        operands: &[("weight", "3xNxX")],
        attributes: "axes = array<i64: -1, 0>",
        results: &[("y", "3x?xNxY"), ("rstd", "?xA")],
        ..Call::PLAIN
    },
    Call {
        name: "l2_norm of the first axis",
        op: "l2_norm",
        attributes: "axes = array<i64: 0>",
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm of dynamic rows",
        op: "layer_norm",
        x: "?x?xX",
        operands: &[("weight", "?xX")],
        results: &[("y", "?x?xY"), ("mean", "?xA"), ("rstd", "?xA")],
        ..Call::PLAIN
    },
    Call {
        name: "batch_stats of channels",
        op: "batch_stats",
        x: "?xNx6xX",
        attributes: "axes = array<i64: 0, 2>",
        results: &[("mean", "NxA"), ("var", "NxA")],
        ..Call::PLAIN
    },
    Call {
        name: "group_norm before the last axis",
        op: "group_norm",
        x: "?x8xNxX",
        operands: &[("weight", "8xX"), ("bias", "8xf32")],
        attributes: "groups = 4",
        results: &[("y", "?x8xNxY"), ("mean", "?x4xA"), ("rstd", "?x4xA")],
        ..Call::PLAIN
    },
    Call {
        name: "group_norm of the last axis",
        op: "group_norm",
        x: "?xNx6xX",
        operands: &[("weight", "6xX")],
        attributes: "groups = 2, channel_axis = -1",
        results: &[("y", "?xNx6xY")],
        ..Call::PLAIN
    },
    // Of 10 channels in a group no vector is wider than two: pixels and channels are reduced by kernels of their own.
    Call {
        name: "group_norm of short groups in two stages",
        op: "group_norm",
        x: "?x?x60xX",
        operands: &[("weight", "60xX"), ("bias", "60xf32")],
        attributes: "groups = 6, channel_axis = -1",
        results: &[("y", "?x?x60xY"), ("mean", "?x6xA"), ("rstd", "?x6xA")],
        ..Call::PLAIN
    },
    Call {
        name: "rms_norm of a weight of each head",
        op: "rms_norm",
        x: "?x3xNxX",
        operands: &[("weight", "3xNxX")],
        results: &[("y", "?x3xNxY"), ("rstd", "?x3xA")],
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm of a scale and shift of each sample",
        op: "layer_norm",
        x: "?x4xNxX",
        operands: &[("weight", "?x1xNxX"), ("bias", "?x1xNxf32")],
        attributes: "weight_offset = 1.0 : f32",
        results: &[("y", "?x4xNxY")],
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm of the first axis, of a weight along the last",
        op: "layer_norm",
        operands: &[("weight", "1xNxX")],
        attributes: "axes = array<i64: 0>",
        ..Call::PLAIN
    },
    Call {
        name: "group_norm of an eps at run time",
        op: "group_norm",
        x: "?x8xNxX",
        numbers: &[("eps", "0.25")],
        attributes: "groups = 4",
        results: &[("y", "?x8xNxY")],
        ..Call::PLAIN
    },
    Call {
        name: "group_norm of channels first",
        op: "group_norm",
        x: "6x?xNxX",
        operands: &[("weight", "6xX"), ("bias", "6xf32")],
        attributes: "groups = 2, channel_axis = 0",
        results: &[("y", "6x?xNxY"), ("mean", "2xA"), ("rstd", "2xA")],
        ..Call::PLAIN
    },
    Call {
        name: "group_norm of dynamic channels",
        op: "group_norm",
        x: "3x?xNxX",
        operands: &[("weight", "?xX"), ("bias", "?xf32")],
        attributes: "groups = 1",
        results: &[("y", "3x?xNxY"), ("mean", "3x1xA"), ("rstd", "3x1xA")],
        ..Call::PLAIN
    },
    Call {
        name: "group_norm of single channels",
        op: "group_norm",
        x: "2x4x?xX",
        attributes: "groups = 4",
        results: &[("y", "2x4x?xY")],
        ..Call::PLAIN
    },
];

/// The same for ops whose functions exist up to f32 only.
const AXES_OF_LOGITS: &[Call] = &[
    Call {
        name: "softmax of the first axis",
        op: "softmax",
        attributes: "axes = array<i64: 0>",
        ..Call::PLAIN
    },
    Call {
        name: "softmax of dynamic rows",
        op: "softmax",
        x: "2x?x?xX",
        operands: &[("keep", "?x1xi8")],
        attributes: "causal = array<i64: 1, 2>",
        results: &[("y", "2x?x?xY")],
        ..Call::PLAIN
    },
    Call {
        name: "logsumexp of two axes apart",
        op: "logsumexp",
        x: "3x?xNxX",
        attributes: "axes = array<i64: 0, 2>",
        results: &[("y", "?xf32")],
        ..Call::PLAIN
    },
    Call {
        name: "cross_entropy of dynamic classes",
        op: "cross_entropy",
        x: "?x?x3xX",
        operands: &[("labels", "?x3xi64")],
        attributes: "axis = 1, label_smoothing = 0.25 : f32",
        results: &[("loss", "?x3xf32"), ("dlogits", "?x?x3xY")],
        by_keyword: true,
        ..Call::PLAIN
    },
];

/// Every case of a named op, except those of RMSNorm over rows, which vary everything else, and of gradients.
pub fn cases(cases: &mut Vec<Case>) {
    calls(cases, ROWS, LOGITS.iter().chain(REDUCED), AXES, AXES_OF_LOGITS);
    // Rows that are read twice, within a walk over all of them.
    for call in REDUCED {
        let mut case = plain(Op::Named(call), BF16, 33000);
        case.run.rows = 3;
        cases.push(case);
    }
}

/// Cases of calls on rows along the last axis, and of calls on other axes; of each, those that also compute in f64 and those
/// that do not.
pub fn calls(
    cases: &mut Vec<Case>,
    rows: &'static [Call],
    rows_up_to_f32: impl IntoIterator<Item = &'static Call>,
    axes: &'static [Call],
    axes_up_to_f32: &'static [Call],
) {
    for call in rows.iter().chain(rows_up_to_f32) {
        over_rows(cases, call);
    }
    for call in rows {
        cases.push(plain(Op::Named(call), F64, 769));
    }
    for call in axes.iter().chain(axes_up_to_f32) {
        over_axes(cases, call);
    }
    for call in axes {
        cases.push(plain(Op::Named(call), F64, 20));
    }
}

/// A call on rows along the last axis, over every edge length and every kind of input.
pub fn over_rows(cases: &mut Vec<Case>, call: &'static Call) {
    for (columns, x) in TYPED_EDGES {
        cases.push(plain(Op::Named(call), x, columns));
    }
    for rows in [0, 1] {
        let mut case = plain(Op::Named(call), BF16, 1000);
        case.program.y = F32;
        case.run.rows = rows;
        cases.push(case);
    }
    for fill in Fill::GENERAL {
        let mut case = plain(Op::Named(call), F32, 769);
        case.run.fill = fill;
        cases.push(case);
    }
}

/// A call on other axes, over some edge lengths.
pub fn over_axes(cases: &mut Vec<Case>, call: &'static Call) {
    for (columns, x, rows) in [
        (1, F32, 1),
        (8, BF16, 5),
        (33, F16, 67),
        (64, F32, 0),
        (100, BF16, 9),
    ] {
        let mut case = plain(Op::Named(call), x, columns);
        case.run.rows = rows;
        cases.push(case);
    }
    for fill in [Fill::Special, Fill::Offset] {
        let mut case = plain(Op::Named(call), BF16, 40);
        case.run.rows = rows_of_some_ctas(40);
        case.run.fill = fill;
        cases.push(case);
    }
}
