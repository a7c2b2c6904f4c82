//! Rows copied to shared memory as boxes of tensor maps: boxes that extend past a row, by one CTA and by the CTAs of a cluster;
//! several rows per CTA and per thread; rows with gaps, which do not end at a multiple of 16 bytes. The part of a box beyond
//! the tensor is filled with zeros, which no reduction may count as elements: extremes and products would show it.

use super::schedules::scheduled;
use super::{EVERYTHING, plain};
use crate::case::{Case, Keep, Layout, Op, Schedule};
use crate::source::named::Call;
use norma_bundle::Element::{BF16, F16, F32, F64, I8, I32};

fn held(ctas_per_row: i64, threads_per_row: i64, vector: i64) -> Schedule {
    Schedule {
        ctas_per_row,
        threads_per_row,
        vector,
        keep: Keep::SharedByBoxes,
        ..Schedule::default()
    }
}

/// Rows of 8-bit floats, which the copy engine moves as bytes: held, and through a ring.
const DEQUANTIZE: &[Call] = &[
    Call {
        name: "dequantize rows, held as boxes",
        op: "dequantize",
        x: "?xNxf8E5M2",
        operands: &[("scale", "?xf32")],
        attributes: "block = array<i64: 1, 0>",
        schedule: Some(
            "spread = [[grid, warp(2)], [register(4), lane(32), vector(8)]], keep = [shared, none, none], bring = tensor",
        ),
        ..Call::PLAIN
    },
    Call {
        name: "dequantize rows, by boxes through a ring",
        op: "dequantize",
        x: "?xNxf8E4M3FN",
        operands: &[("scale", "?xf32")],
        attributes: "block = array<i64: 1, 0>",
        schedule: Some(
            "spread = [[loop, grid(2), warp(2)], [register(4), lane(32), vector(8)]], keep = [shared, none, none], \
             bring = tensor, stages = 2, producer_warps = 1",
        ),
        ..Call::PLAIN
    },
];

/// Every case.
pub(super) fn cases(cases: &mut Vec<Case>) {
    let ops = [
        EVERYTHING,
        Op::LayerNorm { affine: Some(F32) },
        Op::Softmax,
        Op::VarianceAndAmax,
    ];
    for op in ops {
        for (x, columns, schedule) in [
            (BF16, 4096, held(1, 128, 8)),
            (BF16, 1000, held(1, 64, 8)),
            (BF16, 1000, held(4, 64, 8)),
            (F16, 520, held(8, 32, 8)),
            (F32, 24, held(2, 32, 4)),
        ] {
            cases.push(scheduled(op, x, columns, schedule));
        }
        for (rows_per_cta, rows_per_thread) in [(2, 1), (4, 2)] {
            let schedule = Schedule {
                rows_per_cta,
                rows_per_thread,
                ..held(1, 64, 4)
            };
            cases.push(scheduled(op, BF16, 1000, schedule));
        }
        for (x, columns, gap, vector) in [(BF16, 1001, 7, 8), (F32, 769, 3, 4), (F16, 250, 14, 2)] {
            let mut case = scheduled(op, x, columns, held(1, 64, vector));
            case.program.layout = Layout::Padded(gap);
            cases.push(case);
        }
    }
    for op in [Op::Min, Op::MaxNegated, Op::Product, Op::LogSumExp] {
        for (columns, gap) in [(1000, 0), (769, 3)] {
            let mut case = scheduled(op, F32, columns, held(1, 64, 4));
            if gap > 0 {
                case.program.layout = Layout::Padded(gap);
            }
            cases.push(case);
        }
    }
    for (x, columns) in [(I8, 768), (I32, 1000), (F64, 770)] {
        cases.push(scheduled(Op::MaxNegated, x, columns, held(1, 64, 2)));
    }
    for call in DEQUANTIZE {
        for rows in [13, 1, 0] {
            let mut case = plain(Op::Named(call), BF16, 1008);
            case.run.rows = rows;
            case.run.seeds = 4;
            cases.push(case);
        }
    }
}
