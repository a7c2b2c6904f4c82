//! Cases over spaces, one for each class that a draw hits too seldom or never.

use norma_bundle::Element::{self, BF16, F16, F32, I8, I32};
use norma_oracle::Fill;

use super::Case;
use super::mapping::{Factor, LEVELS, Mapping};
use super::program::{Compute, Dim, Output, Program, Step};
use super::tensor::{Axis, Layout, Tensor};

/// Every case; with `long`, also those that need gigabytes of memory.
pub fn cases(long: bool) -> Vec<Case> {
    let mut cases = vec![
        // Two dims of the grid, the second of which has a tail; the same with the inner one dynamic, or both. The gap between
        // the rows of the first dim keeps the compiler from merging the two.
        apart(two_grids([3, 50, 33])),
        apart(dynamic(two_grids([3, 50, 33]), 1)),
        apart(dynamic(dynamic(two_grids([5, 9, 33]), 0), 1)),
        // Rows whose stride or address is not aligned for the vector that is asked for.
        padded(
            mapped(&[5, 1000], "[grid] [register:4 lane:32 vector:8]"),
            1,
            None,
        ),
        padded(
            mapped(&[5, 1000], "[grid] [register:4 lane:32 vector:8]"),
            8,
            Some(2),
        ),
        aligned(mapped(&[5, 1000], "[grid] [register:4 lane:32 vector:8]"), 2),
        // Columns that are far apart.
        far_apart(3, 4_500_000),
        // Sums beyond the largest f16.
        overflowing(),
        // Partial results of 64 KiB are exchanged between warps.
        mapped(&[1024, 64], "[grid register:32 lane:32] [register:4 warp:16]"),
        transposed(mapped(
            &[1024, 64],
            "[grid register:32 lane:32] [register:4 warp:16]",
        )),
    ];
    if long {
        // Offsets that do not fit in 31 bits.
        cases.push(far_apart(3, 1_100_000_000));
    }
    for (number, case) in cases.iter_mut().enumerate() {
        case.seed = number as u64;
    }
    cases
}

/// A sum over the last dim of a tensor over all dims, and each element minus that sum.
fn mapped(extents: &[i64], spread: &str) -> Case {
    let last = extents.len() - 1;
    let axes = |count: usize| (0..count).map(Axis::Dim).collect::<Vec<_>>();
    let output = |value, count| Output {
        value,
        tensor: tensor(F32, axes(count)),
        is_returned: true,
    };
    let dim = |extent: &i64| Dim {
        extent: *extent,
        is_dynamic: false,
        multiple: 1,
    };
    Case {
        program: Program {
            dims: extents.iter().map(dim).collect(),
            guard: None,
            compute: F32,
            is_clamped: false,
            inputs: vec![tensor(BF16, axes(extents.len()))],
            computes: vec![Compute {
                steps: vec![
                    Step::Read(0),
                    Step::Reduce("add", 0, vec![last]),
                    Step::Binary("arith.subf", 0, 1),
                ],
                outputs: vec![output(1, last), output(2, extents.len())],
            }],
        },
        mapping: Some(Mapping {
            spread: spread
                .trim_matches(['[', ']'])
                .split("] [")
                .map(factors)
                .collect(),
            keep: None,
            early_reads: false,
            prefetches: false,
            unroll_bytes: 0,
            held_steps: 0,
            min_ctas_per_sm: 0,
        }),
        fill: Fill::Exact,
        seed: 0,
        seeds: 2,
    }
}

fn two_grids(extents: [i64; 3]) -> Case {
    mapped(&extents, "[grid] [grid warp:4 lane:2] [register:4 lane:16]")
}

fn apart(case: Case) -> Case {
    padded(case, 8, None)
}

/// Parses a list of factors such as `grid warp:4`.
fn factors(text: &str) -> Vec<Factor> {
    let factor = |text: &str| {
        let (name, size) = match text.split_once(':') {
            Some((name, size)) => (name, Some(size.parse())),
            None => (text, None),
        };
        let level = LEVELS.into_iter().find(|level| *level == name);
        match (level, size.transpose()) {
            (Some(level), Ok(size)) => Factor { level, size },
            _ => unreachable!("expected a level and perhaps a size in this table, got '{text}'"),
        }
    };
    text.split(' ').map(factor).collect()
}

fn tensor(element: Element, axes: Vec<Axis>) -> Tensor {
    Tensor {
        element,
        axes,
        layout: None,
        align: None,
    }
}

fn dynamic(mut case: Case, dim: usize) -> Case {
    case.program.dims[dim].is_dynamic = true;
    case
}

/// The case with a gap of that many elements between the rows of the input.
fn padded(mut case: Case, gap: i64, align: Option<i64>) -> Case {
    let input = &mut case.program.inputs[0];
    let mut layout = Layout::dense(input.axes.len());
    layout.gaps[0] = gap;
    input.layout = Some(layout);
    input.align = align;
    case
}

/// The case with tensors aligned to that many bytes, or to an element if that is more.
fn aligned(mut case: Case, align: i64) -> Case {
    for tensor in case.program.tensors_mut() {
        tensor.align = Some(align.max(tensor.element.bytes() as i64));
    }
    case
}

/// The case with the input's last dim outermost in memory.
fn transposed(mut case: Case) -> Case {
    let input = &mut case.program.inputs[0];
    let mut layout = Layout::dense(input.axes.len());
    layout.order.reverse();
    input.layout = Some(layout);
    case
}

/// A sum along rows of bytes whose columns are that many bytes apart.
fn far_apart(columns: i64, stride: i64) -> Case {
    let mut case = mapped(&[5, columns], "[grid lane:4] [lane:4]");
    case.program.compute = I32;
    case.program.inputs[0].element = I8;
    let mut layout = Layout::dense(2);
    layout.order.reverse();
    layout.gaps[1] = stride - 5;
    case.program.inputs[0].layout = Some(layout);
    let compute = &mut case.program.computes[0];
    // A byte that is used again would have to be kept in a register.
    compute.steps.truncate(2);
    compute.outputs.truncate(1);
    compute.outputs[0].tensor.element = I32;
    case.seeds = 1;
    case
}

fn overflowing() -> Case {
    let mut case = mapped(&[20, 769], "[grid] [register:8 warp:4 lane:32]");
    case.fill = Fill::Large;
    for output in &mut case.program.computes[0].outputs {
        output.tensor.element = F16;
    }
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_sound_and_one_for_itself() {
        let cases = cases(true);
        for (number, case) in cases.iter().enumerate() {
            assert!(case.program.is_sound(), "{case}");
            let is_same = |other: &Case| (&other.program, &other.mapping) == (&case.program, &case.mapping);
            assert!(!cases[..number].iter().any(is_same), "{case}");
        }
    }

    #[test]
    fn factors_are_read_in_order() {
        let levels: Vec<(&str, Option<i64>)> = factors("grid warp:4")
            .iter()
            .map(|factor| (factor.level, factor.size))
            .collect();
        assert_eq!(levels, [("grid", None), ("warp", Some(4))]);
    }
}
