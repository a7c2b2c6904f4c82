//! Programs over spaces, drawn at random: ranks, extents, the dims that each tensor varies over, its layout, and the steps.
//!
//! If inputs are [`Fill::Exact`], only sums, products, extremes and selections are drawn: results are then exact, and an
//! element that is lost or counted twice shows. Otherwise values are clamped, so that none overflows in f32 that does not in
//! f64, and sums are means.

use std::collections::BTreeSet;

use norma_bundle::Element::{self, BF16, F16, F32, F64, I8, I32, I64};
use norma_oracle::Fill;

use super::Case;
use super::mapping;
use super::program::{Compute, Dim, Guard, Output, Program, Step};
use super::tensor::{Axis, Layout, Tensor};
use crate::draw::Draw;

/// Extents, odd ones first: below, at and above the sizes of vectors, warps and tiles.
const EXTENTS: [i64; 24] = [
    1, 3, 5, 7, 9, 17, 31, 33, 63, 65, 100, 127, 129, 255, 257, 300, 2, 4, 8, 16, 32, 64, 128, 256,
];
/// The most points of a space, so that a case takes milliseconds.
const POINTS: i64 = 6000;

/// The case of a seed, always the same.
pub fn case(seed: u64) -> Case {
    let mut random = Draw::new(seed);
    let fill = match random.one_in(2) {
        true => Fill::Exact,
        false => random.of(&Fill::GENERAL),
    };
    let program = program(&mut random, fill);
    let mapping = match random.one_in(4) {
        true => None,
        false => mapping::draw(&mut random, &program),
    };
    // For dynamic extents the compiler presumes so many points that even a few of them get hundreds of CTAs.
    let is_large = mapping.is_none() && program.dims.iter().any(|dim| dim.is_dynamic);
    Case {
        program,
        mapping,
        fill,
        seed,
        seeds: if is_large { 1 } else { 2 },
    }
}

/// A case of a static space with the compiler's own schedule. Its input varies over all dims, and its output over all of them or
/// all but the reduced one.
#[cfg(test)]
pub fn streaming(seed: u64, fill: Fill) -> Case {
    let mut random = Draw::new(seed);
    let rank = random.of(&[1, 2, 2, 3]);
    let extents: &[i64] = match rank {
        1 => &[4096, 5000, 16384, 20000],
        2 => &[64, 100, 128, 200, 256],
        _ => &[16, 24, 32, 40],
    };
    let dim = |extent: i64| Dim {
        extent,
        is_dynamic: false,
        multiple: 1,
    };
    let dims: Vec<Dim> = (0..rank).map(|_| dim(random.of(extents))).collect();
    let mut program = Program {
        dims,
        guard: None,
        compute: F32,
        is_clamped: true,
        inputs: Vec::new(),
        computes: Vec::new(),
    };
    let mut axes: Vec<Axis> = (0..rank).map(Axis::Dim).collect();
    if random.one_in(4) {
        random.shuffle(&mut axes);
    }
    let tensor = |random: &mut Draw, axes: Vec<Axis>| Tensor {
        element: random.of(elements(F32)),
        axes,
        layout: None,
        align: None,
    };
    program.inputs.push(tensor(&mut random, axes));
    let over = random.below(rank);
    let mut steps = vec![Step::Read(0), Step::Reduce("add", 0, vec![over])];
    let all: Vec<Axis> = (0..rank).map(Axis::Dim).collect();
    let kept: Vec<Axis> = all
        .iter()
        .copied()
        .filter(|axis| *axis != Axis::Dim(over))
        .collect();
    let axes = match random.below(3) {
        0 => kept,
        1 => {
            steps.push(Step::Binary("arith.subf", 0, 1));
            all
        }
        _ => {
            steps[1] = Step::Unary("arith.negf", 0);
            all
        }
    };
    let tensor = tensor(&mut random, axes);
    program.computes.push(Compute {
        outputs: vec![Output {
            value: steps.len() - 1,
            tensor,
            is_returned: true,
        }],
        steps,
    });
    Case {
        program,
        mapping: None,
        fill,
        seed,
        seeds: 1,
    }
}

fn program(random: &mut Draw, fill: Fill) -> Program {
    let compute = random.of(&[F32, F32, F32, F32, F32, F64, I32, I32, I64]);
    let mut dims = dims(random);
    // `x - x` of integers is folded to a constant, which varies over no dim of a guard.
    let guard = if compute.is_float() && random.one_in(4) {
        Some(blocks(random, &mut dims))
    } else {
        None
    };
    let mut program = Program {
        dims,
        guard,
        compute,
        is_clamped: compute.is_float() && fill != Fill::Exact,
        inputs: Vec::new(),
        computes: Vec::new(),
    };
    let all: Vec<usize> = (0..program.dims.len()).collect();
    program.inputs.push(input(random, &program, all));
    for _ in 0..random.below(4) {
        let mut some: Vec<usize> = (0..program.dims.len()).filter(|_| random.one_in(2)).collect();
        if random.one_in(12) && !some.is_empty() {
            // A diagonal: two axes vary along one dim.
            some.push(some[0]);
        }
        program.inputs.push(input(random, &program, some));
    }
    let reads = (0..program.inputs.len()).map(Step::Read).collect();
    compute_of(random, &mut program, reads);
    if random.one_in(5) {
        let results = program.computes[0].outputs.len();
        let mut reads: Vec<Step> = (0..=random.below(results)).map(Step::ReadResult).collect();
        if random.one_in(2) {
            reads.push(Step::Read(random.below(program.inputs.len())));
        }
        compute_of(random, &mut program, reads);
        for output in &mut program.computes[0].outputs {
            output.is_returned = random.one_in(2);
        }
    }
    program
}

fn dims(random: &mut Draw) -> Vec<Dim> {
    let rank = random.of(&[1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5]);
    let mut extents: Vec<i64> = (0..rank).map(|_| random.of(&EXTENTS)).collect();
    while extents.iter().product::<i64>() > POINTS {
        let largest = (0..rank).max_by_key(|dim| extents[*dim]).unwrap_or(0);
        extents[largest] = random.of(&EXTENTS).min(extents[largest] / 2).max(1);
    }
    let dim = |extent: i64| {
        let is_dynamic = random.one_in(4);
        let extent = if is_dynamic && random.one_in(24) {
            0
        } else {
            extent
        };
        let multiple = random.of(&[2, 4, 8, 16]);
        let is_known = is_dynamic && extent % multiple == 0 && random.one_in(2);
        Dim {
            extent,
            is_dynamic,
            multiple: if is_known { multiple } else { 1 },
        }
    };
    extents.into_iter().map(dim).collect()
}

/// Adds two dims for blocks of neighbours, the last of which is shorter, and drops others that would make too many points.
fn blocks(random: &mut Draw, dims: &mut Vec<Dim>) -> Guard {
    let of_block: i64 = random.of(&[2, 3, 4, 5, 8, 16, 32, 64]);
    let blocks = random.of(&[2, 3, 4, 5, 7]);
    let end = of_block * blocks - random.up_to(of_block.unsigned_abs() - 1);
    while dims.len() > 3
        || dims.iter().map(|dim| dim.extent).product::<i64>() * blocks * of_block > 2 * POINTS
    {
        dims.pop();
    }
    let outer = random.below(dims.len() + 1);
    for extent in [of_block, blocks] {
        let dim = Dim {
            extent,
            is_dynamic: false,
            multiple: 1,
        };
        dims.insert(outer, dim);
    }
    Guard {
        outer,
        inner: outer + 1,
        end,
    }
}

/// Joins the axes of a guard's two dims to one with the points that there are, if both are there.
fn join_blocks(program: &Program, axes: &mut Vec<Axis>) {
    let Some(guard) = program.guard else { return };
    let place = |dim: usize| axes.iter().position(|axis| *axis == Axis::Dim(dim));
    if let (Some(outer), Some(inner)) = (place(guard.outer), place(guard.inner)) {
        axes[outer] = guard.axis();
        axes.remove(inner);
    }
}

/// The types that tensors of a program may have.
fn elements(compute: Element) -> &'static [Element] {
    match compute {
        F64 => &[F64, F64, F32],
        I32 => &[I32, I32, I8],
        I64 => &[I64, I64, I32, I8],
        _ => &[F32, BF16, F16],
    }
}

/// A tensor that varies over `dims`, which its access may use in any way.
fn input(random: &mut Draw, program: &Program, mut dims: Vec<usize>) -> Tensor {
    if random.one_in(3) {
        random.shuffle(&mut dims);
    }
    let mut axes: Vec<Axis> = dims.into_iter().map(Axis::Dim).collect();
    if random.one_in(2) {
        join_blocks(program, &mut axes);
    }
    pair(random, program, &mut axes);
    for axis in &mut axes {
        let Axis::Dim(dim) = *axis else { continue };
        if program.dims[dim].is_dynamic || !random.one_in(10) {
            continue;
        }
        let other = random.below(program.dims.len());
        *axis = match random.below(8) {
            0..3 => Axis::Shifted(dim, random.up_to(9)),
            3 | 4 => Axis::Reversed(dim),
            5 => Axis::Quotient(dim, 1 + random.up_to(4)),
            6 if !program.dims[other].is_dynamic => Axis::Sum(dim, other),
            _ => Axis::Constant(random.up_to(3) - 1, 3),
        };
    }
    tensor(random, program, axes, true)
}

/// Sometimes joins two neighbouring static dims into one axis.
fn pair(random: &mut Draw, program: &Program, axes: &mut Vec<Axis>) {
    if axes.len() < 2 || !random.one_in(6) {
        return;
    }
    let first = random.below(axes.len() - 1);
    if let (Axis::Dim(outer), Axis::Dim(inner)) = (axes[first], axes[first + 1])
        && outer != inner
        && !program.dims[outer].is_dynamic
        && !program.dims[inner].is_dynamic
    {
        axes.splice(first..first + 2, [Axis::Pair { outer, inner }]);
    }
}

fn tensor(random: &mut Draw, program: &Program, axes: Vec<Axis>, is_input: bool) -> Tensor {
    let element = random.of(elements(program.compute));
    let layout = (!axes.is_empty() && random.one_in(3)).then(|| layout(random, axes.len(), is_input));
    let bytes = element.bytes() as i64;
    let align = random
        .one_in(3)
        .then(|| random.of(&[1, 2, 4, 8, 16, 32]).max(bytes));
    Tensor {
        element,
        axes,
        layout,
        align,
    }
}

fn layout(random: &mut Draw, rank: usize, is_input: bool) -> Layout {
    let mut layout = Layout::dense(rank);
    if random.one_in(2) {
        random.shuffle(&mut layout.order);
    }
    for axis in 0..rank {
        if random.one_in(3) {
            layout.gaps[axis] = random.of(&[1, 2, 3, 4, 8, 16, 25]);
        }
        layout.is_open[axis] = random.one_in(5);
        layout.is_broadcast[axis] = is_input && random.one_in(12);
    }
    for axis in 0..rank {
        layout.is_open[axis] &= !layout.is_broadcast[axis];
    }
    layout
}

/// Draws a compute whose first steps are `reads`.
fn compute_of(random: &mut Draw, program: &mut Program, reads: Vec<Step>) {
    let number = program.computes.len();
    let reading = reads.len();
    program.computes.push(Compute {
        steps: reads,
        outputs: Vec::new(),
    });
    for _ in 0..=random.below(6) {
        let varies = program.varies(number);
        let step = step(random, program, reading, &varies);
        program.computes[number].steps.push(step);
    }
    let varies = program.varies(number);
    let mut written = vec![varies.len() - 1];
    for _ in 0..random.below(3) {
        written.push(random.below(varies.len()));
    }
    let used: BTreeSet<usize> = varies.iter().flatten().copied().collect();
    for value in written {
        let tensor = output(random, program, &varies[value], &used);
        program.computes[number].outputs.push(Output {
            value,
            tensor,
            is_returned: true,
        });
    }
}

/// A tensor for a value that varies over `dims`. If it varies over another dim too, the value is repeated along that.
fn output(random: &mut Draw, program: &Program, dims: &BTreeSet<usize>, used: &BTreeSet<usize>) -> Tensor {
    let mut all: Vec<usize> = dims.iter().copied().collect();
    let others: Vec<usize> = used.difference(dims).copied().collect();
    if !others.is_empty() && random.one_in(8) {
        all.push(random.of(&others));
    }
    if random.one_in(3) {
        random.shuffle(&mut all);
    }
    let mut axes: Vec<Axis> = all.into_iter().map(Axis::Dim).collect();
    join_blocks(program, &mut axes);
    pair(random, program, &mut axes);
    if random.one_in(16) {
        axes.insert(random.below(axes.len() + 1), Axis::Constant(0, 1));
    }
    tensor(random, program, axes, false)
}

fn step(random: &mut Draw, program: &Program, reads: usize, varies: &[BTreeSet<usize>]) -> Step {
    let is_float = program.compute.is_float();
    let any = |random: &mut Draw| random.below(varies.len());
    match random.below(12) {
        0..5 => reduction(random, program, varies),
        5 => match random.below(3) {
            0 => Step::Scalar(random.up_to(5) - 3),
            1 => Step::Coordinate(random.below(program.dims.len())),
            _ => Step::Select(random.below(reads), any(random), any(random)),
        },
        6 => {
            let op = match (is_float, program.is_clamped) {
                (true, true) => random.of(&["arith.negf", "math.absf", "math.exp", "math.sqrt"]),
                (true, false) => random.of(&["arith.negf", "math.absf"]),
                (false, _) => random.of(&["subi", "math.absi"]),
            };
            Step::Unary(op, any(random))
        }
        _ => {
            let op = match is_float {
                true => random.of(&[
                    "arith.addf",
                    "arith.addf",
                    "arith.subf",
                    "arith.mulf",
                    "arith.maximumf",
                    "arith.minimumf",
                ]),
                false => random.of(&[
                    "arith.addi",
                    "arith.subi",
                    "arith.muli",
                    "arith.maxsi",
                    "arith.minsi",
                    "arith.andi",
                    "arith.ori",
                    "arith.xori",
                ]),
            };
            // Usually the last value, so that steps build on each other.
            let one = if random.one_in(3) {
                any(random)
            } else {
                varies.len() - 1
            };
            Step::Binary(op, one, any(random))
        }
    }
}

fn reduction(random: &mut Draw, program: &Program, varies: &[BTreeSet<usize>]) -> Step {
    let wide: Vec<usize> = (0..varies.len())
        .filter(|value| !varies[*value].is_empty())
        .collect();
    let value = if wide.is_empty() { 0 } else { random.of(&wide) };
    let mut over: Vec<usize> = varies[value].iter().copied().collect();
    random.shuffle(&mut over);
    over.truncate(random.of(&[1, 1, 1, 2, 2, 3]));
    if over.is_empty() || random.one_in(16) {
        // Reduces over a dim that the value may not vary over.
        let dim = random.below(program.dims.len());
        if !over.contains(&dim) {
            over.push(dim);
        }
    }
    let kind = match program.compute.is_float() {
        true => random.of(&["add", "add", "add", "max", "min"]),
        false => random.of(&["add", "add", "add", "max", "min", "and", "or", "mul"]),
    };
    let other = random.one_in(8).then(|| random.below(varies.len()));
    if let Some(Guard { outer, inner, .. }) = program.guard
        && over.iter().any(|dim| [outer, inner].contains(dim))
    {
        // The reduction ranges or varies over both dims of a guard.
        let values = [Some(value), other].into_iter().flatten();
        let varies: BTreeSet<usize> = values.flat_map(|value| &varies[value]).copied().collect();
        let missing = [outer, inner]
            .into_iter()
            .filter(|dim| !over.contains(dim) && !varies.contains(dim));
        let missing: Vec<usize> = missing.collect();
        over.extend(missing);
    }
    match other {
        Some(other) => Step::SumBesideMax(value, other, over),
        None => Step::Reduce(kind, value, over),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases() -> Vec<Program> {
        (0..600)
            .map(|seed| {
                let mut random = Draw::new(seed);
                program(&mut random, Fill::Exact)
            })
            .collect()
    }

    #[test]
    fn a_seed_gives_one_case() {
        assert_eq!(case(7), case(7));
        assert!((0..20).any(|seed| case(seed).program != case(7).program));
    }

    #[test]
    fn every_program_is_sound() {
        for program in cases() {
            assert!(program.is_sound(), "{program}");
        }
    }

    #[test]
    fn every_kind_of_thing_is_drawn() {
        let cases = cases();
        let drawn = |what: &dyn Fn(&Program) -> bool| {
            let count = cases.iter().filter(|program| what(program)).count();
            assert!(count > 20, "{count}");
        };
        let tensors = |what: fn(&Tensor) -> bool| {
            drawn(&|program| program.tensors().iter().any(|(_, tensor)| what(tensor)));
        };
        let steps = |what: fn(&Step) -> bool| {
            drawn(&|program| {
                program
                    .computes
                    .iter()
                    .any(|compute| compute.steps.iter().any(what))
            });
        };
        for rank in 1..=5 {
            drawn(&|program| program.dims.len() == rank);
        }
        drawn(&|program| program.dims.iter().filter(|dim| dim.is_dynamic).count() == 2);
        drawn(&|program| program.dims.iter().any(|dim| dim.multiple > 1));
        drawn(&|program| program.computes.len() == 2);
        drawn(&|program| program.guard.is_some() && program.computes.len() == 2);
        tensors(|tensor| tensor.axes.iter().any(|axis| matches!(axis, Axis::Blocks { .. })));
        drawn(&|program| program.tensors().iter().any(|(_, tensor)| tensor.axes.is_empty()));
        tensors(|tensor| tensor.axes.iter().any(|axis| matches!(axis, Axis::Pair { .. })));
        tensors(|tensor| tensor.axes.iter().any(|axis| matches!(axis, Axis::Shifted(..))));
        tensors(|tensor| {
            tensor
                .layout
                .as_ref()
                .is_some_and(|layout| !layout.order.is_sorted())
        });
        tensors(|tensor| {
            tensor
                .layout
                .as_ref()
                .is_some_and(|layout| layout.is_open.contains(&true))
        });
        tensors(|tensor| {
            tensor
                .layout
                .as_ref()
                .is_some_and(|layout| layout.is_broadcast.contains(&true))
        });
        steps(|step| matches!(step, Step::Scalar(_)));
        steps(|step| matches!(step, Step::Coordinate(_)));
        steps(|step| matches!(step, Step::SumBesideMax(..)));
        steps(|step| matches!(step, Step::Reduce(_, _, over) if over.len() > 1));
        let reduces = |step: &Step| matches!(step, Step::Reduce(..) | Step::SumBesideMax(..));
        drawn(&|program| {
            !program
                .computes
                .iter()
                .any(|compute| compute.steps.iter().any(reduces))
        });
    }
}
