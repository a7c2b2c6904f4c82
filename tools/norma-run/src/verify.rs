//! Runs a function twice on a device and passes the memory that it leaves to the oracle.

use std::path::Path;

use norma_oracle::memory::Images;
use norma_oracle::outputs;
use norma_oracle::problem::Problem;
use norma_oracle::sharded::ShardedProblem;
use norma_oracle::verify::{Run, Sampling, Verification};
use norma_runtime::driver::Stream;
use norma_runtime::{Bundle, Device};

use crate::call::{Loaded, Tensors};
use crate::failure::Failure;

/// Runs `loaded` on `inputs`, twice on the same workspaces, and compares the results; writes the tensors of the first run
/// into the folder `directory`, if given.
///
/// # Errors
/// The driver's error, or a definition that cannot be evaluated.
pub fn verify(
    device: &Device,
    loaded: &Loaded<'_>,
    problem: &Problem<'_>,
    inputs: &Images,
    sampling: Sampling,
    directory: Option<&Path>,
) -> Result<Verification, Failure> {
    let tensors = Tensors::guarded(device, problem, inputs)?;
    let stream = Stream::new(device)?;
    let workspaces = loaded.workspaces(&tensors, &stream)?;
    let run = || -> Result<Images, Failure> {
        for output in &problem.function.outputs {
            tensors.poison(&output.name)?;
        }
        workspaces.poison()?;
        loaded.enqueue(&tensors, &stream)?;
        stream.synchronize()?;
        let outputs = problem.function.outputs.iter();
        outputs
            .map(|output| Ok((output.name.clone(), tensors.read(&output.name)?)))
            .collect()
    };
    let mut after = run()?;
    let again = run()?;
    for input in &problem.function.inputs {
        after.insert(input.name.clone(), tensors.read(&input.name)?);
    }
    if let Some(directory) = directory {
        outputs::write(directory, problem, inputs, &after)?;
    }
    let left = Run {
        before: inputs,
        after: &after,
        again: Some(&again),
        workspaces: &workspaces.read()?,
    };
    Ok(norma_oracle::verify(problem, left, sampling)?)
}

/// Runs each device of `problem` on this one, twice, and compares the combined results; writes the outputs of the first time
/// into the folder `directory`, if given.
///
/// # Errors
/// As [`verify`].
pub fn verify_sharded(
    device: &Device,
    bundle: &Bundle,
    problem: &ShardedProblem<'_>,
    inputs: &Images,
    sampling: Sampling,
    directory: Option<&Path>,
) -> Result<Verification, Failure> {
    let stream = Stream::new(device)?;
    let run = || {
        let mut dirty = Vec::new();
        let left = problem.run(inputs, |own, before, number| -> Result<Images, Failure> {
            let loaded = Loaded::new(device, bundle, own)?;
            let tensors = Tensors::guarded(device, own, before)?;
            let workspaces = loaded.workspaces(&tensors, &stream)?;
            workspaces.poison()?;
            loaded.enqueue(&tensors, &stream)?;
            stream.synchronize()?;
            for (name, bytes) in workspaces.read()? {
                if bytes.iter().any(|byte| *byte != 0) {
                    let function = &own.function.name;
                    dirty.push(format!(
                        "workspace '{name}' was not left zero by '{function}' on device {number}"
                    ));
                }
            }
            let all = own.function.tensors();
            all.map(|tensor| Ok((tensor.name.clone(), tensors.read(&tensor.name)?)))
                .collect()
        });
        left.map(|mut left| {
            left.faults.extend(dirty);
            left
        })
    };
    let (left, again) = (run()?, run()?);
    if let Some(directory) = directory {
        outputs::write(directory, &problem.whole, inputs, &left.images)?;
    }
    Ok(problem.verify(inputs, &left, Some(&again), sampling)?)
}
