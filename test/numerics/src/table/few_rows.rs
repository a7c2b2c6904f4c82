//! Tensors of a few rows, whose number is known or bounded: walks over them have few steps, and parts of a split few points, or none.

use norma_bundle::Element::{BF16, F32};

use super::plain;
use crate::case::{Case, Op};
use crate::source::named::Call;

/// Calls that walk over the rows of a tensor of `$rows` rows, or reduce all of it.
macro_rules! walks {
    ($rows:literal, $bounds:expr, $promise:literal) => {
        [
            Call {
                name: concat!("rms_norm_grad of ", $promise, $rows, " rows"),
                op: "rms_norm_grad",
                x: concat!($rows, "xNxX"),
                bounds: $bounds,
                operands: &[("dy", concat!($rows, "xNxX")), ("weight", "NxX")],
                results: &[("dx", concat!($rows, "xNxY")), ("dweight", "NxA")],
                ..PLAIN
            },
            Call {
                name: concat!("layer_norm_grad of ", $promise, $rows, " rows"),
                op: "layer_norm_grad",
                x: concat!($rows, "xNxX"),
                bounds: $bounds,
                operands: &[("dy", concat!($rows, "xNxX")), ("weight", "NxX")],
                results: &[
                    ("dx", concat!($rows, "xNxY")),
                    ("dweight", "NxA"),
                    ("dbias", "NxA"),
                ],
                ..PLAIN
            },
            Call {
                name: concat!("var of ", $promise, $rows, " rows"),
                op: "reduce_axes var",
                x: concat!($rows, "xNxX"),
                bounds: $bounds,
                attributes: "axes = array<i64: 0, 1>",
                results: &[("y", "A")],
                ..PLAIN
            },
            Call {
                name: concat!("cross_entropy averaged over ", $promise, $rows, " rows"),
                op: "cross_entropy",
                x: concat!($rows, "xNxX"),
                bounds: $bounds,
                operands: &[("labels", concat!($rows, "xi64"))],
                keywords: "reduction(mean)",
                attributes: "label_smoothing = 0.125 : f32",
                results: &[("loss", "f32"), ("dlogits", concat!($rows, "xNxY"))],
                ..PLAIN
            },
            Call {
                name: concat!("quantize all of ", $promise, $rows, " rows"),
                op: "quantize",
                x: concat!($rows, "xNxX"),
                bounds: $bounds,
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
    (1, walks!("1", None, "")),
    (2, walks!("2", None, "")),
    (3, walks!("3", None, "")),
    (17, walks!("17", None, "")),
];

/// Calls for any number of rows within bounds, some of which leave CTAs of a walk without rows; and numbers of rows.
static BOUNDED: [([Call; 5], &[i64]); 3] = [
    (walks!("?", Some([0, 64]), "up to 64 of "), &[0, 1, 64]),
    (walks!("?", Some([1, 64]), "1 to 64 of "), &[1, 5]),
    (walks!("?", Some([1, 132]), "1 to 132 of "), &[37, 132]),
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
    for (calls, numbers) in &BOUNDED {
        for call in calls {
            for (columns, x) in [(64, BF16), (1000, BF16), (3001, F32)] {
                for rows in *numbers {
                    let mut case = plain(Op::Named(call), x, columns);
                    case.run.rows = *rows;
                    cases.push(case);
                }
            }
        }
    }
}
