//! The table: op, types, shapes, layouts, schedules and inputs whose results the suite holds the compiler to.
//!
//! Each block varies one thing and keeps the rest plain, edges first, so that a failure's name already says much.

mod graphs;
mod named;

use norma_bundle::Element::{self, BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I8, I32, I64};
use norma_bundle::ScalarOp;
use norma_bundle::scalar_op::TABLE;
use norma_oracle::Fill;

use crate::case::{Case, Keep, Layout, Op, Program, Run, Schedule};
use crate::source::scalar_memory;

/// Row lengths at the edges: of a vector, a warp, a register tile, and what real models have.
pub const EDGES: [i64; 10] = [1, 2, 7, 31, 33, 769, 1000, 4095, 4096, 5120];
/// Row counts at the edges.
const ROWS: [i64; 3] = [0, 1, 3];
/// Longer row lengths that take seconds each.
const LONG_ROWS: [i64; 4] = [8192, 12288, 16384, 24576];
/// RMSNorm with a weight of the same type as `x`.
pub const WEIGHTED: Op = Op::RmsNorm {
    weight: Some(BF16),
    offset: false,
    bias: None,
    rstd: false,
};
/// RMSNorm with everything there is.
const EVERYTHING: Op = Op::RmsNorm {
    weight: Some(F32),
    offset: true,
    bias: Some(BF16),
    rstd: true,
};

/// Every case; with `long` those too that take longer than every change should wait for.
pub fn cases(long: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    rms_norm_edges(&mut cases);
    rms_norm_types(&mut cases);
    kernel_form(&mut cases);
    layouts(&mut cases);
    broadcasts(&mut cases);
    schedules(&mut cases);
    splits(&mut cases);
    inputs(&mut cases);
    exact(&mut cases);
    scalars(&mut cases, long);
    rearranged(&mut cases);
    if long {
        long_rows(&mut cases);
    }
    aligned(&mut cases);
    named::cases(&mut cases);
    graphs::cases(&mut cases);
    clusters(&mut cases);
    for (number, case) in cases.iter_mut().enumerate() {
        case.run.seed = number as u64;
    }
    cases
}

/// Rows that take more than one CTA: of short rows, a CTA has as many as have threads.
pub fn rows_of_some_ctas(columns: i64) -> i64 {
    2048 / columns.unsigned_abs().next_power_of_two() as i64 + 3
}

/// A plain case, to change one thing of.
pub fn plain(op: Op, x: Element, columns: i64) -> Case {
    Case {
        program: Program {
            op,
            x,
            y: x,
            heads: 1,
            columns: vec![columns],
            layout: Layout::Dense,
            align: None,
            schedule: None,
        },
        run: Run {
            rows: rows_of_some_ctas(columns),
            fill: Fill::Normal,
            seed: 0,
            seeds: 2,
        },
    }
}

fn rms_norm(weight: Option<Element>, offset: bool, bias: Option<Element>, rstd: bool) -> Op {
    Op::RmsNorm {
        weight,
        offset,
        bias,
        rstd,
    }
}

fn rms_norm_edges(cases: &mut Vec<Case>) {
    for columns in EDGES {
        for rows in ROWS {
            let mut case = plain(WEIGHTED, BF16, columns);
            case.run.rows = rows;
            cases.push(case);
        }
        cases.push(plain(EVERYTHING, F16, columns));
        cases.push(plain(rms_norm(None, false, None, true), F32, columns));
    }
}

fn rms_norm_types(cases: &mut Vec<Case>) {
    let floats = [BF16, F16, F32];
    for x in floats {
        for y in floats {
            let mut case = plain(rms_norm(Some(x), false, None, false), x, 1000);
            case.program.y = y;
            cases.push(case);
        }
        for weight in floats {
            cases.push(plain(rms_norm(Some(weight), true, Some(x), false), x, 769));
            cases.push(plain(rms_norm(Some(x), false, Some(weight), true), x, 4096));
        }
        cases.push(plain(rms_norm(None, false, Some(x), false), x, 33));
    }
    for columns in [vec![4, 8], vec![32, 128], vec![7, 33], vec![1, 64], vec![5, 1]] {
        let mut case = plain(EVERYTHING, BF16, 1);
        case.program.columns = columns;
        case.run.rows = rows_of_some_ctas(case.program.row());
        cases.push(case);
    }
    for heads in [2, 5] {
        let mut case = plain(WEIGHTED, BF16, 128);
        case.program.heads = heads;
        cases.push(case);
    }
}

fn kernel_form(cases: &mut Vec<Case>) {
    let ops = [
        Op::LayerNorm { affine: Some(F32) },
        Op::LayerNorm { affine: None },
        Op::LayerNormWelford,
        Op::Softmax,
        Op::LogSumExp,
        Op::CrossEntropy,
        Op::L2Norm,
        Op::Amax,
        Op::ArgMax,
        Op::Min,
        Op::MaxNegated,
        Op::Sum,
        Op::Centre,
        Op::VarianceAndAmax,
    ];
    for op in ops {
        for (columns, x) in [
            (1, F32),
            (7, BF16),
            (33, F16),
            (64, BF16),
            (769, F32),
            (1000, BF16),
            (4096, BF16),
        ] {
            cases.push(plain(op, x, columns));
        }
    }
    for x in [F64, I32, I64] {
        for op in [Op::Sum, Op::Min, Op::MaxNegated] {
            for columns in [1, 31, 769, 4096] {
                cases.push(plain(op, x, columns));
            }
        }
    }
    cases.push(plain(Op::Centre, F64, 769));
    for columns in [1, 3, 7, 31] {
        for x in [F32, I32] {
            cases.push(plain(Op::Product, x, columns));
        }
        for x in [I32, I64] {
            for op in [Op::And, Op::Or] {
                let mut case = plain(op, x, columns);
                // So many that each bit is clear, or set, throughout some row.
                case.run.rows = 20;
                cases.push(case);
            }
        }
    }
    for columns in [33, 1000] {
        cases.push(plain(Op::Sum, I8, columns));
        cases.push(plain(Op::MaxNegated, I8, columns));
    }
    for (columns, x) in [(2, F32), (64, BF16), (128, BF16), (1000, F16), (4096, BF16)] {
        cases.push(plain(Op::RotateHalves, x, columns));
    }
    for columns in [vec![4, 8], vec![7, 33]] {
        let mut case = plain(Op::LayerNorm { affine: Some(BF16) }, BF16, 1);
        case.program.columns = columns;
        case.run.rows = rows_of_some_ctas(case.program.row());
        case.program.heads = 2;
        cases.push(case);
    }
}

fn layouts(cases: &mut Vec<Case>) {
    for align in [2, 4, 8] {
        for columns in [64, 1000, 4096] {
            let mut case = plain(WEIGHTED, BF16, columns);
            case.program.align = Some(align);
            cases.push(case);
        }
    }
    for (columns, gap) in [(64, 8), (1000, 24), (4096, 8), (33, 1), (769, 7)] {
        for op in [WEIGHTED, Op::Softmax] {
            let mut case = plain(op, BF16, columns);
            case.program.layout = Layout::Padded(gap);
            case.program.align = (gap % 8 != 0).then_some(2);
            cases.push(case);
        }
    }
    for columns in [7, 64, 1000] {
        let mut case = plain(WEIGHTED, F32, columns);
        case.program.layout = Layout::Transposed;
        case.run.rows = case.run.rows.max(19);
        case.program.align = Some(4);
        cases.push(case);
    }
}

fn broadcasts(cases: &mut Vec<Case>) {
    for (columns, op) in [(64, WEIGHTED), (1000, WEIGHTED), (769, Op::Softmax)] {
        let mut case = plain(op, BF16, columns);
        case.program.layout = Layout::Broadcast;
        cases.push(case);
    }
}

fn schedules(cases: &mut Vec<Case>) {
    let base = Schedule::default();
    let few = |threads_per_row| Schedule {
        threads_per_row,
        ..base
    };
    let looped = |chunk, keep, schedule| Schedule {
        chunk: Some(chunk),
        keep,
        ..schedule
    };
    let forced = [
        (64, few(1)),
        (64, few(2)),
        (64, few(16)),
        // More threads than elements: partial results of nothing meet each other.
        (7, few(32)),
        (33, few(64)),
        (769, few(32)),
        (769, few(64)),
        (1000, few(128)),
        (4096, few(1024)),
        (1000, Schedule { vector: 2, ..few(32) }),
        (1000, Schedule { vector: 4, ..few(64) }),
        (
            4096,
            Schedule {
                vector: 8,
                ..few(256)
            },
        ),
        (
            4095,
            Schedule {
                vector: 1,
                ..few(256)
            },
        ),
        (
            5120,
            Schedule {
                vector: 8,
                ..few(256)
            },
        ),
        (
            33,
            Schedule {
                rows_per_cta: 2,
                ..few(8)
            },
        ),
        (
            64,
            Schedule {
                rows_per_cta: 4,
                ..few(32)
            },
        ),
        (
            64,
            Schedule {
                rows_per_cta: 8,
                ..few(4)
            },
        ),
        (
            1000,
            Schedule {
                rows_per_cta: 2,
                ..few(64)
            },
        ),
        (
            4096,
            Schedule {
                rows_per_cta: 4,
                ..few(128)
            },
        ),
        (
            64,
            Schedule {
                rows_per_cta: 4,
                rows_per_thread: 2,
                ..few(16)
            },
        ),
        (
            1000,
            Schedule {
                rows_per_cta: 2,
                rows_per_thread: 2,
                vector: 4,
                ..few(128)
            },
        ),
        (
            1000,
            Schedule {
                keep: Keep::Nowhere,
                ..few(64)
            },
        ),
        (
            4096,
            Schedule {
                keep: Keep::Nowhere,
                vector: 8,
                ..few(128)
            },
        ),
        (
            5120,
            Schedule {
                keep: Keep::L1,
                vector: 8,
                ..few(512)
            },
        ),
        (
            4096,
            Schedule {
                early_reads: true,
                vector: 8,
                ..few(512)
            },
        ),
        (
            769,
            Schedule {
                early_reads: true,
                ..few(128)
            },
        ),
        // Loops: one step, steps without a tail, a tail of some lanes, of one element, and a tail alone.
        (4096, looped(1, Keep::L1, few(1024))),
        (
            4096,
            Schedule {
                vector: 8,
                ..looped(2, Keep::L2, few(64))
            },
        ),
        (1000, looped(2, Keep::L1, few(64))),
        (769, looped(4, Keep::L2, few(64))),
        (33, looped(1, Keep::Nowhere, few(32))),
        (7, looped(2, Keep::L1, few(16))),
        (
            1000,
            Schedule {
                rows_per_cta: 4,
                rows_per_thread: 2,
                vector: 4,
                ..looped(1, Keep::L1, few(64))
            },
        ),
        (
            64,
            Schedule {
                rows_per_cta: 8,
                ..looped(2, Keep::Nowhere, few(4))
            },
        ),
        (
            5120,
            Schedule {
                vector: 8,
                early_reads: true,
                ..looped(1, Keep::L2, few(128))
            },
        ),
    ];
    for (columns, schedule) in forced {
        for op in [
            EVERYTHING,
            Op::LayerNorm { affine: None },
            Op::LayerNormWelford,
            Op::VarianceAndAmax,
        ] {
            let mut case = plain(op, BF16, columns);
            case.program.schedule = Some(schedule);
            case.run.rows = 2 * schedule.rows_per_cta * schedule.rows_per_thread + 1;
            cases.push(case);
        }
    }
}

/// Rows that begin at no multiple of a vector, in tiles that do: held and in loops, one and several for each thread, types of
/// every size, and rows that lie apart, or shorter than what lies before them.
/// Rows that several CTAs share, whose results come back to them, and of which one reduction waits for another.
fn splits(cases: &mut Vec<Case>) {
    let held = |parts, vector| Schedule {
        parts,
        vector,
        ..Schedule::default()
    };
    let looped = |parts, vector| Schedule {
        chunk: Some(1),
        keep: Keep::L2,
        ..held(parts, vector)
    };
    let crossing = |schedule| Schedule {
        threads_per_row: 64,
        ..schedule
    };
    for op in [
        EVERYTHING,
        Op::Softmax,
        Op::LayerNorm { affine: Some(BF16) },
        Op::LogSumExp,
        Op::L2Norm,
    ] {
        for (columns, schedule) in [
            (1000, held(4, 8)),
            // The last parts have no elements.
            (769, held(7, 1)),
            (1000, looped(3, 4)),
            (4096, crossing(looped(4, 8))),
        ] {
            let mut case = plain(op, BF16, columns);
            case.program.schedule = Some(schedule);
            cases.push(case.clone());
            if op.is_judged_under(Fill::Special) {
                case.run.fill = Fill::Special;
                cases.push(case);
            }
        }
    }
}

fn aligned(cases: &mut Vec<Case>) {
    let held = |threads_per_row, vector| Schedule {
        threads_per_row,
        vector,
        is_aligned: true,
        ..Schedule::default()
    };
    let looped = |threads_per_row, vector, chunk| Schedule {
        chunk: Some(chunk),
        keep: Keep::L1,
        ..held(threads_per_row, vector)
    };
    let rows = |rows_per_thread, schedule| Schedule {
        rows_per_cta: rows_per_thread,
        rows_per_thread,
        ..schedule
    };
    let mut add = |op, x, columns: i64, schedule: Schedule| {
        let mut case = plain(op, x, columns);
        case.program.schedule = Some(schedule);
        case.run.rows = schedule.rows_per_cta * schedule.vector + 3;
        cases.push(case);
    };
    for op in [
        EVERYTHING,
        Op::LayerNorm { affine: Some(F32) },
        Op::VarianceAndAmax,
    ] {
        for columns in [1, 7, 8, 9, 33, 769] {
            add(op, BF16, columns, held(32, 8));
            add(op, F16, columns, rows(2, held(64, 8)));
            add(op, BF16, columns, looped(32, 8, 2));
        }
        add(op, BF16, 4095, rows(2, held(256, 8)));
        add(op, F16, 4097, held(128, 8));
        add(op, BF16, 4097, looped(128, 8, 1));
        add(op, BF16, 1001, rows(4, looped(32, 8, 1)));
        // Two steps of 256 hold the row, but not what lies before it.
        add(op, BF16, 507, looped(32, 8, 1));
        add(op, F32, 769, rows(2, held(64, 4)));
        add(op, F32, 769, looped(64, 4, 1));
        // Vectors longer than an access, and rows of which every second begins alike.
        add(op, F32, 1001, held(32, 8));
        add(op, BF16, 1004, held(32, 8));
        add(op, F16, 1004, looped(32, 8, 1));
    }
    for (op, x) in [
        (Op::Sum, I8),
        (Op::MaxNegated, I8),
        (Op::Sum, I32),
        (Op::ArgMax, F32),
    ] {
        for columns in [1, 15, 17, 769] {
            let vector = 16 / x.bytes() as i64;
            add(op, x, columns, rows(2, held(32, vector)));
            add(op, x, columns, looped(32, vector, 1));
        }
    }
    for op in [Op::Softmax, Op::CrossEntropy] {
        add(op, BF16, 50, looped(32, 8, 1));
        add(op, BF16, 1009, looped(32, 8, 2));
        add(op, BF16, 2051, held(128, 8));
    }
    // Two accesses of one buffer of which one begins at another place.
    for columns in [18, 1010] {
        add(Op::RotateHalves, F16, columns, held(64, 8));
        add(Op::RotateHalves, BF16, columns, looped(32, 8, 1));
    }
}

/// Rows over the CTAs of a cluster: held and in loops, rows that the cluster does not divide, CTAs without an element, reductions that
/// wait for each other and such as share a round, partial results of every width.
fn clusters(cases: &mut Vec<Case>) {
    let held = |ctas_per_row, threads_per_row, vector| Schedule {
        ctas_per_row,
        threads_per_row,
        vector,
        ..Schedule::default()
    };
    let looped = |ctas_per_row, threads_per_row, vector| Schedule {
        chunk: Some(1),
        keep: Keep::L1,
        ..held(ctas_per_row, threads_per_row, vector)
    };
    let rows = |rows_per_cta, rows_per_thread, schedule| Schedule {
        rows_per_cta,
        rows_per_thread,
        ..schedule
    };
    let mut add = |op, x, columns: i64, schedule: Schedule| {
        let mut case = plain(op, x, columns);
        case.program.schedule = Some(schedule);
        case.run.rows = 2 * schedule.rows_per_cta + 1;
        case.run.seeds = 4;
        cases.push(case);
    };
    for op in [
        EVERYTHING,
        Op::LayerNorm { affine: Some(F32) },
        Op::Softmax,
        Op::VarianceAndAmax,
    ] {
        add(op, BF16, 4096, held(2, 128, 8));
        add(op, BF16, 1000, held(4, 32, 8));
        add(op, F16, 769, held(8, 32, 1));
        add(op, F32, 7, held(2, 16, 1));
        add(op, BF16, 1000, rows(2, 1, held(2, 64, 4)));
        add(op, BF16, 769, rows(4, 2, held(4, 32, 1)));
        add(op, BF16, 4096, looped(4, 64, 8));
        add(op, F16, 1000, looped(2, 32, 4));
        add(op, BF16, 33, looped(8, 32, 1));
        add(
            op,
            BF16,
            4096,
            Schedule {
                early_reads: true,
                ..held(4, 64, 8)
            },
        );
    }
    for op in [Op::LayerNormWelford, Op::CrossEntropy, Op::ArgMax, Op::L2Norm] {
        add(op, F32, 1000, held(4, 64, 4));
        add(op, BF16, 769, looped(2, 64, 1));
    }
    for x in [I8, I32, I64, F64] {
        add(Op::Sum, x, 769, held(4, 32, 1));
        add(Op::MaxNegated, x, 1000, looped(2, 64, 1));
    }
    // More CTAs than are portable.
    add(WEIGHTED, BF16, 4096, held(16, 32, 8));
}

fn inputs(cases: &mut Vec<Case>) {
    let ops = [
        EVERYTHING,
        Op::LayerNorm { affine: None },
        Op::LayerNormWelford,
        Op::Softmax,
        Op::L2Norm,
        Op::Centre,
    ];
    for op in ops {
        for fill in Fill::ALL.into_iter().filter(|fill| op.is_judged_under(*fill)) {
            // 769 elements leave lanes dead: what they hold must not show, however far the mean is from zero.
            for columns in [31, 769] {
                let mut case = plain(op, F32, columns);
                case.run.fill = fill;
                cases.push(case);
            }
        }
    }
    for op in [Op::Amax, Op::Min, Op::MaxNegated, Op::LogSumExp, Op::Sum] {
        for fill in [Fill::Special, Fill::Offset] {
            for (columns, x) in [(7, F32), (769, BF16)] {
                let mut case = plain(op, x, columns);
                case.run.fill = fill;
                // So many that each special value has a row without the others.
                case.run.rows = 20;
                cases.push(case);
            }
        }
    }
    // Labels anywhere in the row.
    let mut case = plain(Op::CrossEntropy, BF16, 1000);
    case.run.fill = Fill::Large;
    case.run.rows = 64;
    cases.push(case);
}

/// Inputs whose sums are exact in every order, so that results are compared bit for bit: one element too many or too few
/// shows, and one bit of a mantissa.
fn exact(cases: &mut Vec<Case>) {
    let ops = [
        Op::Sum,
        Op::Amax,
        Op::Min,
        Op::MaxNegated,
        Op::ArgMax,
        Op::Centre,
        Op::VarianceAndAmax,
        Op::LayerNorm { affine: None },
        WEIGHTED,
    ];
    for op in ops {
        for (columns, x) in [
            (7, F32),
            (33, F16),
            (64, BF16),
            (769, F32),
            (1000, BF16),
            (4096, BF16),
        ] {
            let mut case = plain(op, x, columns);
            case.run.fill = Fill::Exact;
            cases.push(case);
        }
    }
    for x in [F64, I32, I64] {
        for op in [Op::Sum, Op::Min, Op::MaxNegated] {
            let mut case = plain(op, x, 769);
            case.run.fill = Fill::Exact;
            cases.push(case);
        }
    }
}

/// Every op of the table of scalar ops in every type, over rows that leave lanes dead: a sum of what they hold would show.
fn scalars(cases: &mut Vec<Case>, long: bool) {
    let fills: &[Fill] = match long {
        true => &Fill::ALL,
        false => &[Fill::Normal, Fill::Large, Fill::Special, Fill::Exact],
    };
    for row in TABLE {
        for (signature, (operands, result)) in row.signatures().into_iter().enumerate() {
            // The bits of -1 are those that an output is filled with beforehand, and no other float of theirs is.
            let is_pattern =
                |fill: &&Fill| row.op == ScalarOp::Bitcast && result.is_float() && **fill == Fill::Exact;
            for fill in fills.iter().filter(|fill| !is_pattern(fill)) {
                let op = Op::Scalar {
                    op: row.op,
                    signature,
                };
                let mut case = plain(op, scalar_memory(operands[operands.len() - 1]), 27);
                case.program.y = scalar_memory(result);
                // Powers of whole numbers overflow to infinities of both signs, whose sum f64 knows and f32 does not.
                let overflows = row.op == ScalarOp::PowF && *fill == Fill::Exact;
                case.run.fill = if overflows { Fill::Normal } else { *fill };
                case.run.rows = 67;
                case.run.seeds = 1;
                cases.push(case);
            }
        }
    }
}

/// Transposes, and blocks scaled to 8-bit floats, with extents that no tile divides; with forced schedules the layouts of reads
/// and writes have registers, lanes or warps in another order.
fn rearranged(cases: &mut Vec<Case>) {
    let add = |cases: &mut Vec<Case>, op: Op, x: Element, y: Element, columns: i64, rows: i64| {
        let mut case = plain(op, x, columns);
        case.program.y = y;
        case.run.rows = rows;
        cases.push(case);
    };
    let spreads = [
        None,
        Some("[[grid, register(4), warp(4), lane(4)], [grid, lane(8), vector(8)]]"),
        Some("[[grid, register(4), warp(2), lane(1)], [grid, lane(32), vector(2)]]"),
        Some("[[grid, warp(2), lane(8), vector(4)], [grid, lane(4), register(8)]]"),
    ];
    for spread in spreads {
        let transpose = Op::Transpose { spread };
        for (x, y) in [
            (BF16, BF16),
            (F32, F32),
            (F8E4M3FN, F8E4M3FN),
            (I8, I8),
            (F64, F64),
            (F32, F8E5M2),
            (F8E5M2, F16),
        ] {
            add(cases, transpose, x, y, 96, 67);
        }
        add(cases, transpose, BF16, BF16, 65, 130);
        add(cases, transpose, BF16, BF16, 256, 1);
        add(cases, transpose, I32, I32, 7, 33);
    }
    let plain_spreads = [
        None,
        Some("[[grid, warp(2)], [grid, register(2), lane(8)], [lane(4), vector(8)]]"),
    ];
    let transposed_spreads = [
        None,
        Some("[[grid, warp(2), lane(32), vector(2)], [grid, register(2)], [register(32)]]"),
        Some("[[grid, warp(2), lane(32)], [grid], [register(32)]]"),
        Some("[[grid, lane(32), vector(2)], [grid, warp(4)], [register(32)]]"),
        Some("[[grid, lane(8)], [grid, warp(2)], [register(8), lane(4)]]"),
    ];
    for (is_transposed, spreads) in [(false, &plain_spreads[..]), (true, &transposed_spreads[..])] {
        for spread in spreads.iter().copied() {
            let quantize = Op::QuantizeBlocks {
                is_transposed,
                spread,
            };
            for (x, y) in [(BF16, F8E4M3FN), (BF16, F8E5M2), (F16, F8E4M3FN), (F32, F8E5M2)] {
                add(cases, quantize, x, y, 128, 67);
            }
            add(cases, quantize, BF16, F8E4M3FN, 32, 1);
            add(cases, quantize, BF16, F8E4M3FN, 96, 131);
        }
        for fill in [Fill::Special, Fill::Large, Fill::Exact, Fill::Small] {
            let quantize = Op::QuantizeBlocks {
                is_transposed,
                spread: None,
            };
            let mut case = plain(quantize, BF16, 64);
            case.program.y = F8E4M3FN;
            case.run.rows = 41;
            case.run.fill = fill;
            cases.push(case);
        }
    }
}

fn long_rows(cases: &mut Vec<Case>) {
    for columns in LONG_ROWS {
        for (op, x) in [(WEIGHTED, BF16), (EVERYTHING, F16), (Op::Softmax, BF16)] {
            cases.push(plain(op, x, columns));
        }
    }
    for columns in EDGES {
        for op in [WEIGHTED, EVERYTHING, Op::LayerNormWelford, Op::CrossEntropy] {
            let mut case = plain(op, BF16, columns);
            case.run.rows = 17;
            case.run.seeds = 8;
            cases.push(case);
        }
    }
}
