//! Rows that are in part in registers and in part read again: the first steps of a loop are held (`held_steps`).
//!
//! Each has rows with fewer steps than are held, as many, and more, with a part of a step behind the held ones or among them, and a
//! number of steps that is known only at run time.

use super::plain;
use crate::case::{Case, Keep, Op, Schedule};
use crate::source::graphs::{ADD_RMS_NORM_IN_PLACE, CROSS_ENTROPY_IN_PLACE, Graph};
use crate::source::named::Call;
use norma_bundle::Element::{BF16, F32};

const ROWS: &str = "spread = [[grid], [loop, warp(2), lane(32), vector(4)]], keep = [l1], held_steps = 2";
const MERGED: &str = "spread = [[grid], [loop, warp(2), lane(32), vector(4)]], keep = [l2], held_steps = 3, merge_reductions = [loop]";
const OF_CLUSTERS: &str =
    "spread = [[grid], [loop, cluster(2), register(2), lane(32), vector(4)]], keep = [none], held_steps = 1";
const AHEAD: &str =
    "spread = [[grid, warp(2)], [loop, lane(32), vector(8)]], keep = [l2], stages = 2, held_steps = 2";
const UNROLLED: &str = "spread = [[grid], [loop, warp(2), lane(32), vector(4)]], keep = [l1], unroll_bytes = 32, held_steps = 1, merge_reductions = [loop]";

const CALLS: &[Call] = &[
    Call {
        name: "softmax, steps held",
        op: "softmax",
        schedule: Some(ROWS),
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm merged, steps held",
        op: "layer_norm",
        operands: &[("weight", "NxX"), ("bias", "Nxf32")],
        schedule: Some(MERGED),
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm in clusters, steps held",
        op: "layer_norm",
        schedule: Some(OF_CLUSTERS),
        ..Call::PLAIN
    },
    Call {
        name: "rms_norm loaded ahead, steps held",
        op: "rms_norm",
        operands: &[("weight", "NxX")],
        attributes: "eps = 1.0e-5 : f32",
        schedule: Some(AHEAD),
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm unrolled, steps held",
        op: "layer_norm",
        schedule: Some(UNROLLED),
        ..Call::PLAIN
    },
    Call {
        name: "softmax_grad, steps held",
        op: "softmax_grad",
        operands: &[("dy", "?xNxX")],
        results: &[("dx", "?xNxY")],
        schedule: Some(ROWS),
        ..Call::PLAIN
    },
    Call {
        name: "softmax of rows that the run knows, steps held",
        op: "softmax",
        x: "?x?xX",
        results: &[("y", "?x?xY")],
        schedule: Some(ROWS),
        ..Call::PLAIN
    },
    Call {
        name: "layer_norm merged, of rows that the run knows, steps held",
        op: "layer_norm",
        x: "?x?xX",
        results: &[("y", "?x?xY")],
        schedule: Some(MERGED),
        ..Call::PLAIN
    },
];

const SCHEDULE: Schedule = Schedule {
    rows_per_cta: 1,
    ctas_per_row: 1,
    threads_per_row: 32,
    vector: 4,
    rows_per_thread: 1,
    chunk: Some(1),
    keep: Keep::L1,
    early_reads: false,
    prefetches: false,
    unroll_bytes: 0,
    held_steps: 2,
    is_aligned: false,
    parts: 1,
};

/// A loop that runs backwards takes its held steps last.
const REVERSED: Graph = Graph {
    name: "sums from the end of a row less its maximum",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<?x$Nx$X> {norm.name = "x"}) -> (tensor<?x$Nx$X> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x$Nx$X>) -> (%out : tensor<?x$Nx$X>) space(%m = dim(%in, 0), %n = $N) {
    %0 = norm.read %in[%m, %n] : tensor<?x$Nx$X>
    %1 = norm.reduce max %0 over(%n) : $X
    %2 = arith.subf %0, %1 : $X
    %3 = norm.scan add reverse %2 along(%n) : $X
    norm.write %3, %out[%m, %n] : tensor<?x$Nx$X>
  }
  return %y : tensor<?x$Nx$X>
}
"#,
};

pub fn cases(cases: &mut Vec<Case>) {
    for call in CALLS {
        for x in [BF16, F32] {
            for columns in [3, 256, 500, 512, 768, 1000, 1900, 2048] {
                let mut case = plain(Op::Named(call), x, columns);
                case.run.rows = 3;
                cases.push(case);
            }
        }
    }
    for columns in [200, 512, 600, 1900] {
        let mut case = plain(Op::Graph(&REVERSED), F32, columns);
        case.program.schedule = Some(SCHEDULE);
        cases.push(case);
    }
    for graph in [&ADD_RMS_NORM_IN_PLACE, &CROSS_ENTROPY_IN_PLACE] {
        for columns in [100, 300, 1000, 2048] {
            let mut case = plain(Op::Graph(graph), BF16, columns);
            case.program.schedule = Some(SCHEDULE);
            cases.push(case);
        }
    }
    // Rows that begin anywhere; with the shift of the tile a held step has fewer of the row's points.
    for columns in [7, 255, 257, 507, 1001, 2047] {
        let mut case = plain(Op::LayerNorm { affine: Some(F32) }, BF16, columns);
        case.program.schedule = Some(Schedule {
            vector: 8,
            is_aligned: true,
            ..SCHEDULE
        });
        case.run.rows = 11;
        cases.push(case);
    }
}
