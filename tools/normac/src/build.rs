//! Runs the compiler over every input and target.

use indicatif::{ProgressBar, ProgressStyle};
use norma_command_line::{output, output_file};
use norma_compiler::bundle::{Bundle, write_all};
use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::emit::{Assembler, Assemblies};
use norma_compiler::timing::Timing;
use norma_compiler::{CompileOptions, Error, Level, Result, Target};

use crate::args::CompileArgs;
use crate::explain::explain;
use crate::input::InputText;
use crate::object::{self, ObjectFiles};
use crate::{places, report};

/// The inputs of a compilation, and its settings.
pub struct Request {
    /// The texts.
    pub inputs: Vec<InputText>,
    /// Their level.
    pub from: Level,
    /// The options of the compilation.
    pub args: CompileArgs,
}

/// Prints a level of each input, for each target.
///
/// # Errors
///
/// As the compiler; or the output cannot be written.
pub fn emit(request: &Request, level: Level) -> Result<()> {
    let args = &request.args;
    let mut bytes = Vec::new();
    let timing = for_each(request, |input, options, outcome| {
        bytes.extend(compile::lower(input, level, options, outcome)?);
        Ok(())
    })?;
    match args.file() {
        Some(path) => output_file::write(path, &bytes)
            .map_err(|error| Error::user(format!("cannot write '{}': {error}", path.display())))?,
        None => to_stdout(&bytes)?,
    }
    if args.timing {
        report::timing(&timing);
    }
    Ok(())
}

/// Compiles all inputs to one bundle for each target; writes the bundles only after all inputs have compiled.
///
/// # Errors
///
/// As the compiler; or a bundle cannot be written.
pub fn bundles(request: &Request) -> Result<()> {
    let args = &request.args;
    if let Some(root) = &args.output {
        places::refuse_file(root)?;
    }
    let (bundles, timing) = compiled(request)?;
    if let Some(root) = &args.output {
        write_all(root, bundles.iter().map(|(_, bundle)| bundle))?;
        if args.verbose {
            let kernels: usize = bundles.iter().map(|(_, bundle)| bundle.cubins.len()).sum();
            output::note(format_args!("wrote '{}': {kernels} cubins", root.display()));
        }
    }
    if args.json {
        let manifests: Vec<_> = bundles.iter().map(|(_, bundle)| &bundle.manifest).collect();
        to_stdout(report::json(&manifests, args.timing.then_some(&timing))?.as_bytes())?;
    }
    if args.explain {
        let text: String = bundles
            .iter()
            .map(|(target, bundle)| explain(bundle, target))
            .collect();
        // With --json standard output is JSON alone.
        if args.json {
            output::message(text)
        } else {
            to_stdout(text.as_bytes())?
        }
    }
    if args.timing && !args.json {
        report::timing(&timing);
    }
    Ok(())
}

/// Compiles the input for all targets to an object file, with headers beside it.
///
/// # Errors
///
/// As the compiler; or the output is no file's name or cannot be written, a header is in the place of one to write, or the C compiler
/// fails.
pub fn object(request: &Request) -> Result<()> {
    let args = &request.args;
    let files = args.output.as_deref().map(ObjectFiles::at).transpose()?;
    if let Some(files) = &files {
        files
            .headers()
            .into_iter()
            .try_for_each(places::refuse_other_header)?;
    }
    let (bundles, timing) = compiled(request)?;
    if let Some(files) = &files {
        let visibility = args.visibility.unwrap_or_default();
        object::write(files, bundles.iter().map(|(_, bundle)| bundle), visibility)?;
    }
    if args.explain {
        let text = bundles.iter().map(|(target, bundle)| explain(bundle, target));
        to_stdout(text.collect::<String>().as_bytes())?;
    }
    if args.timing {
        report::timing(&timing);
    }
    Ok(())
}

/// Compiles all inputs to one bundle for each target.
fn compiled(request: &Request) -> Result<(Vec<(&'static Target, Bundle)>, Timing)> {
    let mut bundles: Vec<(&'static Target, Bundle)> = Vec::new();
    let assemblies = Assemblies::default();
    let timing = for_each(request, |input, options, outcome| {
        let bundle = compile::bundle(input, options, &assemblies, outcome)?;
        match bundles.iter_mut().find(|(target, _)| *target == options.target) {
            Some((_, earlier)) => earlier.merge(bundle)?,
            None => bundles.push((options.target, bundle)),
        }
        Ok(())
    })?;
    Ok((bundles, timing))
}

/// Calls `compile` for each input and target, prints its diagnostics and shows progress.
fn for_each(
    request: &Request,
    mut compile: impl FnMut(Input, &CompileOptions, &mut Outcome) -> Result<()>,
) -> Result<Timing> {
    let Request { inputs, from, args } = request;
    let progress = step_bar(args.target.len() * inputs.len());
    let mut timing = Timing::default();
    for target in &args.target {
        let options = CompileOptions {
            from: *from,
            ..args.options(target)
        };
        if args.verbose {
            let assembler = Assembler::locate(options.ptxas.as_deref(), target)?;
            output::note(format_args!(
                "{} assembles for {}",
                assembler.describe(),
                target.name
            ));
        }
        for input in inputs {
            progress.set_message(format!("{} for {}", input.name, target.name));
            let mut outcome = Outcome::default();
            let result = compile(
                Input {
                    name: &input.name,
                    text: &input.text,
                },
                &options,
                &mut outcome,
            );
            progress.suspend(|| match result.is_ok() && args.explains_on_stdout() {
                true => to_stdout(outcome.diagnostics.as_bytes()),
                false => {
                    output::diagnostics(&outcome.diagnostics);
                    Ok(())
                }
            })?;
            timing.merge(&outcome.timing);
            result?;
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Ok(timing)
}

/// A progress bar for terminals. A single compilation has none, because it is over at once.
pub fn step_bar(steps: usize) -> ProgressBar {
    if steps < 2 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps as u64);
    match ProgressStyle::with_template("{pos}/{len} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn to_stdout(bytes: &[u8]) -> Result<()> {
    output::report(bytes).map_err(|error| Error::user(error.to_string()))
}
