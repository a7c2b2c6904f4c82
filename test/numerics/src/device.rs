//! The same cases on a GPU: exports bundles and commands, and compares the results that were brought back.
//!
//! If PTX defines the result of every instruction of a kernel to the bit, the simulator's results must be the device's. PTX
//! only bounds the functions of the special function unit; results of kernels that use them may differ, and are counted.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::emit::Assemblies;
use norma_oracle::outputs::{self, Agreement};
use norma_sim::Bundle;
use norma_simulator::Approximation;
use norma_simulator::program::Instruction;
use rayon::prelude::*;

use crate::Options;
use crate::check::{self, Failure, Stage};
use crate::trial::Trial;
use crate::{command, suite};

/// Writes a bundle for each case into `folder`, and `folder/runs`, one shell command per line to be executed on the GPU
/// machine. Each needs `$NORMA_RUN`, the launcher, and `$OUT`, the folder for outputs and a report.
///
/// # Errors
/// The folder cannot be written. A case that does not compile is reported and left out.
pub fn export(options: &Options, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let cases = suite::cases(options);
    let lines: Vec<io::Result<Option<String>>> = cases
        .par_iter()
        .enumerate()
        .map(|(number, case)| export_case(number, case, folder))
        .collect();
    let mut runs = String::new();
    for line in lines {
        runs.extend(line?);
    }
    fs::write(folder.join("runs"), runs)
}

fn export_case(number: usize, case: &Trial, folder: &Path) -> io::Result<Option<String>> {
    let text = case.text();
    let input = Input {
        name: "case.mlir",
        text: &text,
    };
    let bundle = match compile::bundle(
        input,
        &case.options(),
        &Assemblies::default(),
        &mut Outcome::default(),
    ) {
        Ok(bundle) => bundle,
        Err(error) => {
            println!("left out: {case}: {error}");
            return Ok(None);
        }
    };
    let name = number.to_string();
    bundle
        .write(&folder.join(&name))
        .map_err(|error| io::Error::other(error.to_string()))?;
    let Ok(function) = bundle.manifest.function(Some(&case.function())) else {
        return Ok(None);
    };
    let bindings = case.bindings(function);
    let mut line = format!("$NORMA_RUN {name}{}", command::arguments(case, &bindings));
    // Writing to a string does not fail.
    let _ = writeln!(
        line,
        " --rows-checked 0 --verify --write-tensors $OUT/{name} --json > $OUT/{name}.json || echo 'failed: {name}: {case}'"
    );
    Ok(Some(line))
}

/// The comparison of one case.
struct Comparison {
    /// Whether PTX defines the results to the bit.
    is_defined: bool,
    agreements: Vec<Agreement>,
}

/// Runs each case whose outputs lie in `folder` in the simulator, without the errors of approximate functions, and compares
/// bit for bit. Returns false if a result that PTX defines differs.
pub fn compare(options: &Options, folder: &Path) -> bool {
    let cases = suite::cases(options);
    let compared: Vec<(Trial, Result<Comparison, Failure>)> = cases
        .into_par_iter()
        .enumerate()
        .filter(|(number, _)| folder.join(number.to_string()).is_dir())
        .map(|(number, case)| {
            let directory = folder.join(number.to_string());
            let compared = compare_case(&case, &directory);
            (case, compared)
        })
        .collect();
    let mut failed = 0;
    // Cases, cases that agree, elements, elements that differ: of defined results, and of the others.
    let mut counts = [[0usize; 4]; 2];
    for (case, result) in compared {
        match result {
            Err(failure) => {
                failed += 1;
                println!("failed: {case}\n{}", failure.why);
            }
            Ok(comparison) => {
                let different = comparison.agreements.iter().map(|found| found.different).sum();
                let elements: usize = comparison.agreements.iter().map(|found| found.elements).sum();
                let count = &mut counts[usize::from(!comparison.is_defined)];
                for (total, more) in
                    count
                        .iter_mut()
                        .zip([1, usize::from(different == 0), elements, different])
                {
                    *total += more;
                }
                if different > 0 && comparison.is_defined {
                    failed += 1;
                }
                if different > 0 {
                    let what = if comparison.is_defined { "WRONG" } else { "differs" };
                    println!("{what}: {case}");
                    for agreement in comparison.agreements {
                        println!("  {agreement}");
                    }
                }
            }
        }
    }
    for (what, [cases, alike, elements, different]) in ["defined to the bit", "with approximate functions"]
        .into_iter()
        .zip(counts)
    {
        println!("{what}: {alike} of {cases} cases alike, {different} of {elements} elements differ");
    }
    failed == 0
}

fn compare_case(case: &Trial, directory: &Path) -> Result<Comparison, Failure> {
    let bundle = check::compile(case)?;
    let simulator = norma_simulator::Options {
        approximation: Approximation::Exact,
        ..norma_simulator::Options::default()
    };
    let (problem, judgement) = check::judge_with(&bundle, case, simulator)?;
    let agreements = outputs::compare(directory, &problem, &judgement.images).map_err(|error| Failure {
        stage: Stage::Run,
        why: error.to_string(),
    })?;
    Ok(Comparison {
        is_defined: is_defined(&bundle),
        agreements,
    })
}

/// Whether no kernel has an instruction whose result PTX only bounds.
fn is_defined(bundle: &Bundle) -> bool {
    let kernels = bundle
        .manifest
        .functions
        .iter()
        .flat_map(|function| &function.kernels);
    let mut programs = kernels.filter_map(|kernel| bundle.program(kernel).ok());
    let approximates = |instruction: &Instruction| matches!(instruction, Instruction::Approximate { .. });
    programs.all(|program| {
        let code = program.kernels.iter().flat_map(|kernel| &kernel.code);
        !code.into_iter().any(approximates)
    })
}
