//! One run of a function: its kernels in order, on memory of its own, under one seed.

use std::collections::BTreeMap;

use norma_bundle::manifest::Tensor;
use norma_oracle::memory::{Image, Images};
use norma_oracle::problem::Problem;
use norma_simulator::memory::{Buffer, BufferAccess, Contents, Memory};
use norma_simulator::{Finding, Options, Progress};

use crate::bundle::Bundle;
use crate::error::Error;
use crate::launch::{Places, evaluate};
use crate::traffic::KernelTraffic;

/// What `cudaMalloc` aligns to, in bytes (CUDA C++ Programming Guide, "Device Memory Accesses"). Transactions are counted
/// for memory as it is allocated; otherwise a tensor is aligned to what its manifest promises and no more.
const ALLOCATED_ALIGN: u64 = 256;

/// What a run found and left behind.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What the kernels did wrong.
    pub findings: Vec<Finding>,
    /// Every tensor as the kernels left it; what nobody wrote is poison.
    pub images: Images,
    /// Every workspace.
    pub workspaces: BTreeMap<String, Vec<u8>>,
    /// Instructions times the threads that executed them.
    pub thread_instructions: u64,
    /// Bank conflicts and coalescing of each kernel, if asked for.
    pub traffic: Vec<KernelTraffic>,
}

/// Runs the kernels of `problem` on `inputs`. A kernel with findings is the last.
///
/// # Errors
/// A launch without values for its sizes, or that a driver would refuse.
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
    let mut memory = Memory::new(options.seed);
    let mut places = Places::default();
    for tensor in problem.function.tensors() {
        let align = match options.traffic {
            true => tensor.align.max(ALLOCATED_ALIGN),
            false => tensor.align,
        };
        let buffer = buffer(problem, tensor, inputs, align);
        let index = memory.add(buffer);
        places.tensors.insert(tensor.name.clone(), index);
    }
    let mut run = Run::default();
    for kernel in &problem.function.kernels {
        let launch = evaluate(problem, kernel, options.target.part.sms, &mut memory, &mut places)?;
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
        run.images.insert(name, image(&memory, index));
    }
    for (name, index) in places.workspaces {
        run.workspaces.insert(name, memory.bytes(index).to_vec());
    }
    Ok(run)
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
        // Tensors of any size are what an earlier kernel of the stream makes; those of one size are parameters, which
        // were there long before.
        pending: access == BufferAccess::Input && is_dynamic,
    }
}

/// A buffer's written bytes; the rest is poison.
fn image(memory: &Memory, index: usize) -> Image {
    let bytes = memory.bytes(index);
    let mut image = Image::poisoned(bytes.len());
    for written in memory.written(index) {
        image.body_mut()[written.clone()].copy_from_slice(&bytes[written]);
    }
    image
}
