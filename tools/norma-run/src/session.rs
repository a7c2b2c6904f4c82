//! One run of the tool, from the command line's options to what was found.

use norma_oracle::memory;
use norma_oracle::problem::Problem;
use norma_runtime::{Bundle, Device, Driver, TargetBundle};

use crate::call::Loaded;
use crate::failure::Failure;
use crate::options::Options;
use crate::report::Report;
use crate::timing::Rotation;
use crate::verify;

/// Refuses a bad request before it looks for a device, then runs what was asked for.
///
/// # Errors
/// See [`Failure`]. Wrong results are no failure, but part of the report.
pub fn run(options: &Options) -> Result<Report, Failure> {
    let bundle = Bundle::open(&options.bundle)?;
    for target in bundle.targets() {
        bind(target, options)?;
    }
    let device = Device::open(&Driver::open()?, options.device)?;
    let target = bundle.select(device.capability)?;
    let problem = bind(target, options)?;
    let loaded = Loaded::new(&device, &bundle, &problem)?;

    let inputs = memory::inputs(&problem, options.run.fill, options.run.seed);
    let verification = options
        .verifies()
        .then(|| {
            let outputs = options.write_outputs.as_deref();
            verify::verify(
                &device,
                &loaded,
                &problem,
                &inputs,
                options.run.sampling(),
                outputs,
            )
        })
        .transpose()?;
    let timing = options
        .time
        .then(|| Rotation::new(&device, &problem, &inputs, loaded.bytes_moved)?.time(&loaded))
        .transpose()?;
    Ok(Report {
        function: problem.function.name.clone(),
        target: target.manifest.target.clone(),
        device: device.name.clone(),
        sizes: problem.sizes.clone(),
        verification,
        timing,
    })
}

/// What `options` say of the function's sizes, strides and scalars.
///
/// # Errors
/// They do not fit the bundle.
pub fn bind<'b>(target: &'b TargetBundle, options: &Options) -> Result<Problem<'b>, Failure> {
    let function = options.run.function(&target.manifest)?;
    Ok(options.run.problem(function)?)
}
