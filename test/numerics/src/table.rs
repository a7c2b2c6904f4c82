//! The table: ops, types, shapes, layouts, schedules and inputs that every change of the compiler is tested on.
//!
//! Each block varies one property and keeps the others plain, edge cases first, so that a failure's name already says much.

mod boxes;
pub mod dependent;
mod differentiated;
mod drawn;
mod dynamic_groups;
mod few_rows;
mod gradients;
mod graphs;
mod held_steps;
mod merged;
mod named;
mod odd_rows;
mod peers;
mod points;
mod prefetched;
mod quantization;
mod reductions;
pub(crate) mod rings;
mod runs;
mod scans;
mod schedules;
mod selected;
mod sent;
mod top_k;
mod unrolled;

use norma_bundle::Element::{self, BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I8, I32, I64};
use norma_bundle::ScalarOp;
use norma_bundle::scalar_op::TABLE;
use norma_oracle::Fill;

use crate::case::{Case, Layout, Op, Program, Run};
use crate::source::{scalar_memory, scalar_signatures};

/// Row lengths at the edges of a vector, a warp and a register tile, and lengths from real models.
pub const EDGES: [i64; 10] = [1, 2, 7, 31, 33, 769, 1000, 4095, 4096, 5120];
/// Row lengths at the edges, each in one type.
const TYPED_EDGES: [(i64, Element); 7] = [
    (1, F32),
    (7, BF16),
    (33, F16),
    (64, BF16),
    (769, F32),
    (1000, BF16),
    (4096, BF16),
];
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
/// RMSNorm with all its operands and results.
const EVERYTHING: Op = Op::RmsNorm {
    weight: Some(F32),
    offset: true,
    bias: Some(BF16),
    rstd: true,
};

/// Every case; with `long`, also those that take too long for every change.
pub fn cases(long: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    rms_norm_edges(&mut cases);
    rms_norm_types(&mut cases);
    kernel_form(&mut cases);
    layouts(&mut cases);
    broadcasts(&mut cases);
    schedules::schedules(&mut cases);
    schedules::splits(&mut cases);
    inputs(&mut cases);
    exact(&mut cases);
    identities(&mut cases);
    scalars(&mut cases, long);
    rearranged(&mut cases);
    if long {
        long_rows(&mut cases);
    }
    odd_rows::aligned(&mut cases);
    odd_rows::as_scheduled(&mut cases);
    named::cases(&mut cases);
    dynamic_groups::cases(&mut cases);
    merged::cases(&mut cases);
    differentiated::cases(&mut cases);
    gradients::cases(&mut cases);
    reductions::cases(&mut cases);
    scans::cases(&mut cases);
    quantization::cases(&mut cases);
    top_k::cases(&mut cases);
    graphs::cases(&mut cases);
    schedules::clusters(&mut cases);
    schedules::shared(&mut cases);
    schedules::shared_by_threads(&mut cases);
    boxes::cases(&mut cases);
    rings::cases(&mut cases);
    drawn::cases(&mut cases);
    few_rows::cases(&mut cases);
    points::cases(&mut cases);
    peers::cases(&mut cases);
    runs::cases(&mut cases);
    selected::cases(&mut cases);
    sent::cases(&mut cases);
    dependent::cases(&mut cases);
    prefetched::cases(&mut cases);
    unrolled::cases(&mut cases);
    held_steps::cases(&mut cases);
    for (number, case) in cases.iter_mut().enumerate() {
        case.run.seed = number as u64;
    }
    cases
}

/// Enough rows for more than one CTA: for short rows, a CTA holds as many as it has threads for.
pub fn rows_of_some_ctas(columns: i64) -> i64 {
    2048 / columns.unsigned_abs().next_power_of_two() as i64 + 3
}

/// A plain case, as a base for others.
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
        for (columns, x) in TYPED_EDGES {
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
                // So many rows that each bit is clear, or set, throughout some row.
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
        for fill in Fill::GENERAL.into_iter().filter(|fill| op.is_judged_under(*fill)) {
            // 769 elements leave lanes dead: their values must not show, however far the mean is from zero.
            for columns in [31, 769] {
                let mut case = plain(op, F32, columns);
                case.run.fill = fill;
                cases.push(case);
            }
        }
    }
    for op in [Op::Amax, Op::Min, Op::MaxNegated, Op::LogSumExp, Op::Sum] {
        for fill in [Fill::Special, Fill::Offset] {
            // Rows of 1024 leave no element masked, so that maxima are of pairs.
            for (columns, x) in [(7, F32), (769, BF16), (1024, BF16), (1024, F16)] {
                let mut case = plain(op, x, columns);
                case.run.fill = fill;
                // So many rows that each special value has a row without the others.
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

/// Inputs whose sums are exact in every order, so that results are compared bit for bit: one element too many or too few shows,
/// and so does one bit of a mantissa.
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

/// Rows that hold a single number, at the ends of the type, and leave lanes and registers without elements: the identity of an
/// extreme shows if some number lies beyond it.
fn identities(cases: &mut Vec<Case>) {
    for op in [Op::Amax, Op::Min, Op::MaxNegated, Op::ArgMax] {
        for (columns, x) in [(7, F32), (33, F16), (100, BF16), (769, F32), (1000, BF16)] {
            let mut case = plain(op, x, columns);
            case.run.fill = Fill::Identities;
            // Each number fills whole rows.
            case.run.rows = 16;
            cases.push(case);
        }
    }
    for x in [F64, I8, I32, I64] {
        for op in [Op::Min, Op::MaxNegated] {
            let mut case = plain(op, x, 769);
            case.run.fill = Fill::Identities;
            case.run.rows = 16;
            cases.push(case);
        }
    }
}

/// Every op of the table of scalar ops in every type, over rows that leave lanes dead: their values would show in a sum.
fn scalars(cases: &mut Vec<Case>, long: bool) {
    let fills: &[Fill] = match long {
        true => &Fill::GENERAL,
        false => &[Fill::Normal, Fill::Large, Fill::Special, Fill::Exact],
    };
    for row in TABLE {
        for (signature, (operands, result)) in scalar_signatures(row.op).into_iter().enumerate() {
            // The bits of -1 are the poison that outputs are filled with beforehand; no other float here has them.
            let is_pattern =
                |fill: &&Fill| row.op == ScalarOp::Bitcast && result.is_float() && **fill == Fill::Exact;
            for fill in fills.iter().filter(|fill| !is_pattern(fill)) {
                let op = Op::Scalar {
                    op: row.op,
                    signature,
                };
                let mut case = plain(op, scalar_memory(operands[operands.len() - 1]), 27);
                case.program.y = scalar_memory(result);
                // Powers of whole numbers overflow in f32 to infinities of both signs, whose sum is NaN, but not in f64.
                let overflows = row.op == ScalarOp::PowF && *fill == Fill::Exact;
                case.run.fill = if overflows { Fill::Normal } else { *fill };
                case.run.rows = 67;
                case.run.seeds = 1;
                cases.push(case);
            }
        }
    }
}

/// Transposes, and blocks scaled to 8-bit floats, with extents that no tile divides. Under forced schedules the layouts of
/// reads and writes order registers, lanes and warps differently.
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
