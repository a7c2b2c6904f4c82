//! Gradients as named ops: with and without what the forward op saved, at edge cases of rows and along other axes.

use norma_bundle::Element::F32;

use super::named::calls;
use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;

/// A gradient with one operand besides `x`, as a base for others.
const PLAIN: Call = Call {
    operands: &[("dy", "?xNxX")],
    results: &[("dx", "?xNxY")],
    by_keyword: true,
    ..Call::PLAIN
};

/// Gradients of rows along the last axis.
const ROWS: &[Call] = &[
    Call {
        name: "rms_norm_grad",
        op: "rms_norm_grad",
        ..PLAIN
    },
    Call {
        name: "rms_norm_grad of everything",
        op: "rms_norm_grad",
        operands: &[
            ("dy", "?xNxf32"),
            ("weight", "NxX"),
            ("rstd", "?xA"),
            ("residual", "?xNxX"),
        ],
        attributes: "weight_offset = 1.0 : f32",
        results: &[("dx", "?xNxY"), ("dweight", "NxA"), ("dbias", "NxX")],
        ..PLAIN
    },
    Call {
        name: "layer_norm_grad",
        op: "layer_norm_grad",
        operands: &[("dy", "?xNxX"), ("weight", "Nxf32")],
        results: &[("dx", "?xNxY"), ("dweight", "NxA"), ("dbias", "NxA")],
        ..PLAIN
    },
    Call {
        name: "layer_norm_grad of everything",
        op: "layer_norm_grad",
        operands: &[
            ("dy", "?xNxX"),
            ("weight", "Nxbf16"),
            ("mean", "?xA"),
            ("rstd", "?xA"),
            ("residual", "?xNxf32"),
        ],
        attributes: "weight_offset = 1.0 : f32",
        results: &[("dx", "?xNxY"), ("dweight", "NxX")],
        ..PLAIN
    },
    Call {
        name: "rms_norm_grad of lengths",
        op: "rms_norm_grad",
        operands: &[
            ("dy", "?xNxX"),
            ("weight", "NxX"),
            ("rstd", "?xA"),
            ("residual", "?xNxX"),
            ("lengths", "?xi32"),
        ],
        results: &[("dx", "?xNxY"), ("dweight", "NxA"), ("dbias", "NxX")],
        ..PLAIN
    },
    Call {
        name: "layer_norm_grad of lengths",
        op: "layer_norm_grad",
        operands: &[("dy", "?xNxX"), ("weight", "NxX"), ("lengths", "?xi64")],
        results: &[("dx", "?xNxY"), ("dweight", "NxA"), ("dbias", "NxA")],
        ..PLAIN
    },
    Call {
        name: "rms_norm_grad of an eps at run time",
        op: "rms_norm_grad",
        operands: &[("dy", "?xNxX"), ("weight", "?x1xX")],
        numbers: &[("eps", "0.25")],
        results: &[("dx", "?xNxY"), ("dweight", "?x1xA"), ("dbias", "?x1xA")],
        ..PLAIN
    },
    Call {
        name: "layer_norm_grad of an eps at run time",
        op: "layer_norm_grad",
        numbers: &[("eps", "0.25")],
        ..PLAIN
    },
    Call {
        name: "l2_norm_grad of an eps at run time",
        op: "l2_norm_grad",
        numbers: &[("eps", "16.0")],
        ..PLAIN
    },
    Call {
        name: "l2_norm_grad",
        op: "l2_norm_grad",
        ..PLAIN
    },
    Call {
        name: "l2_norm_grad of short rows",
        op: "l2_norm_grad",
        operands: &[("dy", "?xNxX"), ("residual", "?xNxX")],
        attributes: "eps = 16.0 : f32",
        ..PLAIN
    },
];

/// The same for ops whose functions exist up to f32 only.
const LOGITS: &[Call] = &[
    Call {
        name: "softmax_grad",
        op: "softmax_grad",
        ..PLAIN
    },
    Call {
        name: "softmax_grad of lengths",
        op: "softmax_grad",
        operands: &[("dy", "?xNxX"), ("lengths", "?xi32")],
        ..PLAIN
    },
    Call {
        name: "log_softmax_grad of lengths",
        op: "log_softmax_grad",
        operands: &[("dy", "?xNxX"), ("lengths", "?xi64")],
        ..PLAIN
    },
    Call {
        name: "softmax_grad of a scale at run time",
        op: "softmax_grad",
        numbers: &[("scale", "0.5")],
        ..PLAIN
    },
    Call {
        name: "cross_entropy_grad of numbers at run time",
        op: "cross_entropy_grad",
        operands: &[("labels", "?xi32"), ("dloss", "?xX"), ("weight", "Nxf32")],
        numbers: &[
            ("label_smoothing", "0.125"),
            ("z_loss", "0.0625"),
            ("softcap", "4.0"),
        ],
        results: &[("dlogits", "?xNxY")],
        ..PLAIN
    },
    Call {
        name: "log_softmax_grad",
        op: "log_softmax_grad",
        attributes: "scale = 0.5 : f32",
        ..PLAIN
    },
    Call {
        name: "cross_entropy_grad",
        op: "cross_entropy_grad",
        operands: &[("labels", "?xi64"), ("dloss", "?xf32")],
        attributes: "ignore_index = 3",
        results: &[("dlogits", "?xNxY")],
        ..PLAIN
    },
    Call {
        name: "cross_entropy_grad of everything",
        op: "cross_entropy_grad",
        operands: &[
            ("labels", "?xi32"),
            ("dloss", "?xX"),
            ("lse", "?xf32"),
            ("weight", "Nxf32"),
        ],
        attributes: "ignore_index = 5, label_smoothing = 0.125 : f32, z_loss = 0.0625 : f32, softcap = 4.0 : f32",
        results: &[("dlogits", "?xNxY")],
        ..PLAIN
    },
    Call {
        name: "cross_entropy_grad of a sum of losses",
        op: "cross_entropy_grad",
        operands: &[("labels", "?xi64"), ("dloss", "f32"), ("lse", "?xf32")],
        results: &[("dlogits", "?xNxY")],
        ..PLAIN
    },
];

/// Other axes, and dynamic extents.
const AXES: &[Call] = &[
    Call {
        name: "rms_norm_grad of the first axis",
        op: "rms_norm_grad",
        operands: &[("dy", "?xNxX"), ("weight", "?xX")],
        attributes: "axes = array<i64: 0>",
        results: &[("dx", "?xNxY"), ("dweight", "?xA")],
        ..PLAIN
    },
    Call {
        name: "layer_norm_grad of two axes apart",
        op: "layer_norm_grad",
        x: "3x?xNxX",
        operands: &[("dy", "3x?xNxX"), ("weight", "3xNxX")],
        attributes: "axes = array<i64: -1, 0>",
        results: &[("dx", "3x?xNxY"), ("dweight", "3xNxA"), ("dbias", "3xNxA")],
        ..PLAIN
    },
    Call {
        name: "l2_norm_grad of dynamic rows",
        op: "l2_norm_grad",
        x: "?x?xX",
        operands: &[("dy", "?x?xX")],
        results: &[("dx", "?x?xY")],
        ..PLAIN
    },
    Call {
        name: "layer_norm_grad of dynamic rows",
        op: "layer_norm_grad",
        x: "?x?xX",
        operands: &[("dy", "?x?xX"), ("weight", "?xX")],
        results: &[("dx", "?x?xY"), ("dweight", "?xA"), ("dbias", "?xA")],
        ..PLAIN
    },
    Call {
        name: "rms_norm_grad of a weight of each head",
        op: "rms_norm_grad",
        x: "?x3xNxX",
        operands: &[("dy", "?x3xNxX"), ("weight", "3xNxX"), ("rstd", "?x3xA")],
        results: &[("dx", "?x3xNxY"), ("dweight", "3xNxA"), ("dbias", "3xNxA")],
        ..PLAIN
    },
    Call {
        name: "layer_norm_grad of a scale and shift of each sample",
        op: "layer_norm_grad",
        x: "?x4xNxX",
        operands: &[("dy", "?x4xNxX"), ("weight", "?x1xNxX")],
        attributes: "weight_offset = 1.0 : f32",
        results: &[("dx", "?x4xNxY"), ("dweight", "?x1xNxA"), ("dbias", "?x1xNxX")],
        ..PLAIN
    },
    Call {
        name: "group_norm_grad of channels first",
        op: "group_norm_grad",
        x: "6x?xNxX",
        operands: &[
            ("dy", "6x?xNxX"),
            ("weight", "6xX"),
            ("mean", "2xA"),
            ("rstd", "2xA"),
        ],
        attributes: "groups = 2, channel_axis = 0",
        results: &[("dx", "6x?xNxY"), ("dweight", "6xA"), ("dbias", "6xA")],
        ..PLAIN
    },
    Call {
        name: "group_norm_grad of dynamic channels",
        op: "group_norm_grad",
        x: "3x?xNxX",
        operands: &[("dy", "3x?xNxX"), ("weight", "?xX")],
        numbers: &[("eps", "0.25")],
        attributes: "groups = 1",
        results: &[("dx", "3x?xNxY"), ("dweight", "?xA"), ("dbias", "?xA")],
        ..PLAIN
    },
    Call {
        name: "group_norm_grad before the last axis",
        op: "group_norm_grad",
        x: "?x8xNxX",
        operands: &[("dy", "?x8xNxX"), ("weight", "8xX")],
        attributes: "groups = 4",
        results: &[("dx", "?x8xNxY"), ("dweight", "8xA"), ("dbias", "8xA")],
        ..PLAIN
    },
    Call {
        name: "group_norm_grad of the last axis",
        op: "group_norm_grad",
        x: "?xNx6xX",
        operands: &[
            ("dy", "?xNx6xX"),
            ("weight", "6xX"),
            ("mean", "?x2xA"),
            ("rstd", "?x2xA"),
            ("residual", "?xNx6xX"),
        ],
        attributes: "groups = 2, channel_axis = -1",
        results: &[("dx", "?xNx6xY"), ("dweight", "6xA")],
        ..PLAIN
    },
];

/// The same for ops whose functions exist up to f32 only.
const AXES_OF_LOGITS: &[Call] = &[
    Call {
        name: "softmax_grad of the first axis",
        op: "softmax_grad",
        attributes: "axes = array<i64: 0>",
        ..PLAIN
    },
    Call {
        name: "cross_entropy_grad of dynamic classes",
        op: "cross_entropy_grad",
        x: "?x?x3xX",
        operands: &[("labels", "?x3xi64"), ("dloss", "?x3xf32")],
        attributes: "axis = 1, label_smoothing = 0.25 : f32",
        results: &[("dlogits", "?x?x3xY")],
        ..PLAIN
    },
];

/// Every case of a gradient.
pub fn cases(cases: &mut Vec<Case>) {
    calls(cases, ROWS, LOGITS, AXES, AXES_OF_LOGITS);
    // Rows that no CTA holds while it walks over them.
    for call in ROWS.iter().filter(|call| call.op == "layer_norm_grad") {
        let mut case = plain(Op::Named(call), F32, 65536);
        case.run.rows = 3;
        cases.push(case);
    }
}
