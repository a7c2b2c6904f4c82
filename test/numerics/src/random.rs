//! Cases drawn at random from a seed: shapes and combinations that the table does not have.

use norma_bundle::Element::{self, BF16, F16, F32};
use norma_oracle::Fill;

use crate::case::{Case, Keep, Layout, Op, Program, Run, Schedule, UNROLLED_BYTES};
use crate::draw::Draw;
use crate::table::{EDGES, rows_of_some_ctas};

/// The longest row.
const LONGEST: u64 = 6000;

/// The case of a seed, always the same.
pub fn case(seed: u64) -> Case {
    let mut random = Draw::new(seed);
    let x = random.of(&[BF16, F16, F32]);
    let op = op(&mut random);
    let y = if random.one_in(3) {
        random.of(&[BF16, F16, F32])
    } else {
        x
    };
    let columns = columns(&mut random);
    let row: i64 = columns.iter().product();
    let heads = if random.one_in(8) { random.up_to(4) } else { 1 };
    let align = random
        .one_in(4)
        .then(|| random.of(&[2, 4, 8, 16]).max(x.bytes() as i64));
    let layout = layout(&mut random, x, row * heads, heads, columns.len(), align);
    let schedule = random
        .one_in(3)
        .then(|| schedule(&mut random, row, align, x, layout));
    let mut case = Case {
        program: Program {
            op,
            x,
            y,
            heads,
            columns,
            layout,
            align,
            schedule,
        },
        run: Run {
            rows: random.of(&[0, 1, 1, 2, 3, 5, 9, rows_of_some_ctas(row)]),
            fill: fill(&mut random, op),
            seed,
            seeds: 2,
        },
    };
    if let Some(schedule) = case.program.schedule
        && layout == Layout::Dense
        && random.one_in(3)
    {
        case.program.schedule = Some(aligned(&mut random, schedule));
    }
    case
}

fn op(random: &mut Draw) -> Op {
    let element =
        |random: &mut Draw| -> Option<Element> { random.of(&[None, Some(BF16), Some(F16), Some(F32)]) };
    if random.one_in(2) {
        let weight = element(random);
        return Op::RmsNorm {
            weight,
            offset: weight.is_some() && random.one_in(2),
            bias: element(random),
            rstd: random.one_in(3),
        };
    }
    if random.one_in(3) {
        return Op::Drawn {
            seed: random.0.bits(),
            steps: random.up_to(9) as u32,
        };
    }
    match random.one_in(3) {
        true => Op::LayerNorm {
            affine: element(random),
        },
        false => random.of(&[
            Op::LayerNormWelford,
            Op::Softmax,
            Op::LogSumExp,
            Op::L2Norm,
            Op::Amax,
            Op::Min,
            Op::MaxNegated,
            Op::Sum,
            Op::Centre,
            Op::VarianceAndAmax,
        ]),
    }
}

fn fill(random: &mut Draw, op: Op) -> Fill {
    let fill = random.of(&Fill::GENERAL);
    if op.is_judged_under(fill) {
        fill
    } else {
        Fill::Normal
    }
}

/// Short rows are as likely as long ones, and edge lengths are more likely than others.
fn columns(random: &mut Draw) -> Vec<i64> {
    if random.one_in(6) {
        return vec![random.up_to(40), random.up_to(130)];
    }
    let extent = match random.0.below(4) {
        0 => random.of(&EDGES),
        1 => random.up_to(64),
        2 => random.up_to(1100),
        _ => random.up_to(LONGEST),
    };
    vec![extent]
}

fn layout(random: &mut Draw, x: Element, row: i64, heads: i64, axes: usize, align: Option<i64>) -> Layout {
    if !random.one_in(5) {
        return Layout::Dense;
    }
    // A dynamic stride is a multiple of the alignment.
    let unit = (align.unwrap_or(16) / x.bytes() as i64).max(1);
    if random.one_in(4) && heads == 1 && axes == 1 && unit == 1 {
        return Layout::Transposed;
    }
    let stride = (row + random.up_to(40)) / unit * unit + unit;
    Layout::Padded(stride - row)
}

/// Vectors along rows of any alignment; the row strides must be static.
fn aligned(random: &mut Draw, schedule: Schedule) -> Schedule {
    Schedule {
        vector: random.of(&[2, 4, 8, 16]),
        rows_per_cta: schedule.rows_per_thread,
        is_aligned: true,
        ..schedule
    }
}

/// A schedule that the row, the alignment and the layout allow, as far as these decide it.
fn schedule(random: &mut Draw, row: i64, align: Option<i64>, x: Element, layout: Layout) -> Schedule {
    let mut vector = random.of(&[1, 2, 4, 8]);
    let widest = align.unwrap_or(16) / x.bytes() as i64;
    while vector > 1 && (row % vector != 0 || vector > widest || layout == Layout::Transposed) {
        vector /= 2;
    }
    let threads_per_row: i64 = 1 << random.0.below(11);
    let most_rows = (1024 / threads_per_row).min(8);
    let rows_per_cta = 1 << random.0.below(u64::from(most_rows.ilog2()) + 1);
    let rows_per_thread = if random.one_in(4) { rows_per_cta.min(2) } else { 1 };
    let chunk = random.one_in(2).then(|| random.of(&[1, 1, 2, 4]));
    let is_copied_in_bulk = layout == Layout::Dense && widest * x.bytes() as i64 >= 16 && row % widest == 0;
    let stride = match layout {
        Layout::Dense => Some(row),
        Layout::Padded(gap) => Some(row + gap),
        Layout::Transposed | Layout::Broadcast => None,
    };
    // A box has at least 128 bytes.
    let is_mapped = widest * x.bytes() as i64 >= 16
        && stride.is_some_and(|stride| stride % widest == 0)
        && threads_per_row * vector * x.bytes() as i64 >= 128;
    let by_boxes = if is_mapped {
        Keep::SharedByBoxes
    } else {
        Keep::Register
    };
    let ctas_per_row = if random.one_in(6) {
        2 << random.0.below(3)
    } else {
        1
    };
    let as_runs = match layout == Layout::Dense && ctas_per_row == 1 {
        true => Keep::SharedAsRuns,
        false => Keep::Register,
    };
    let keep = match chunk {
        Some(_) => random.of(&[Keep::L1, Keep::L2, Keep::Nowhere]),
        None if is_copied_in_bulk => random.of(&[
            Keep::Register,
            Keep::Shared,
            by_boxes,
            as_runs,
            Keep::L1,
            Keep::Nowhere,
        ]),
        None => random.of(&[
            Keep::Register,
            Keep::SharedByThreads,
            by_boxes,
            as_runs,
            Keep::L1,
            Keep::Nowhere,
        ]),
    };
    let early_reads = random.one_in(4);
    let prefetches = chunk.is_some() && random.one_in(4);
    let is_loaded = matches!(keep, Keep::L1 | Keep::L2 | Keep::Nowhere);
    let unrolls = chunk.is_some() && is_loaded && !prefetches && random.one_in(2);
    let holds = chunk.is_some() && is_loaded && random.one_in(3);
    Schedule {
        rows_per_cta,
        ctas_per_row,
        threads_per_row,
        vector,
        rows_per_thread,
        chunk,
        keep,
        early_reads,
        prefetches,
        unroll_bytes: if unrolls { random.of(&UNROLLED_BYTES) } else { 0 },
        held_steps: if holds { random.up_to(3) } else { 0 },
        is_aligned: false,
        parts: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_case() {
        assert_eq!(case(7), case(7));
        assert!((0..20).any(|seed| case(seed).program != case(7).program));
    }

    #[test]
    fn every_kind_of_thing_is_drawn() {
        let cases: Vec<Case> = (0..500).map(case).collect();
        let drawn = |what: &dyn Fn(&Case) -> bool| cases.iter().filter(|case| what(case)).count();
        assert!(drawn(&|case| case.program.schedule.is_some()) > 100);
        assert!(
            drawn(&|case| case
                .program
                .schedule
                .is_some_and(|schedule| schedule.chunk.is_some()))
                > 50
        );
        assert!(drawn(&|case| case.program.schedule.is_some_and(|schedule| schedule.is_aligned)) > 30);
        assert!(
            drawn(&|case| case
                .program
                .schedule
                .is_some_and(|schedule| schedule.ctas_per_row > 1))
                > 20
        );
        assert!(drawn(&|case| matches!(case.program.layout, Layout::Padded(_))) > 20);
        assert!(drawn(&|case| case.program.columns.len() == 2) > 20);
        assert!(drawn(&|case| case.program.row() > 3000) > 20);
        assert!(drawn(&|case| case.run.rows == 0) > 20);
    }
}
