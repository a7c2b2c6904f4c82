//! Rows whose size is not a multiple of 16 bytes, so that they begin at unaligned addresses.

use norma_bundle::Element::{BF16, F16, F32, I8, I32};

use super::{EVERYTHING, WEIGHTED, plain};
use crate::case::{Case, Keep, Layout, Op, Program, Schedule};

/// Unaligned rows in tiles that are shifted to an aligned address: held and in loops, one and several per thread, types of
/// every size, rows with gaps, and rows shorter than the shift.
pub(super) fn aligned(cases: &mut Vec<Case>) {
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
        // Two steps of 256 hold the row, but not the row with its shift.
        add(op, BF16, 507, looped(32, 8, 1));
        add(op, F32, 769, rows(2, held(64, 4)));
        add(op, F32, 769, looped(64, 4, 1));
        // Vectors longer than an access, and rows of which every second has the same alignment.
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
    // Two accesses of one buffer with different alignments.
    for columns in [18, 1010] {
        add(Op::RotateHalves, F16, columns, held(64, 8));
        add(Op::RotateHalves, BF16, columns, looped(32, 8, 1));
    }
}

/// Rows as the compiler schedules them: one row and several, results of other types, addresses of unknown alignment, and
/// aligned rows whose results are unaligned.
pub(super) fn as_scheduled(cases: &mut Vec<Case>) {
    let mut add = |op, x, columns, rows, change: &dyn Fn(&mut Program)| {
        let mut case = plain(op, x, columns);
        case.run.rows = rows;
        change(&mut case.program);
        cases.push(case);
    };
    let layer_norm = Op::LayerNorm { affine: Some(BF16) };
    for op in [EVERYTHING, WEIGHTED, layer_norm, Op::Softmax] {
        for columns in [197, 769, 4097] {
            add(op, BF16, columns, 1, &|_| {});
            add(op, F16, columns, 35, &|_| {});
        }
        add(op, F32, 773, 9, &|_| {});
        add(op, BF16, 771, 9, &|program| program.align = Some(2));
        add(op, BF16, 769, 9, &|program| program.layout = Layout::Padded(7));
        add(op, BF16, 1021, 9, &|program| program.layout = Layout::Padded(3));
    }
    for y in [F32, F16] {
        add(WEIGHTED, BF16, 771, 19, &|program| program.y = y);
    }
}
