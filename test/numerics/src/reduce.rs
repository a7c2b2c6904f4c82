//! Reduces a failing case: simplifies it as long as it still fails.

use norma_bundle::Element;
use norma_oracle::Fill;

use crate::case::{Case, Keep, Layout, Op, Schedule};
use crate::trial::Trial;

/// The most candidates that are tried.
const TRIES: usize = 400;

/// The smallest case found that satisfies `fails`, as `case` does.
pub fn reduce(case: Trial, mut fails: impl FnMut(&Trial) -> bool) -> Trial {
    let mut smallest = case;
    let mut tries = 0;
    'again: loop {
        for candidate in smallest.smaller() {
            if tries == TRIES {
                return smallest;
            }
            tries += 1;
            if fails(&candidate) {
                smallest = candidate;
                continue 'again;
            }
        }
        return smallest;
    }
}

/// Cases over rows that are simpler by one step, the largest steps first.
pub fn smaller(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Case)| {
        let mut candidate = case.clone();
        change(&mut candidate);
        if candidate != *case {
            all.push(candidate);
        }
    };
    add(&|case| case.run.seeds = 1);
    add(&|case| case.program.schedule = None);
    add(&|case| case.program.layout = Layout::Dense);
    add(&|case| case.program.align = None);
    add(&|case| case.program.heads = 1);
    add(&|case| case.program.columns = vec![case.program.row()]);
    add(&|case| case.run.fill = Fill::Normal);
    for op in simpler_ops(case.program.op) {
        add(&|case| case.program.op = op);
    }
    add(&|case| {
        case.program.x = Element::F32;
        case.program.y = Element::F32;
    });
    add(&|case| case.program.y = case.program.x);
    let rows = case.run.rows;
    for fewer in [1, rows / 2, rows - 1] {
        if (1..rows).contains(&fewer) {
            add(&|case| case.run.rows = fewer);
        }
    }
    for axis in 0..case.program.columns.len() {
        let extent = case.program.columns[axis];
        for shorter in [
            1,
            8,
            32,
            extent / 4,
            extent / 2,
            extent - extent / 4,
            extent - extent / 16,
            extent - 1,
        ] {
            if (1..extent).contains(&shorter) {
                add(&|case| case.program.columns[axis] = shorter);
            }
        }
    }
    if let Some(schedule) = case.program.schedule {
        for simpler in simpler_schedules(schedule) {
            add(&|case| case.program.schedule = Some(simpler));
        }
    }
    all
}

fn simpler_ops(op: Op) -> Vec<Op> {
    match op {
        Op::RmsNorm {
            weight,
            offset,
            bias,
            rstd,
        } => vec![
            Op::RmsNorm {
                weight: None,
                offset: false,
                bias,
                rstd,
            },
            Op::RmsNorm {
                weight,
                offset: false,
                bias,
                rstd,
            },
            Op::RmsNorm {
                weight,
                offset,
                bias: None,
                rstd,
            },
            Op::RmsNorm {
                weight,
                offset,
                bias,
                rstd: false,
            },
            Op::RmsNorm {
                weight: weight.map(|_| Element::F32),
                offset,
                bias: bias.map(|_| Element::F32),
                rstd,
            },
        ],
        Op::LayerNorm { affine: Some(_) } => vec![Op::LayerNorm { affine: None }],
        Op::LayerNorm { affine: None } | Op::LayerNormWelford => vec![Op::Centre],
        Op::CrossEntropy => vec![Op::LogSumExp],
        Op::VarianceAndAmax => vec![Op::Amax, Op::Centre],
        Op::ArgMax => vec![Op::Amax],
        Op::Scalar { .. } | Op::Named(_) | Op::Graph(_) | Op::Gradient(_) => vec![],
        Op::Transpose { spread } => spread
            .map(|_| Op::Transpose { spread: None })
            .into_iter()
            .collect(),
        Op::QuantizeBlocks {
            is_transposed,
            spread,
        } => {
            let plain = |is_transposed| Op::QuantizeBlocks {
                is_transposed,
                spread: None,
            };
            let simpler = [
                spread.map(|_| plain(is_transposed)),
                is_transposed.then(|| plain(false)),
            ];
            simpler.into_iter().flatten().collect()
        }
        Op::RotateHalves => vec![Op::L2Norm],
        Op::Drawn { seed, steps } => (1..=steps.min(2))
            .rev()
            .map(|fewer| Op::Drawn {
                seed,
                steps: steps - fewer,
            })
            .collect(),
        Op::Centre | Op::LogSumExp | Op::Softmax | Op::L2Norm => vec![Op::Sum],
        Op::Sum | Op::Product | Op::And | Op::Or | Op::Amax | Op::Min | Op::MaxNegated => Vec::new(),
    }
}

fn simpler_schedules(schedule: Schedule) -> Vec<Schedule> {
    let plain = Schedule::default();
    vec![
        Schedule {
            chunk: plain.chunk,
            keep: plain.keep,
            ..schedule
        },
        Schedule {
            // A row that passes in a loop is not kept in registers.
            keep: match schedule.chunk {
                Some(_) => Keep::Nowhere,
                None => plain.keep,
            },
            ..schedule
        },
        Schedule {
            chunk: schedule.chunk.map(|_| 1),
            ..schedule
        },
        Schedule {
            parts: plain.parts,
            ..schedule
        },
        Schedule {
            early_reads: false,
            ..schedule
        },
        Schedule {
            prefetches: false,
            ..schedule
        },
        Schedule {
            unroll_bytes: 0,
            ..schedule
        },
        Schedule {
            held_steps: 0,
            ..schedule
        },
        Schedule {
            rows_per_cta: plain.rows_per_cta,
            rows_per_thread: plain.rows_per_thread,
            ..schedule
        },
        Schedule {
            rows_per_thread: plain.rows_per_thread,
            ..schedule
        },
        Schedule {
            vector: plain.vector,
            ..schedule
        },
        Schedule {
            ctas_per_row: plain.ctas_per_row,
            ..schedule
        },
        Schedule {
            ctas_per_row: (schedule.ctas_per_row / 2).max(1),
            ..schedule
        },
        Schedule {
            threads_per_row: plain.threads_per_row,
            ..schedule
        },
        Schedule {
            threads_per_row: (schedule.threads_per_row / 2).max(1),
            ..schedule
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    fn largest() -> Case {
        let mut cases = table::cases(false).into_iter();
        let found = cases.find(|case| {
            matches!(case.program.op, Op::RmsNorm { rstd: true, .. })
                && case
                    .program
                    .schedule
                    .is_some_and(|schedule| schedule.keep == Keep::Nowhere)
                && case.program.row() > 1000
        });
        found.unwrap()
    }

    fn reduced(case: Case, mut fails: impl FnMut(&Case) -> bool) -> Case {
        let fails = |trial: &Trial| matches!(trial, Trial::Rows(case) if fails(case));
        match reduce(case.into(), fails) {
            Trial::Rows(case) => case,
            Trial::Space(_) => unreachable!("it stays a case over rows"),
        }
    }

    #[test]
    fn only_what_the_failure_needs_is_left() {
        let case = largest();
        let smallest = reduced(case, |case| case.program.row() >= 100 && case.run.rows >= 2);
        assert_eq!(smallest.run.rows, 2);
        assert_eq!(smallest.program.row(), 100);
        assert_eq!(smallest.program.x, Element::F32);
        assert_eq!(smallest.program.schedule, None);
        assert_eq!(
            smallest.program.op,
            Op::RmsNorm {
                weight: None,
                offset: false,
                bias: None,
                rstd: false
            }
        );
    }

    #[test]
    fn a_failure_that_nothing_mends_ends_at_one_element() {
        let smallest = reduced(largest(), |_| true);
        assert_eq!((smallest.run.rows, smallest.program.row()), (1, 1));
    }

    #[test]
    fn a_case_that_fails_alone_stays() {
        let case = largest();
        assert_eq!(reduced(case.clone(), |candidate| *candidate == case), case);
    }
}
