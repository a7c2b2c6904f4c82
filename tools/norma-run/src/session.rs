//! One run of the tool, from the command line's options to what was found.

use norma_oracle::memory;
use norma_oracle::problem::Problem;
use norma_oracle::setting::by_name;
use norma_oracle::verify::Sampling;

use crate::bundle::Bundle;
use crate::call::Loaded;
use crate::driver::Device;
use crate::failure::Failure;
use crate::options::Options;
use crate::report::Report;
use crate::timing;
use crate::verify;

/// Refuses a bad request before it looks for a device, then runs what was asked for.
///
/// # Errors
/// See [`Failure`]. Wrong results are no failure, but part of the report.
pub fn run(options: &Options) -> Result<Report, Failure> {
    let bundles = Bundle::open_all(&options.bundle)?;
    for bundle in &bundles {
        bind(bundle, options)?;
    }
    let device = Device::open(options.device)?;
    let bundle = Bundle::select(&bundles, device.capability)?;
    let problem = bind(bundle, options)?;
    let loaded = Loaded::new(&device, bundle, &problem)?;

    let inputs = memory::inputs(&problem, options.fill, options.seed);
    let verification = options
        .verifies()
        .then(|| {
            let sampling = Sampling {
                rows: options.rows_checked,
                seed: options.seed,
            };
            let outputs = options.write_outputs.as_deref();
            verify::verify(&device, &loaded, &problem, &inputs, sampling, outputs)
        })
        .transpose()?;
    let timing = options
        .time
        .then(|| timing::time(&device, &loaded, &problem, &inputs))
        .transpose()?;
    Ok(Report {
        function: problem.function.name.clone(),
        target: bundle.manifest.target.clone(),
        device: device.name.clone(),
        sizes: problem.sizes.clone(),
        verification,
        timing,
    })
}

fn bind<'b>(bundle: &'b Bundle, options: &Options) -> Result<Problem<'b>, Failure> {
    let function = bundle.function(options.function.as_deref())?;
    Ok(Problem::new(
        function,
        by_name(&options.sizes),
        by_name(&options.strides),
        by_name(&options.scalars),
    )?)
}
