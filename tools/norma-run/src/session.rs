//! One run of the tool, from the command line's options to what was found.

use std::collections::BTreeMap;

use crate::bundle::Bundle;
use crate::call::Loaded;
use crate::check;
use crate::driver::Device;
use crate::failure::Failure;
use crate::fill::{Random, generate};
use crate::options::{Options, by_name};
use crate::problem::Problem;
use crate::report::Report;
use crate::timing;

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

    let mut random = Random::new(options.seed);
    let mut host = BTreeMap::new();
    for input in &problem.function.inputs {
        let data = generate(input.dtype, problem.span(&input.name), options.fill, &mut random);
        host.insert(input.name.clone(), data);
    }
    let check = options
        .checks()
        .then(|| {
            check::check(
                &device,
                &loaded,
                &problem,
                &host,
                options.rows_checked,
                &mut random,
            )
        })
        .transpose()?;
    let timing = options
        .time
        .then(|| timing::time(&device, &loaded, &problem, &host))
        .transpose()?;
    Ok(Report {
        function: problem.function.name.clone(),
        target: bundle.manifest.target.clone(),
        device: device.name.clone(),
        sizes: problem.sizes.clone(),
        check,
        timing,
    })
}

fn bind<'b>(bundle: &'b Bundle, options: &Options) -> Result<Problem<'b>, Failure> {
    let function = bundle.function(options.function.as_deref())?;
    Problem::new(
        function,
        by_name(&options.sizes),
        by_name(&options.strides),
        by_name(&options.scalars),
    )
}
