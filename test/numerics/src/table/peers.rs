//! The shapes that other libraries test: QuACK, FlashInfer, Liger, Transformer Engine and ROCm's, nvFuser, vLLM and Inductor.
//!
//! Their grids of columns are complete, except for lengths between two others of the same kind; of the rows there are a few.

use norma_bundle::Element::{self, BF16, F16, F32};

use super::{EVERYTHING, WEIGHTED, plain, rings};
use crate::case::{Case, Op};
use crate::source::named::Call;

/// Columns of norms: those of all libraries, from rows shorter than a vector to rows that a cluster holds.
const NORMS: [i64; 29] = [
    3, 8, 111, 123, 192, 229, 409, 500, 541, 668, 760, 768, 1023, 1128, 1500, 2304, 3072, 3571, 3584, 5125,
    6144, 8192, 12288, 16384, 17389, 32768, 65536, 73728, 131072,
];

/// Columns of logits: classes of small tests, and vocabularies.
const LOGITS: [i64; 12] = [
    8, 41, 192, 423, 668, 1128, 4096, 32000, 50257, 50304, 128256, 262144,
];

/// Columns of gradients of norms.
const GRADIENTS: [i64; 14] = [
    3, 32, 96, 576, 760, 768, 1280, 1600, 1984, 1987, 8192, 32768, 65536, 131072,
];

/// LayerNorm with all its results.
const LAYER_NORM: Call = Call {
    name: "layer_norm of a peer's shape",
    op: "layer_norm",
    operands: &[("weight", "NxX"), ("bias", "NxX")],
    results: &[("y", "?xNxY"), ("mean", "?xA"), ("rstd", "?xA")],
    ..Call::PLAIN
};

/// Softmax.
const SOFTMAX: Call = Call {
    name: "softmax of a peer's shape",
    op: "softmax",
    ..Call::PLAIN
};

/// Cross-entropy with its gradient and all that adds to the loss.
const CROSS_ENTROPY: Call = Call {
    name: "cross_entropy of a peer's shape",
    op: "cross_entropy",
    operands: &[("labels", "?xi64")],
    attributes: "ignore_index = -100, label_smoothing = 0.2 : f32, z_loss = 1.0e-4 : f32, softcap = 30.0 : f32",
    results: &[("loss", "?xf32"), ("lse", "?xf32"), ("dlogits", "?xNxY")],
    by_keyword: true,
    ..Call::PLAIN
};

/// RMSNorm's gradient from what the forward op saved.
const RMS_NORM_GRAD: Call = Call {
    name: "rms_norm_grad of a peer's shape",
    results: &[("dx", "?xNxY"), ("dweight", "NxA")],
    ..rings::RMS
};

/// LayerNorm's gradient from what the forward op saved.
const LAYER_NORM_GRAD: Call = Call {
    name: "layer_norm_grad of a peer's shape",
    ..rings::LAYER
};

/// The largest `$k` of each row.
macro_rules! top_k {
    ($k:literal) => {
        Call {
            name: concat!("top ", $k, " of a peer's shape"),
            op: "top_k",
            attributes: concat!("k = ", $k),
            results: &[
                ("values", concat!("?x", $k, "xX")),
                ("indices", concat!("?x", $k, "xi32")),
            ],
            ..Call::PLAIN
        }
    };
}

/// GroupNorm of samples of `$shape`, of which each of `$channels` has a weight.
macro_rules! group_norm {
    ($shape:literal, $channels:literal, $attributes:literal) => {
        Call {
            name: concat!("group_norm of samples of ", $shape),
            op: "group_norm",
            x: concat!("?x", $shape, "xX"),
            operands: &[("weight", concat!($channels, "xX"))],
            attributes: $attributes,
            results: &[("y", concat!("?x", $shape, "xY"))],
            ..Call::PLAIN
        }
    };
}

/// QuACK's pairs of columns and k, as far as k goes.
static TOP_K: [(i64, Call); 4] = [
    (64, top_k!("16")),
    (256, top_k!("32")),
    (1024, top_k!("32")),
    (4096, top_k!("64")),
];

/// GroupNorm of Liger's shapes, which have positions behind the channels, and of Apex's, which have channels last.
static GROUP_NORM: [Call; 7] = [
    group_norm!("1x3", "1", "groups = 1"),
    group_norm!("32x32x4", "32", "groups = 4"),
    group_norm!("63x2163", "63", "groups = 21"),
    group_norm!("48x8192", "48", "groups = 12"),
    group_norm!("16x16x2560", "2560", "groups = 16, channel_axis = -1"),
    group_norm!("16x16x1920", "1920", "groups = 32, channel_axis = -1"),
    group_norm!("8x8x512", "512", "groups = 8, channel_axis = -1"),
];

/// Every case of a shape that others test.
pub fn cases(cases: &mut Vec<Case>) {
    let mut add = |op: Op, x: Element, columns: i64, rows: i64| {
        let mut case = plain(op, x, columns);
        case.run.rows = rows;
        case.run.seeds = 1;
        cases.push(case);
    };
    for columns in NORMS {
        add(EVERYTHING, F16, columns, 1);
        add(WEIGHTED, BF16, columns, 2);
        add(Op::Named(&LAYER_NORM), F32, columns, 2);
    }
    for columns in LOGITS {
        add(Op::Named(&SOFTMAX), BF16, columns, 2);
        add(Op::Named(&CROSS_ENTROPY), BF16, columns, 2);
    }
    // A row that CTAs split between them, and whose length no vector divides.
    add(Op::Named(&SOFTMAX), BF16, (1 << 20) + 13, 1);
    for columns in GRADIENTS {
        add(Op::Named(&RMS_NORM_GRAD), F32, columns, 3);
        add(Op::Named(&LAYER_NORM_GRAD), BF16, columns, 3);
    }
    for (columns, call) in &TOP_K {
        for x in [BF16, F32] {
            add(Op::Named(call), x, *columns, 2);
        }
    }
    for call in &GROUP_NORM {
        add(Op::Named(call), F32, 1, 1);
    }
}
