//! Runs, checks and times a bundle on a GPU.
//!
//! It links neither MLIR nor a driver, so that the one small file travels to a GPU machine beside the bundles.

mod bundle;
mod call;
mod check;
mod driver;
mod failure;
mod fill;
mod options;
mod problem;
mod report;
mod timing;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::bundle::Bundle;
use crate::call::Loaded;
use crate::driver::Device;
use crate::failure::Failure;
use crate::fill::{Random, generate};
use crate::options::{Options, by_name};
use crate::problem::Problem;
use crate::report::Report;

fn main() -> ExitCode {
    let options = Options::parse();
    let report = match run(&options) {
        Ok(report) => report,
        Err(failure) => {
            eprintln!("norma-run: error: {failure}");
            return ExitCode::from(failure.exit_code());
        }
    };
    let text = match options.json {
        true => {
            serde_json::to_string_pretty(&report).map_or_else(|error| error.to_string(), |json| json + "\n")
        }
        false => report.to_string(),
    };
    // A reader that has closed the pipe does not change what was found.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::from(u8::from(!report.passed()))
}

/// Refuses a bad request before it looks for a device, then runs what was asked for.
fn run(options: &Options) -> Result<Report, Failure> {
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
