//! Tensors of a few rows, whose number is known: walks over them have few steps, and parts of a split few points.

use norma_bundle::Element::{BF16, F32};

use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;

/// Calls that walk over the rows of a tensor of `$rows` rows, or reduce all of it.
macro_rules! walks {
    ($rows:literal) => {
        [
            Call {
                name: concat!("rms_norm_grad of ", $rows, " rows"),
                op: "rms_norm_grad",
                x: concat!($rows, "xNxX"),
                operands: &[("dy", concat!($rows, "xNxX")), ("weight", "NxX")],
                results: &[("dx", concat!($rows, "xNxY")), ("dweight", "NxA")],
                ..PLAIN
            },
            Call {
                name: concat!("layer_norm_grad of ", $rows, " rows"),
                op: "layer_norm_grad",
                x: concat!($rows, "xNxX"),
                operands: &[("dy", concat!($rows, "xNxX")), ("weight", "NxX")],
                results: &[
                    ("dx", concat!($rows, "xNxY")),
                    ("dweight", "NxA"),
                    ("dbias", "NxA"),
                ],
                ..PLAIN
            },
            Call {
                name: concat!("var of ", $rows, " rows"),
                op: "reduce_axes var",
                x: concat!($rows, "xNxX"),
                attributes: "axes = array<i64: 0, 1>",
                results: &[("y", "A")],
                ..PLAIN
            },
            Call {
                name: concat!("cross_entropy averaged over ", $rows, " rows"),
                op: "cross_entropy",
                x: concat!($rows, "xNxX"),
                operands: &[("labels", concat!($rows, "xi64"))],
                keywords: "reduction(mean)",
                attributes: "label_smoothing = 0.125 : f32",
                results: &[("loss", "f32"), ("dlogits", concat!($rows, "xNxY"))],
                ..PLAIN
            },
            Call {
                name: concat!("quantize all of ", $rows, " rows"),
                op: "quantize",
                x: concat!($rows, "xNxX"),
                results: &[
                    ("q", concat!($rows, "xNxf8E4M3FN")),
                    ("scale", "f32"),
                    ("amax", "f32"),
                ],
                ..PLAIN
            },
        ]
    };
}

/// A call whose results are requested by name, as a base for others.
const PLAIN: Call = Call {
    by_keyword: true,
    ..Call::PLAIN
};

/// The calls, by the number of rows.
static CALLS: [(i64, [Call; 5]); 4] = [
    (1, walks!("1")),
    (2, walks!("2")),
    (3, walks!("3")),
    (17, walks!("17")),
];

/// Rows that a few lanes hold, that leave lanes dead, and that take several warps.
pub fn cases(cases: &mut Vec<Case>) {
    for (rows, calls) in &CALLS {
        for call in calls {
            for (columns, x) in [(1, F32), (64, BF16), (1000, BF16), (8192, F32)] {
                let mut case = plain(Op::Named(call), x, columns);
                case.run.rows = *rows;
                cases.push(case);
            }
        }
    }
}
