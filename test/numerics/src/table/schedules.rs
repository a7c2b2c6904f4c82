//! Schedules: tiles, loops, split rows and clusters of every kind, over rows that they divide and rows that they do not.

use norma_bundle::Element::{self, BF16, F16, F32, F64, I8, I32, I64};
use norma_oracle::Fill;

use super::{EVERYTHING, WEIGHTED, plain};
use crate::case::{Case, Keep, Layout, Op, Schedule};

pub(super) fn schedules(cases: &mut Vec<Case>) {
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
        // More threads than elements: partial results of no elements are combined.
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
        // Loops with one step, with steps and no tail, with a tail of some lanes or of one element, and with a tail only.
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

/// Rows that several CTAs split, with results that go back to all of them; one reduction depends on another.
pub(super) fn splits(cases: &mut Vec<Case>) {
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

/// Rows over the CTAs of a cluster: held and in loops, rows that the cluster does not divide, CTAs without an element,
/// reductions that depend on each other or share a round of exchange, partial results of every width.
pub(super) fn clusters(cases: &mut Vec<Case>) {
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
    let mut add = |op, x, columns, schedule| cases.push(scheduled(op, x, columns, schedule));
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
    // A cluster larger than the portable size.
    add(WEIGHTED, BF16, 4096, held(16, 32, 8));
}

/// A case with a schedule, over two full CTAs of rows plus one row, under four seeds.
pub(super) fn scheduled(op: Op, x: Element, columns: i64, schedule: Schedule) -> Case {
    let mut case = plain(op, x, columns);
    case.program.schedule = Some(schedule);
    case.run.rows = 2 * schedule.rows_per_cta + 1;
    case.run.seeds = 4;
    case
}

/// Rows in shared memory, by one CTA and by the CTAs of a cluster: rows that the cluster does not divide, CTAs with shorter
/// parts or none, several rows per CTA and per thread, several parts of a row.
pub(super) fn shared(cases: &mut Vec<Case>) {
    let held = |ctas_per_row, threads_per_row, vector| Schedule {
        ctas_per_row,
        threads_per_row,
        vector,
        keep: Keep::Shared,
        ..Schedule::default()
    };
    let mut add = |op, x, columns, schedule| cases.push(scheduled(op, x, columns, schedule));
    for op in [
        EVERYTHING,
        Op::LayerNorm { affine: Some(F32) },
        Op::Softmax,
        Op::VarianceAndAmax,
    ] {
        add(op, BF16, 1000, held(1, 64, 8));
        add(op, BF16, 4096, held(2, 128, 8));
        add(op, BF16, 1000, held(4, 64, 8));
        add(op, F16, 520, held(8, 32, 8));
        add(op, F32, 24, held(2, 32, 4));
        for (rows_per_cta, rows_per_thread) in [(2, 1), (4, 2)] {
            let schedule = Schedule {
                rows_per_cta,
                rows_per_thread,
                ..held(4, 32, 4)
            };
            add(op, BF16, 1000, schedule);
        }
    }
}

/// Rows that threads copy to shared memory: 16, 8 and 4 bytes at a time, and through registers; rows with gaps and transposed
/// rows; several rows per CTA and per thread, and the CTAs of a cluster.
pub(super) fn shared_by_threads(cases: &mut Vec<Case>) {
    let held = |ctas_per_row, threads_per_row, vector| Schedule {
        ctas_per_row,
        threads_per_row,
        vector,
        keep: Keep::SharedByThreads,
        ..Schedule::default()
    };
    for op in [
        EVERYTHING,
        Op::LayerNorm { affine: Some(F32) },
        Op::Softmax,
        Op::VarianceAndAmax,
    ] {
        for (x, columns, schedule) in [
            (BF16, 4096, held(1, 128, 8)),
            (BF16, 1004, held(1, 64, 4)),
            (BF16, 1002, held(1, 64, 2)),
            (BF16, 1001, held(1, 64, 1)),
            (F32, 769, held(1, 128, 1)),
            (F16, 7, held(1, 32, 1)),
            (BF16, 1000, held(4, 64, 8)),
            (F16, 769, held(8, 32, 1)),
        ] {
            cases.push(scheduled(op, x, columns, schedule));
        }
        for (rows_per_cta, rows_per_thread) in [(2, 1), (4, 2)] {
            let schedule = Schedule {
                rows_per_cta,
                rows_per_thread,
                ..held(1, 64, 4)
            };
            cases.push(scheduled(op, BF16, 1002, schedule));
        }
        // With gaps between rows, a row ends within its last vector.
        for (layout, align, vector) in [
            (Layout::Padded(7), 16, 8),
            (Layout::Padded(3), 8, 4),
            (Layout::Padded(4), 2, 1),
            (Layout::Transposed, 2, 1),
        ] {
            let mut case = scheduled(op, BF16, 1001, held(1, 64, vector));
            case.program.layout = layout;
            case.program.align = Some(align);
            cases.push(case);
        }
    }
    for x in [I8, I32, I64, F64] {
        cases.push(scheduled(Op::Sum, x, 769, held(1, 64, 1)));
        cases.push(scheduled(Op::MaxNegated, x, 1000, held(2, 64, 1)));
    }
}
