//! Runs the tool, from the command line's options to the reports.

use std::path::Path;

use norma_bundle::manifest::Chosen;
use norma_command_line::RunOptions;
use norma_oracle::memory;
use norma_oracle::problem::Problem;
use norma_oracle::sharded::ShardedProblem;
use norma_runtime::{Bundle, Device, Driver, TargetBundle};

use crate::call::Loaded;
use crate::failure::Failure;
use crate::options::Options;
use crate::report::{KernelSummary, Report};
use crate::timing;
use crate::verify;

/// The subject of a run: a function on one device, or a sharded function, all of whose devices run one after the other on
/// this one.
enum Subject<'b> {
    One(Problem<'b>),
    Sharded(ShardedProblem<'b>),
}

/// Checks the request before it looks for a device, then runs it.
///
/// # Errors
/// See [`Failure`]. Wrong results are not a failure, but part of the report.
pub fn run(options: &Options) -> Result<Vec<Report>, Failure> {
    let mut bundle = Bundle::open(options.bundle.as_deref().unwrap_or(Path::new(".")))?;
    bundle.allow_ptx(options.allow_ptx);
    let runs = options.runs();
    for target in bundle.targets() {
        for run in &runs {
            match subject(options, target, run)? {
                Subject::One(problem) => memory::check_room(&problem, options.verifies())?,
                Subject::Sharded(problem) => memory::check_room(&problem.whole, true)?,
            }
        }
    }
    let device = Device::open(&Driver::open()?, options.device)?;
    let target = bundle.select(&device)?.target;
    let reports = runs.iter().map(|run| match subject(options, target, run)? {
        Subject::One(problem) => one(options, run, &device, &bundle, target, &problem),
        Subject::Sharded(problem) => sharded(options, run, &device, &bundle, target, &problem),
    });
    reports.collect()
}

/// Runs a function once; a sweep does so for each of its sizes.
fn one(
    options: &Options,
    run: &RunOptions,
    device: &Device,
    bundle: &Bundle,
    target: &TargetBundle,
    problem: &Problem<'_>,
) -> Result<Report, Failure> {
    let loaded = Loaded::new(device, bundle, problem)?;
    let inputs = memory::inputs(problem, run.fill, run.seed);
    let verification = options
        .verifies()
        .then(|| {
            let folder = options.folder(run);
            verify::verify(
                device,
                &loaded,
                problem,
                &inputs,
                run.sampling(),
                folder.as_deref(),
            )
        })
        .transpose()?;
    let timing = options
        .times()
        .then(|| timing::time(device, &loaded, problem, &inputs, options.copies()))
        .transpose()?;
    Ok(Report {
        function: problem.function.name.clone(),
        devices: None,
        target: target.manifest.target_name().to_owned(),
        device: device.name.clone(),
        sizes: problem.sizes.clone(),
        kernels: problem.function.kernels.iter().map(KernelSummary::of).collect(),
        verification,
        timing,
    })
}

/// Runs a sharded function once; a sweep does so for each of its sizes.
fn sharded(
    options: &Options,
    run: &RunOptions,
    device: &Device,
    bundle: &Bundle,
    target: &TargetBundle,
    problem: &ShardedProblem<'_>,
) -> Result<Report, Failure> {
    let inputs = memory::inputs(&problem.whole, run.fill, run.seed);
    let folder = options.folder(run);
    let verification = verify::verify_sharded(
        device,
        bundle,
        problem,
        &inputs,
        run.sampling(),
        folder.as_deref(),
    )?;
    let kernels = problem.runs().flat_map(|run| &run.kernels);
    Ok(Report {
        function: problem.whole.function.name.clone(),
        devices: Some(problem.devices()),
        target: target.manifest.target_name().to_owned(),
        device: device.name.clone(),
        sizes: problem.whole.sizes.clone(),
        kernels: kernels.map(KernelSummary::of).collect(),
        verification: Some(verification),
        timing: None,
    })
}

/// Resolves the function and the arguments of `run` in the bundle.
///
/// # Errors
/// They do not fit the bundle.
fn subject<'b>(
    options: &Options,
    target: &'b TargetBundle,
    run: &RunOptions,
) -> Result<Subject<'b>, Failure> {
    match run.choose(&target.manifest)? {
        Chosen::Function(function) => Ok(Subject::One(run.problem(function)?)),
        Chosen::Sharded(sharded) if options.times() => Err(Failure::Sharded {
            function: sharded.whole.name.clone(),
            runs: sharded.runs.clone(),
        }),
        Chosen::Sharded(sharded) => {
            let whole = run.problem(&sharded.whole)?;
            let shared = ShardedProblem::new(&target.manifest, sharded, whole)?;
            Ok(Subject::Sharded(shared))
        }
    }
}

/// Resolves the function of `run`, which must run on one device, and binds its sizes, strides and scalars.
///
/// # Errors
/// They do not fit the bundle.
pub fn bind<'b>(target: &'b TargetBundle, run: &RunOptions) -> Result<Problem<'b>, Failure> {
    let function = run.function(&target.manifest)?;
    Ok(run.problem(function)?)
}
