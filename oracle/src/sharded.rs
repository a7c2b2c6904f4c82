//! A function that several devices run together: which part of its tensors each holds, and what they exchange.
//!
//! The caller runs the kernels of one device after the other, each on images of its own. The collectives between the runs, and
//! joining the results, are done here. One GPU may stand in for all devices.

use std::collections::BTreeMap;

use norma_bundle::expression::Expression;
use norma_bundle::manifest::sharded::{OFFSET, Sharded};
use norma_bundle::manifest::{Function, Manifest, Tensor};

use crate::error::OracleError;
use crate::layout::Layout;
use crate::memory::{self, Image, Images};
use crate::problem::{BindError, Problem};
use crate::program::grid::offsets;
use crate::verify::{Run, Sampling, Verification, verify};

/// A sharded function with its sizes bound, and the problem that each device solves in each run.
#[derive(Debug)]
pub struct ShardedProblem<'a> {
    /// The whole function.
    pub whole: Problem<'a>,
    sharded: &'a Sharded,
    /// Indexed by run, then device.
    problems: Vec<Vec<Problem<'a>>>,
    /// The coordinate along the sharded axes where each device's shard begins, and last the end of the last shard.
    borders: Vec<i64>,
}

/// The memory after a run of all devices.
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// The inputs of the whole function, and its results joined from all devices.
    pub images: Images,
    /// Faults of devices that these images do not show.
    pub faults: Vec<String>,
}

impl<'a> ShardedProblem<'a> {
    /// Divides the tensors of a whole function among its devices, as evenly as the multiples that its runs assume of extents
    /// allow; the first devices get more.
    ///
    /// # Errors
    /// The sharded axes cannot be divided so, or a run cannot be bound to the resulting shards.
    pub fn new(manifest: &'a Manifest, sharded: &'a Sharded, whole: Problem<'a>) -> Result<Self, BindError> {
        let find = |name: &String| manifest.functions.iter().find(|function| function.name == *name);
        let runs: Vec<&Function> = sharded.runs.iter().filter_map(find).collect();
        let borders = borders(&whole, sharded, &runs)?;
        let mut shared = Self {
            whole,
            sharded,
            problems: Vec::new(),
            borders,
        };
        for run in runs {
            let devices = 0..sharded.devices;
            let problems = devices.map(|device| shared.bind(run, device));
            let problems = problems.collect::<Result<Vec<_>, _>>()?;
            shared.problems.push(problems);
        }
        Ok(shared)
    }

    /// How many devices there are.
    pub fn devices(&self) -> usize {
        self.sharded.devices
    }

    /// The runs of one device, in order.
    pub fn runs(&self) -> impl Iterator<Item = &'a Function> {
        let first = self.problems.iter().filter_map(|problems| problems.first());
        first.map(|problem| problem.function)
    }

    /// Binds one device's problem in one run; earlier runs must have been bound.
    fn bind(&self, run: &'a Function, device: usize) -> Result<Problem<'a>, BindError> {
        let mut sizes = BTreeMap::new();
        for input in &run.inputs {
            let shape = match self.shard_shape(&input.name, device) {
                Some(shape) => shape,
                None => self.told_shape(&input.name).unwrap_or_default(),
            };
            for (extent, size) in input.shape.iter().zip(shape) {
                if let Expression::Symbol(name) = extent {
                    sizes.insert(name.clone(), size);
                }
            }
        }
        let has_offset = run.named_scalars().into_iter().any(|(name, ..)| name == OFFSET);
        let offset = has_offset.then(|| (OFFSET.to_owned(), self.borders[device] as f64));
        Problem::new(run, sizes, BTreeMap::new(), offset.into_iter().collect())
    }

    /// The extents of a device's shard of a tensor of the whole function.
    fn shard_shape(&self, tensor: &str, device: usize) -> Option<Vec<i64>> {
        let mut shape = self.whole.layouts.get(tensor)?.shape.clone();
        if let Some(axis) = self.sharded.axes.get(tensor) {
            shape[*axis] = self.borders[device + 1] - self.borders[device];
        }
        Some(shape)
    }

    /// The shape of a tensor gathered from all devices: their number, then the shape of the output of that name of one device.
    fn told_shape(&self, name: &str) -> Option<Vec<i64>> {
        let mut first = self.problems.iter().filter_map(|problems| problems.first());
        let told = first.find(|problem| problem.function.outputs.iter().any(|output| output.name == name))?;
        let devices = i64::try_from(self.sharded.devices).ok()?;
        Some([&[devices], told.layouts[name].shape.as_slice()].concat())
    }

    /// Runs all devices on the inputs of the whole function. `each` gets the problem of one device, its inputs and its number,
    /// runs it, and returns the images of all its tensors.
    ///
    /// # Errors
    /// The first error that `each` returns.
    pub fn run<E>(
        &self,
        inputs: &Images,
        mut each: impl FnMut(&Problem<'a>, &Images, usize) -> Result<Images, E>,
    ) -> Result<Left, E> {
        let mut left = Left {
            images: memory::outputs(&self.whole),
            faults: Vec::new(),
        };
        left.images
            .extend(inputs.iter().map(|(name, image)| (name.clone(), image.clone())));
        let mut told = BTreeMap::<&str, Vec<(Image, Layout)>>::new();
        for problems in &self.problems {
            for (device, problem) in problems.iter().enumerate() {
                let function = problem.function;
                let own = function.inputs.iter().map(|input| {
                    let image = match told.get(input.name.as_str()) {
                        Some(parts) => gathered(problem, input, parts),
                        None => self.shard(problem, input, &left.images, device),
                    };
                    (input.name.clone(), image)
                });
                let before: Images = own.collect();
                let after = each(problem, &before, device)?;
                left.faults.extend(strays(problem, &before, &after, device));
                for output in &function.outputs {
                    let Some(image) = after.get(&output.name) else {
                        continue;
                    };
                    if self.whole.layouts.contains_key(&output.name) {
                        left.join(self, problem, output, image, device);
                    } else {
                        let layout = problem.layouts[&output.name].clone();
                        told.entry(&output.name)
                            .or_default()
                            .push((image.clone(), layout));
                    }
                }
            }
        }
        Ok(left)
    }

    /// A device's shard of a tensor, copied from the whole tensor.
    fn shard(&self, problem: &Problem<'_>, tensor: &Tensor, whole: &Images, device: usize) -> Image {
        let mut shard = Image::poisoned(problem.span_bytes(tensor));
        let name = &tensor.name;
        if let (Some(image), Some(from)) = (whole.get(name), self.place(name, device)) {
            let layout = &problem.layouts[name];
            let to = places(0, &layout.shape, &layout.strides);
            copy(image.body(), &from, shard.body_mut(), &to, tensor.dtype.bytes());
        }
        shard
    }

    /// The offsets of a device's shard in the memory of a whole tensor, in elements.
    fn place(&self, tensor: &str, device: usize) -> Option<Vec<i64>> {
        let strides = &self.whole.layouts.get(tensor)?.strides;
        let axis = self.sharded.axes.get(tensor);
        let base = axis.map_or(0, |axis| self.borders[device] * strides[*axis]);
        Some(places(base, &self.shard_shape(tensor, device)?, strides))
    }

    /// Compares the joined results of the devices with what the whole function must compute from the inputs.
    ///
    /// # Errors
    /// As [`verify`].
    pub fn verify(
        &self,
        inputs: &Images,
        left: &Left,
        again: Option<&Left>,
        sampling: Sampling,
    ) -> Result<Verification, OracleError> {
        let run = Run {
            before: inputs,
            after: &left.images,
            again: again.map(|again| &again.images),
            workspaces: &BTreeMap::new(),
        };
        let mut found = verify(&self.whole, run, sampling)?;
        let of_again = again.iter().flat_map(|again| &again.faults);
        found.of_devices = left.faults.iter().chain(of_again).cloned().collect();
        found.passed &= found.of_devices.is_empty();
        Ok(found)
    }
}

impl Left {
    /// Copies a device's result to its place in the whole tensor. A tensor that is not sharded must have the same bits on all
    /// devices.
    fn join(
        &mut self,
        sharded: &ShardedProblem,
        problem: &Problem<'_>,
        output: &Tensor,
        result: &Image,
        device: usize,
    ) {
        let name = &output.name;
        let (Some(whole), Some(to)) = (self.images.get_mut(name), sharded.place(name, device)) else {
            return;
        };
        let layout = &problem.layouts[name];
        let from = places(0, &layout.shape, &layout.strides);
        let bytes = output.dtype.bytes();
        let is_sharded = sharded.sharded.axes.contains_key(name);
        let before = (!is_sharded && device > 0).then(|| whole.clone());
        copy(result.body(), &from, whole.body_mut(), &to, bytes);
        if before.is_some_and(|before| before != *whole) {
            self.faults.push(format!(
                "'{name}' has other bits on device {device} than on those before it"
            ));
        }
    }
}

/// The coordinates at which the devices' shards begin, and the end of the last one.
fn borders(whole: &Problem<'_>, sharded: &Sharded, runs: &[&Function]) -> Result<Vec<i64>, BindError> {
    let name = &sharded.whole.name;
    let mut extent = None;
    let mut multiple = 1_i64;
    for (tensor, axis) in &sharded.axes {
        let own = whole.layouts[tensor].shape[*axis];
        if *extent.get_or_insert(own) != own {
            let message = format!(
                "expected the sharded axes of '{name}' to be equally long, got axis {axis} of '{tensor}' of {own}"
            );
            return Err(BindError::Request(message));
        }
        let of_runs = runs.iter().filter_map(|run| run.tensor(tensor));
        for assumed in of_runs.map(|tensor| tensor.shape_multiple(*axis)) {
            let assumed = i64::try_from(assumed).unwrap_or(i64::MAX);
            multiple = multiple.saturating_mul(assumed / common_divisor(multiple, assumed));
        }
    }
    let extent = extent.unwrap_or(0);
    if extent % multiple != 0 {
        let message = format!(
            "expected the extent that the devices of '{name}' share to be a multiple of {multiple}, as each shard is, got {extent}"
        );
        return Err(BindError::Request(message));
    }
    let devices = i64::try_from(sharded.devices).unwrap_or(i64::MAX);
    let (least, more) = (extent / multiple / devices, extent / multiple % devices);
    let begin = |device: i64| (device * least + device.min(more)) * multiple;
    Ok((0..=devices).map(begin).collect())
}

fn common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// The outputs of all devices, gathered in order along the first axis, in the layout of the input of the run that reads them.
fn gathered(problem: &Problem<'_>, tensor: &Tensor, parts: &[(Image, Layout)]) -> Image {
    let bytes = tensor.dtype.bytes();
    let layout = &problem.layouts[&tensor.name];
    let mut image = Image::poisoned(problem.span_bytes(tensor));
    for (device, (part, own)) in parts.iter().enumerate() {
        let from = places(0, &own.shape, &own.strides);
        let base = device as i64 * layout.strides[0];
        let to = places(base, &layout.shape[1..], &layout.strides[1..]);
        copy(part.body(), &from, image.body_mut(), &to, bytes);
    }
    image
}

/// A message for each tensor that a device wrote where it must not.
fn strays(problem: &Problem<'_>, before: &Images, after: &Images, device: usize) -> Vec<String> {
    let function = problem.function;
    let is_stray = |tensor: &Tensor| match (before.get(&tensor.name), after.get(&tensor.name)) {
        (Some(before), Some(after)) => before != after,
        (None, Some(after)) => {
            let inside = memory::elements_of(problem, tensor);
            !after.guards_are_intact()
                || !memory::holes_are_intact(after.body(), tensor.dtype, inside.as_deref())
        }
        _ => false,
    };
    let strays = function.tensors().filter(|tensor| is_stray(tensor));
    strays
        .map(|tensor| {
            let (name, run) = (&tensor.name, &function.name);
            format!("'{name}' was written where it must not be by '{run}' on device {device}")
        })
        .collect()
}

fn places(base: i64, extents: &[i64], strides: &[i64]) -> Vec<i64> {
    let extents: Vec<usize> = extents.iter().map(|extent| *extent as usize).collect();
    offsets(base, &extents, strides)
}

/// Copies elements from offsets in one memory to offsets in another.
fn copy(from: &[u8], sources: &[i64], to: &mut [u8], targets: &[i64], bytes: usize) {
    for (source, target) in sources.iter().zip(targets) {
        let (source, target) = (*source as usize * bytes, *target as usize * bytes);
        to[target..target + bytes].copy_from_slice(&from[source..source + bytes]);
    }
}
