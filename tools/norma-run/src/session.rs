//! What the tool runs, from the command line's options to what was found.

use std::path::Path;

use norma_command_line::RunOptions;
use norma_oracle::memory;
use norma_oracle::problem::Problem;
use norma_runtime::{Bundle, Device, Driver, TargetBundle};

use crate::call::Loaded;
use crate::failure::Failure;
use crate::options::Options;
use crate::report::{KernelSummary, Report};
use crate::timing;
use crate::verify;

/// Refuses a bad request before it looks for a device, then runs what was asked for.
///
/// # Errors
/// See [`Failure`]. Wrong results are no failure, but part of the report.
pub fn run(options: &Options) -> Result<Vec<Report>, Failure> {
    let bundle = Bundle::open(options.bundle.as_deref().unwrap_or(Path::new(".")))?;
    let runs = options.runs();
    for target in bundle.targets() {
        for run in &runs {
            bind(target, run)?;
        }
    }
    let device = Device::open(&Driver::open()?, options.device)?;
    let target = bundle.select(&device)?.target;
    let reports = runs.iter().map(|run| one(options, run, &device, &bundle, target));
    reports.collect()
}

/// One run of a sweep.
fn one(
    options: &Options,
    run: &RunOptions,
    device: &Device,
    bundle: &Bundle,
    target: &TargetBundle,
) -> Result<Report, Failure> {
    let problem = bind(target, run)?;
    let loaded = Loaded::new(device, bundle, &problem)?;

    let inputs = memory::inputs(&problem, run.fill, run.seed);
    let verification = options
        .verifies()
        .then(|| {
            let outputs = options.write_outputs.as_deref();
            verify::verify(device, &loaded, &problem, &inputs, run.sampling(), outputs)
        })
        .transpose()?;
    let timing = options
        .times()
        .then(|| timing::time(device, &loaded, &problem, &inputs, options.copies()))
        .transpose()?;
    Ok(Report {
        function: problem.function.name.clone(),
        target: target.manifest.target.clone(),
        device: device.name.clone(),
        sizes: problem.sizes.clone(),
        kernels: problem.function.kernels.iter().map(KernelSummary::of).collect(),
        verification,
        timing,
    })
}

/// What `run` says of the function's sizes, strides and scalars.
///
/// # Errors
/// They do not fit the bundle.
pub fn bind<'b>(target: &'b TargetBundle, run: &RunOptions) -> Result<Problem<'b>, Failure> {
    let function = run.function(&target.manifest)?;
    Ok(run.problem(function)?)
}
