//! A drawn program as data: dims, inputs, and computes whose steps refer to earlier steps by number.

use std::collections::BTreeSet;
use std::fmt;

use norma_bundle::Element;

use super::tensor::{Axis, Tensor};
use super::text;

/// A function of one compute, or of two, the second of which reads results of the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The dims of all computes.
    pub dims: Vec<Dim>,
    /// The guard of two of them, in each compute that uses both.
    pub guard: Option<Guard>,
    /// The type of the computation: f32, f64, i32 or i64.
    pub compute: Element,
    /// Whether values are clamped, so that none overflows whatever the inputs hold.
    pub is_clamped: bool,
    /// The function's inputs.
    pub inputs: Vec<Tensor>,
    /// The computes, in order.
    pub computes: Vec<Compute>,
}

/// Blocks of neighbours, the last of which is shorter: there are only points with `outer * extent(inner) + inner < end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The dim over blocks.
    pub outer: usize,
    /// The dim within a block.
    pub inner: usize,
    /// The number of points.
    pub end: i64,
}

impl Guard {
    /// Whether it fits its dims: each block has a point, and the last one is not whole.
    fn is_of(self, dims: &[Dim]) -> bool {
        let [outer, inner] = [self.outer, self.inner].map(|dim| dims[dim]);
        let most = outer.extent * inner.extent;
        self.outer != self.inner
            && !outer.is_dynamic
            && !inner.is_dynamic
            && (most - inner.extent + 1..most).contains(&self.end)
    }

    /// Whether both of its dims are among `dims`.
    pub fn is_over(self, dims: &BTreeSet<usize>) -> bool {
        dims.contains(&self.outer) && dims.contains(&self.inner)
    }

    /// The coordinate that it limits.
    pub fn axis(self) -> Axis {
        Axis::Blocks {
            outer: self.outer,
            inner: self.inner,
            end: self.end,
        }
    }
}

/// A dim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Its extent in the run.
    pub extent: i64,
    /// Whether the extent is dynamic.
    pub is_dynamic: bool,
    /// The known divisor of a dynamic extent.
    pub multiple: i64,
}

/// One `norm.compute`.
#[derive(Clone, Debug, PartialEq)]
pub struct Compute {
    /// The values, each computed from those before it.
    pub steps: Vec<Step>,
    /// What is written.
    pub outputs: Vec<Output>,
}

/// A result of a compute.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The step whose value is written.
    pub value: usize,
    /// The tensor that it is written to.
    pub tensor: Tensor,
    /// Whether the function returns it.
    pub is_returned: bool,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An element of an input, widened to the type of the computation.
    Read(usize),
    /// An element of a result of the previous compute, read over the dims that it was written over.
    ReadResult(usize),
    /// A scalar argument of the function, with this default.
    Scalar(i64),
    /// The coordinate along a dim.
    Coordinate(usize),
    /// An op of one operand.
    Unary(&'static str, usize),
    /// An op of two operands.
    Binary(&'static str, usize, usize),
    /// The second operand if the first, an element of an input, is above zero, otherwise the third.
    Select(usize, usize, usize),
    /// A reduction by a named combiner.
    Reduce(&'static str, usize, Vec<usize>),
    /// A reduction of two accumulators, the sum of the first operand and the maximum of the second; the value is the sum of
    /// both results.
    SumBesideMax(usize, usize, Vec<usize>),
}

impl Step {
    /// The steps whose values it uses.
    pub fn operands(&self) -> Vec<usize> {
        match self {
            Self::Read(_) | Self::ReadResult(_) | Self::Scalar(_) | Self::Coordinate(_) => vec![],
            Self::Unary(_, one) | Self::Reduce(_, one, _) => vec![*one],
            Self::Binary(_, one, other) | Self::SumBesideMax(one, other, _) => vec![*one, *other],
            Self::Select(one, other, third) => vec![*one, *other, *third],
        }
    }

    /// Replaces its operands.
    pub fn map_operands(&mut self, map: impl Fn(usize) -> usize) {
        match self {
            Self::Read(_) | Self::ReadResult(_) | Self::Scalar(_) | Self::Coordinate(_) => {}
            Self::Unary(_, one) | Self::Reduce(_, one, _) => *one = map(*one),
            Self::Binary(_, one, other) | Self::SumBesideMax(one, other, _) => {
                (*one, *other) = (map(*one), map(*other));
            }
            Self::Select(one, other, third) => {
                (*one, *other, *third) = (map(*one), map(*other), map(*third));
            }
        }
    }
}

impl Program {
    /// Every tensor, including results that the function does not return.
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = &mut Tensor> {
        let outputs = self.computes.iter_mut().flat_map(|compute| &mut compute.outputs);
        self.inputs
            .iter_mut()
            .chain(outputs.map(|output| &mut output.tensor))
    }

    /// Every tensor of the function's signature, with its name.
    pub fn tensors(&self) -> Vec<(String, &Tensor)> {
        let inputs = self.inputs.iter().enumerate();
        let inputs = inputs.map(|(number, tensor)| (format!("x{number}"), tensor));
        let results = self.computes.iter().enumerate().flat_map(|(compute, program)| {
            let outputs = program.outputs.iter().enumerate();
            let returned = outputs.filter(|(_, output)| output.is_returned);
            returned.map(move |(number, output)| (text::result(compute, number), &output.tensor))
        });
        inputs.chain(results).collect()
    }

    /// The dims that the value of each step of a compute varies over.
    pub fn varies(&self, compute: usize) -> Vec<BTreeSet<usize>> {
        let mut varies: Vec<BTreeSet<usize>> = Vec::new();
        for step in &self.computes[compute].steps {
            let mut dims: BTreeSet<usize> = step
                .operands()
                .into_iter()
                .flat_map(|operand| varies[operand].clone())
                .collect();
            match step {
                Step::Read(input) => dims.extend(self.inputs[*input].dims()),
                Step::ReadResult(output) => {
                    let before = compute
                        .checked_sub(1)
                        .and_then(|before| self.computes[before].outputs.get(*output));
                    dims.extend(before.into_iter().flat_map(|output| output.tensor.dims()));
                }
                Step::Coordinate(dim) => {
                    dims.insert(*dim);
                }
                Step::Reduce(_, _, over) | Step::SumBesideMax(_, _, over) => {
                    dims.retain(|dim| !over.contains(dim));
                }
                _ => {}
            }
            varies.push(dims);
        }
        varies
    }

    /// Whether the guard allows a compute's reductions and writes: a reduction over one of its dims knows both, and a result over
    /// both has an axis for the points that there are. An input may have such an axis too.
    fn is_guarded(&self, compute: &Compute, varies: &[BTreeSet<usize>]) -> bool {
        let has_blocks = |tensor: &Tensor| {
            let mut axes = tensor.axes.iter();
            axes.any(|axis| matches!(axis, Axis::Blocks { .. }) && self.guard.map(Guard::axis) != Some(*axis))
        };
        let outputs = || compute.outputs.iter().map(|output| &output.tensor);
        let Some(guard) = self.guard else {
            return !self.inputs.iter().chain(outputs()).any(has_blocks);
        };
        let is_known = |step: &Step| match step {
            Step::Reduce(_, _, over) | Step::SumBesideMax(_, _, over) => {
                let mut known: BTreeSet<usize> = over.iter().copied().collect();
                let is_apart = !known.contains(&guard.outer) && !known.contains(&guard.inner);
                known.extend(step.operands().iter().flat_map(|operand| &varies[*operand]));
                is_apart || guard.is_over(&known)
            }
            _ => true,
        };
        let is_covered = |tensor: &Tensor| {
            let dims: BTreeSet<usize> = tensor.dims().into_iter().collect();
            !guard.is_over(&dims) || tensor.axes.contains(&guard.axis())
        };
        guard.is_of(&self.dims)
            && compute.steps.iter().all(is_known)
            && outputs().all(is_covered)
            && !self.inputs.iter().chain(outputs()).any(has_blocks)
    }

    /// Whether the program can be compiled: every value that is written varies only over dims of its tensor, an output writes each
    /// element once, and the guard allows what the computes do.
    pub fn is_sound(&self) -> bool {
        let mut is_sound = self
            .computes
            .iter()
            .any(|compute| compute.outputs.iter().any(|output| output.is_returned));
        for (number, compute) in self.computes.iter().enumerate() {
            let varies = self.varies(number);
            is_sound &= !compute.outputs.is_empty() && self.is_guarded(compute, &varies);
            for output in &compute.outputs {
                let dims = output.tensor.dims();
                let distinct: BTreeSet<usize> = dims.iter().copied().collect();
                is_sound &= distinct.len() == dims.len() && varies[output.value].is_subset(&distinct);
            }
            is_sound &= compute.steps.iter().all(|step| match step {
                Step::Reduce(_, _, over) | Step::SumBesideMax(_, _, over) => !over.is_empty(),
                Step::ReadResult(output) => number > 0 && *output < self.computes[number - 1].outputs.len(),
                _ => true,
            });
        }
        is_sound
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self
            .dims
            .iter()
            .map(|dim| match dim.is_dynamic {
                true => format!("?{}", dim.extent),
                false => dim.extent.to_string(),
            })
            .collect();
        let steps: usize = self.computes.iter().map(|compute| compute.steps.len()).sum();
        write!(f, "[{}] {} {steps} steps", dims.join(" "), self.compute.name())?;
        if let Some(Guard { outer, inner, end }) = self.guard {
            write!(f, " d{outer}, d{inner} < {end}")?;
        }
        for (name, tensor) in self.tensors() {
            write!(
                f,
                " {name}:{}",
                tensor.buffer(&self.dims).unwrap_or_else(|| tensor.ty(&self.dims))
            )?;
        }
        Ok(())
    }
}
