//! Runs a function once: its kernels in order, on memory of its own, under one seed. A result that may alias an input does so
//! under every other seed.

use std::collections::BTreeMap;

use norma_bundle::manifest::Tensor;
use norma_oracle::memory::{Image, Images, poison_unwritten_holes};
use norma_oracle::problem::Problem;
use norma_simulator::memory::{Buffer, BufferAccess, Contents, Memory};
use norma_simulator::{Finding, Options, Progress};

use crate::bundle::Bundle;
use crate::error::Error;
use crate::launch::{Places, evaluate, launched};
use crate::traffic::KernelTraffic;

/// The alignment of `cudaMalloc`, in bytes (CUDA C++ Programming Guide, "Device Memory Accesses"). It is used when
/// transactions are counted; otherwise a tensor is aligned to exactly what its manifest promises.
const ALLOCATED_ALIGN: u64 = 256;

/// The findings of a run and the memory that it left.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The errors of the kernels.
    pub findings: Vec<Finding>,
    /// All tensors after the run; bytes that no kernel wrote are poison.
    pub images: Images,
    /// All workspaces that must be zero initially.
    pub workspaces: BTreeMap<String, Vec<u8>>,
    /// Instructions times the threads that executed them.
    pub thread_instructions: u64,
    /// Bank conflicts and coalescing of each kernel, if asked for.
    pub traffic: Vec<KernelTraffic>,
}

/// Checks, before memory is allocated, that the tensors of a problem take no more than [`Options::byte_limit`]; returns empty
/// places with the bytes that are left.
///
/// # Errors
/// The tensors take more.
pub(crate) fn fitting(problem: &Problem<'_>, options: &Options) -> Result<Places, Error> {
    let mut places = Places {
        bytes_left: options.byte_limit,
        ..Places::default()
    };
    for tensor in problem.function.tensors() {
        places.take(&tensor.name, problem.span_bytes(tensor) as u64)?;
    }
    Ok(places)
}

/// Runs the kernels of `problem` on `inputs`, up to the first kernel with findings.
///
/// # Errors
/// A launch whose expressions cannot be evaluated, or that a driver would refuse.
pub fn run(
    bundle: &Bundle,
    problem: &Problem<'_>,
    inputs: &Images,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Run, Error> {
    let options = &Options {
        target: bundle.target()?,
        ..options.clone()
    };
    let mut places = fitting(problem, options)?;
    let mut memory = Memory::new(options.seed);
    for tensor in problem.function.tensors() {
        let align = match options.traffic {
            true => tensor.align.max(ALLOCATED_ALIGN),
            false => tensor.align,
        };
        let shared = tensor.may_alias.as_ref().filter(|_| is_in_place(options));
        if let Some(index) = shared.and_then(|input| places.tensors.get(input)) {
            places.tensors.insert(tensor.name.clone(), *index);
            continue;
        }
        let outputs = problem.function.outputs.iter();
        let over = |output: &&Tensor| output.may_alias.as_ref() == Some(&tensor.name);
        // A result in place may need a larger alignment than the input that it is over.
        let over = outputs.filter(over).filter(|_| is_in_place(options));
        let align_of_results = over.map(|output| output.align).max();
        let align = align.max(align_of_results.unwrap_or(1));
        let mut buffer = buffer(problem, tensor, inputs, align);
        if align_of_results.is_some() {
            buffer.access = BufferAccess::Output;
        }
        let index = memory.add(buffer);
        places.tensors.insert(tensor.name.clone(), index);
    }
    let mut run = Run::default();
    let sms = options.target.part.sms;
    for (position, kernel) in launched(problem, sms)?.into_iter().enumerate() {
        if position > 0 {
            // A kernel with programmatic dependent launch may start before its predecessor's outputs and workspaces are
            // written.
            let outputs = problem.function.outputs.iter();
            let outputs = outputs.filter_map(|output| places.tensors.get(&output.name).copied());
            let workspaces = places.workspaces.values().map(|workspace| workspace.index);
            outputs
                .chain(workspaces)
                .for_each(|index| memory.set_pending(index));
        }
        let launch = evaluate(problem, kernel, sms, &mut memory, &mut places)?;
        let program = bundle.program(kernel)?;
        let outcome = norma_simulator::run(program, &launch, &mut memory, options, progress)?;
        memory.forget_accesses();
        run.thread_instructions += outcome.thread_instructions;
        if options.traffic {
            run.traffic
                .push(KernelTraffic::new(&kernel.symbol, program, &outcome.traffic));
        }
        run.findings.extend(outcome.findings);
        if !run.findings.is_empty() {
            break;
        }
    }
    for (name, index) in places.tensors {
        // An input that a result aliases may have been overwritten; report it as it was.
        let given_up = inputs
            .get(&name)
            .filter(|_| memory.access(index) == BufferAccess::Output);
        let image = given_up.cloned().unwrap_or_else(|| image(&memory, index));
        run.images.insert(name, image);
    }
    for output in &problem.function.outputs {
        let input = output.may_alias.as_ref().filter(|_| is_in_place(options));
        if let (Some(before), Some(after)) = (
            input.and_then(|input| inputs.get(input)),
            run.images.get_mut(&output.name),
        ) {
            poison_unwritten_holes(problem, output, before, after);
        }
    }
    for (name, workspace) in places.workspaces {
        if workspace.init.is_zero() {
            run.workspaces
                .insert(name, memory.bytes(workspace.index).to_vec());
        }
    }
    Ok(run)
}

/// Whether results that may alias an input do: under every other seed, because a caller may choose either.
fn is_in_place(options: &Options) -> bool {
    options.seed % 2 == 1
}

fn buffer(problem: &Problem<'_>, tensor: &Tensor, inputs: &Images, align: u64) -> Buffer {
    let (access, contents) = match inputs.get(&tensor.name) {
        Some(image) => (BufferAccess::Input, Contents::Bytes(image.body().to_vec())),
        None => (
            BufferAccess::Output,
            Contents::Uninitialized(problem.span_bytes(tensor)),
        ),
    };
    let is_dynamic = tensor.shape.iter().any(|extent| !extent.symbols().is_empty());
    Buffer {
        name: tensor.name.clone(),
        access,
        contents,
        align: u32::try_from(align).unwrap_or(u32::MAX),
        // A tensor of dynamic size is usually the output of an earlier kernel of the stream, which may not be complete; a
        // tensor of static size is usually a parameter, which is.
        pending: access == BufferAccess::Input && is_dynamic,
    }
}

/// An image of a buffer's written bytes; the rest is poison.
fn image(memory: &Memory, index: usize) -> Image {
    let bytes = memory.bytes(index);
    let mut image = Image::poisoned(bytes.len());
    for written in memory.written(index) {
        image.body_mut()[written.clone()].copy_from_slice(&bytes[written]);
    }
    image
}

#[cfg(test)]
mod tests {
    use norma_bundle::Manifest;

    use super::*;

    #[test]
    fn tensors_that_take_too_much_are_refused_before_they_are_laid_out() {
        let text = include_str!("../../../bundle/testdata/rms_norm.json");
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        let sizes = BTreeMap::from([("m".to_owned(), 100_000_000)]);
        let function = &manifest.functions[0];
        let problem = Problem::new(function, sizes, BTreeMap::new(), BTreeMap::new()).unwrap();
        let error = fitting(&problem, &Options::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "'x' takes 819200000000 bytes of simulated memory, and 1073741824 are left"
        );
        let options = Options {
            byte_limit: 1 << 42,
            ..Options::default()
        };
        assert!(fitting(&problem, &options).is_ok());
    }
}
