//! Smaller cases over spaces: fewer steps, outputs, dims and points, plainer tensors, simpler mappings.

use norma_bundle::Element;
use norma_oracle::Fill;

use super::program::{Guard, Program, Step};
use super::tensor::{Axis, Tensor};
use super::{Case, Mapping};

/// Cases that are simpler by one step, the largest steps first. All are sound.
pub fn smaller(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Case)| {
        let mut candidate = case.clone();
        change(&mut candidate);
        if candidate != *case && candidate.program.is_sound() {
            all.push(candidate);
        }
    };
    add(&|case| case.seeds = 1);
    add(&|case| case.mapping = None);
    if case.program.computes.len() > 1 {
        add(&|case| {
            case.program.computes.truncate(1);
            case.program.computes[0]
                .outputs
                .iter_mut()
                .for_each(|output| output.is_returned = true);
        });
    }
    for (number, compute) in case.program.computes.iter().enumerate() {
        for output in (0..compute.outputs.len()).rev() {
            add(&|case| drop_output(&mut case.program, number, output));
        }
        for step in (0..compute.steps.len()).rev() {
            add(&|case| drop_step(&mut case.program, number, step));
        }
    }
    for dim in 0..case.program.dims.len() {
        // The kernel's dims are the program's, unless some were merged; so every factor list is tried.
        for spread in case.mapping.iter().flat_map(|mapping| 0..mapping.spread.len()) {
            add(&|case| {
                drop_dim(&mut case.program, dim);
                if let Some(mapping) = &mut case.mapping {
                    mapping.spread.remove(spread);
                }
            });
        }
        add(&|case| drop_dim(&mut case.program, dim));
        add(&|case| {
            case.program.dims[dim].is_dynamic = false;
            case.program.dims[dim].multiple = 1;
        });
        let extent = case.program.dims[dim].extent;
        for fewer in [1, 2, 3, extent / 2, extent - extent / 4, extent - 1] {
            if (1..extent).contains(&fewer) {
                add(&|case| {
                    case.program.dims[dim].extent = fewer;
                    case.program.dims[dim].multiple = 1;
                });
            }
        }
        add(&|case| case.program.dims[dim].multiple = 1);
    }
    let inputs = 0..case.program.inputs.len();
    for input in inputs {
        for plainer in plainer(&case.program.inputs[input]) {
            add(&|case| case.program.inputs[input] = plainer.clone());
        }
    }
    for (number, compute) in case.program.computes.iter().enumerate() {
        for (output, written) in compute.outputs.iter().enumerate() {
            for plainer in plainer(&written.tensor) {
                add(&|case| case.program.computes[number].outputs[output].tensor = plainer.clone());
            }
        }
    }
    let compute = case.program.compute;
    add(&|case| all_of(&mut case.program, compute));
    add(&|case| {
        if case.program.is_clamped {
            case.fill = Fill::Normal;
        }
    });
    if let Some(mapping) = &case.mapping {
        for simpler in simpler(mapping) {
            add(&|case| case.mapping = Some(simpler.clone()));
        }
    }
    all
}

fn all_of(program: &mut Program, element: Element) {
    for tensor in program.tensors_mut() {
        tensor.element = element;
        tensor.align = tensor.align.map(|align| align.max(element.bytes() as i64));
    }
}

fn drop_output(program: &mut Program, number: usize, output: usize) {
    program.computes[number].outputs.remove(output);
    let Some(next) = program.computes.get_mut(number + 1) else {
        return;
    };
    // Steps that read this output read the previous one; later outputs are renumbered.
    for step in &mut next.steps {
        if let Step::ReadResult(read) = step
            && (*read > output || *read == output && output > 0)
        {
            *read -= 1;
        }
    }
}

/// Removes a step; its users use its first operand instead, or the first step.
fn drop_step(program: &mut Program, number: usize, step: usize) {
    let compute = &mut program.computes[number];
    if compute.steps.len() == 1 {
        return;
    }
    let instead = compute.steps[step].operands().first().copied().unwrap_or(0);
    let instead = if instead == step { 0 } else { instead };
    let map = |operand: usize| {
        let operand = if operand == step { instead } else { operand };
        if operand > step { operand - 1 } else { operand }
    };
    if step == 0 {
        // Users of the first step use the second, which becomes the first.
        let later = &compute.steps[1..];
        if !matches!(later.first(), Some(Step::Read(_) | Step::ReadResult(_))) {
            return;
        }
    }
    compute.steps.remove(step);
    for later in &mut compute.steps {
        later.map_operands(map);
    }
    for output in &mut compute.outputs {
        output.value = map(output.value);
    }
}

fn drop_dim(program: &mut Program, dim: usize) {
    if program.dims.len() == 1 {
        return;
    }
    program.dims.remove(dim);
    program.guard = program.guard.and_then(|guard| {
        let is_left = guard.outer != dim && guard.inner != dim;
        let moved = |other: usize| if other > dim { other - 1 } else { other };
        is_left.then(|| Guard {
            outer: moved(guard.outer),
            inner: moved(guard.inner),
            ..guard
        })
    });
    for tensor in program.tensors_mut() {
        let left: Vec<Option<Axis>> = tensor.axes.iter().map(|axis| axis.without(dim)).collect();
        if let Some(layout) = &mut tensor.layout {
            let gone = |axis: usize| left[axis].is_none();
            layout.order.retain(|axis| !gone(*axis));
            for position in &mut layout.order {
                *position -= (0..*position).filter(|axis| gone(*axis)).count();
            }
            let mut axis = 0..left.len();
            layout.gaps.retain(|_| !axis.next().is_some_and(gone));
            let mut axis = 0..left.len();
            layout.is_broadcast.retain(|_| !axis.next().is_some_and(gone));
            let mut axis = 0..left.len();
            layout.is_open.retain(|_| !axis.next().is_some_and(gone));
        }
        tensor.axes = left.into_iter().flatten().collect();
        if tensor.axes.is_empty() {
            tensor.layout = None;
        }
    }
    for step in program.computes.iter_mut().flat_map(|compute| &mut compute.steps) {
        match step {
            Step::Reduce(_, one, over) => {
                over.retain(|other| *other != dim);
                let one = *one;
                over.iter_mut()
                    .filter(|other| **other > dim)
                    .for_each(|other| *other -= 1);
                if over.is_empty() {
                    // A maximum of the value with itself is the same value.
                    let op = match program.compute.is_float() {
                        true => "arith.maximumf",
                        false => "arith.maxsi",
                    };
                    *step = Step::Binary(op, one, one);
                }
            }
            Step::SumBesideMax(_, _, over) => {
                over.retain(|other| *other != dim);
                over.iter_mut()
                    .filter(|other| **other > dim)
                    .for_each(|other| *other -= 1);
            }
            Step::Coordinate(other) if *other == dim => *step = Step::Scalar(1),
            Step::Coordinate(other) if *other > dim => *other -= 1,
            _ => {}
        }
    }
}

fn plainer(tensor: &Tensor) -> Vec<Tensor> {
    let mut all = Vec::new();
    all.push(Tensor {
        layout: None,
        ..tensor.clone()
    });
    all.push(Tensor {
        align: None,
        ..tensor.clone()
    });
    for axis in 0..tensor.axes.len() {
        let mut plain = tensor.clone();
        if let [first, ..] = tensor.axes[axis].dims()[..]
            && !matches!(
                tensor.axes[axis],
                Axis::Dim(_) | Axis::Pair { .. } | Axis::Blocks { .. }
            )
        {
            plain.axes[axis] = Axis::Dim(first);
            all.push(plain);
        }
    }
    if let Some(layout) = &tensor.layout {
        let mut change = |change: &dyn Fn(&mut super::tensor::Layout)| {
            let mut plain = layout.clone();
            change(&mut plain);
            all.push(Tensor {
                layout: Some(plain),
                ..tensor.clone()
            });
        };
        change(&|layout| layout.order.sort_unstable());
        change(&|layout| layout.gaps.fill(0));
        change(&|layout| layout.is_open.fill(false));
        change(&|layout| layout.is_broadcast.fill(false));
    }
    all
}

fn simpler(mapping: &Mapping) -> Vec<Mapping> {
    let mut all = vec![
        Mapping {
            keep: None,
            ..mapping.clone()
        },
        Mapping {
            keep: Some("none"),
            ..mapping.clone()
        },
        Mapping {
            early_reads: false,
            ..mapping.clone()
        },
        Mapping {
            prefetches: false,
            ..mapping.clone()
        },
        Mapping {
            unroll_bytes: 0,
            ..mapping.clone()
        },
        Mapping {
            held_steps: 0,
            ..mapping.clone()
        },
        Mapping {
            min_ctas_per_sm: 0,
            ..mapping.clone()
        },
    ];
    for dim in 0..mapping.spread.len() {
        for factor in 0..mapping.spread[dim].len() {
            let mut less = mapping.clone();
            less.spread[dim].remove(factor);
            all.push(less);
            let mut less = mapping.clone();
            if let Some(size) = &mut less.spread[dim][factor].size
                && *size > 2
            {
                *size /= 2;
                all.push(less);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::draw;
    use super::*;
    use crate::reduce::reduce;
    use crate::trial::Trial;

    #[test]
    fn every_smaller_case_is_sound_and_another() {
        for seed in 0..60 {
            let case = draw::case(seed);
            for candidate in smaller(&case) {
                assert!(candidate.program.is_sound(), "{candidate}");
                assert_ne!(candidate, case);
                let _ = candidate.program.tensors();
            }
        }
    }

    #[test]
    fn a_failure_that_nothing_mends_ends_at_a_point() {
        for seed in 0..8 {
            let smallest = reduce(Trial::Space(draw::case(seed)), |_| true);
            let Trial::Space(smallest) = smallest else {
                unreachable!("it stays a case over a space")
            };
            assert_eq!(smallest.program.dims.len(), 1, "{smallest}");
            assert!(smallest.program.dims[0].extent <= 1, "{smallest}");
            assert_eq!(smallest.mapping, None);
        }
    }
}
