//! `--candidates`: compiles a function with several schedules, each to a bundle, for a sweep on a GPU.

use std::path::Path;

use norma_bundle::candidates::{Candidate, Candidates, FILE_NAME};
use norma_command_line::{output, output_file};
use norma_compiler::candidates;
use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::emit::Assemblies;
use norma_compiler::{CompileOptions, Error, Result};

use crate::build::{Request, step_bar};
use crate::places;

/// The folder of the bundle with the compiler's choice.
const CHOSEN: &str = "chosen";

/// Writes the request's bundle into a subfolder of its output, one more bundle for each of up to `count` schedules of each
/// kernel, and a list of them. [`crate::args::CompileArgs::check`] ensures that there is one input, one target and an output.
///
/// # Errors
///
/// As the compiler; an input with several functions; or a file that cannot be written.
pub fn write(request: &Request, count: usize) -> Result<()> {
    let Request { inputs, from, args } = request;
    let ([input], [target], Some(root)) = (&inputs[..], &args.target[..], &args.output) else {
        return Err(Error::internal(
            "a sweep of other than one input, target and output",
        ));
    };
    places::refuse_file(root)?;
    let options = CompileOptions {
        from: *from,
        ..args.options(target)
    };
    let input = Input {
        name: &input.name,
        text: &input.text,
    };
    let mut outcome = Outcome::default();
    let found = candidates::of_each_kernel(input, count, &options, &mut outcome);
    output::diagnostics(&outcome.diagnostics);
    let found = found?;
    let assemblies = Assemblies::default();
    compile_into(input, &options, &assemblies, &root.join(CHOSEN))?;

    let bar = step_bar(found.len());
    let mut list = Vec::with_capacity(found.len());
    for (index, candidate) in found.into_iter().enumerate() {
        bar.set_message(candidate.schedule.clone());
        let folder = format!("{index:03}");
        let given = format!("{}={}", candidate.kernel, candidate.schedule);
        let options = CompileOptions {
            schedules: options.schedules.iter().cloned().chain([given]).collect(),
            ..options.clone()
        };
        compile_into(input, &options, &assemblies, &root.join(&folder))?;
        list.push(Candidate {
            folder,
            kernel: candidate.kernel,
            schedule: candidate.schedule,
            expected_share: candidate.expected_share,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let list = Candidates {
        chosen: CHOSEN.to_owned(),
        candidates: list,
    };
    let json = list
        .to_json()
        .map_err(|error| Error::internal(error.to_string()))?;
    let path = root.join(FILE_NAME);
    output_file::write(&path, json.as_bytes())
        .map_err(|error| Error::user(format!("cannot write '{}': {error}", path.display())))
}

fn compile_into(
    input: Input,
    options: &CompileOptions,
    assemblies: &Assemblies,
    folder: &Path,
) -> Result<()> {
    let mut outcome = Outcome::default();
    let bundle = compile::bundle(input, options, assemblies, &mut outcome);
    output::diagnostics(&outcome.diagnostics);
    let bundle = bundle?;
    let functions = bundle.manifest.functions.len();
    if functions != 1 {
        return Err(Error::user(format!(
            "--candidates compares schedules of one function, got {functions}"
        )));
    }
    bundle.write(folder)
}
