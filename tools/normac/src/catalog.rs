//! `--catalog`: compiles a table of kernels, each to a bundle of its own, several at a time.
//!
//! A bundle records its provenance, so an existing bundle that is complete and has the same provenance is kept. Each bundle
//! is written completely or not at all: an interrupted run loses only the bundles that it was compiling, and two concurrent
//! runs merely do work twice. A failure does not keep other bundles from being compiled. PTX that bundles have in common is
//! assembled once. Once all bundles of a kernel are there, those for targets that the table does not have are removed, because launchers
//! would take them, unless the targets are the command line's, so that a run for each target may fill one folder; bundles of kernels that
//! the table does not have are only told, because they may be another table's.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use indicatif::{ParallelProgressIterator, ProgressBar, ProgressStyle};
use norma_bundle::Manifest;
use norma_bundle::manifest::FILE_NAME;
use norma_command_line::output;
use norma_compiler::bundle::{check_place, retire};
use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::emit::Assemblies;
use norma_compiler::target::TARGETS;
use norma_compiler::timing::Timing;
use norma_compiler::{Error, Result, provenance};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::args::Args;
use crate::input::InputText;
use crate::{places, report};
use table::Unit;

/// The stack size of a compiling thread: that of a process's main thread on Linux, because the input determines the depth of
/// nesting.
const STACK_BYTES: usize = 8 << 20;

/// The outcome for a bundle of the table.
enum Made {
    /// It was compiled.
    Compiled,
    /// An up-to-date bundle existed.
    UpToDate,
    /// It could not be compiled.
    Failed(Error),
}

/// A finished bundle: its outcome, its diagnostics and its timing.
struct Finished<'u> {
    unit: &'u Unit,
    made: Made,
    outcome: Outcome,
}

/// Compiles a catalog; reports all failures at the end. `has_target` is whether the command line has a target.
///
/// # Errors
///
/// The table cannot be read, contains a setting for something that its op does not have, or has no use for the command line's target; or
/// an old bundle cannot be removed.
pub fn run(path: &Path, args: &Args, has_target: bool) -> Result<ExitCode> {
    let start = Instant::now();
    let root = args
        .compile
        .output
        .as_deref()
        .ok_or_else(|| Error::internal("expected an output for a catalog"))?;
    places::refuse_file(root)?;
    let text = InputText::read(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let units = table::units(&text, folder, &args.compile, has_target)?;
    let pool = ThreadPoolBuilder::new()
        .num_threads(args.jobs.map_or(0, usize::from))
        .stack_size(STACK_BYTES)
        .build()
        .map_err(|error| Error::user(format!("cannot start threads: {error}")))?;
    let bar = ProgressBar::new(units.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{pos}/{len} {wide_bar} {eta} left") {
        bar.set_style(style);
    }
    let assemblies = Assemblies::default();
    let finished: Vec<Finished> = pool.install(|| {
        let units = units.par_iter().progress_with(bar.clone());
        units.map(|unit| finish(unit, root, &assemblies)).collect()
    });
    bar.finish_and_clear();
    let targets = targets_by_name(&units);
    let removed = match has_target {
        true => Ok(()),
        false => remove_other_targets(root, &targets, &failed_names(&finished)),
    };
    tell_others(root, &targets);
    let code = conclude(&finished, start.elapsed().as_secs_f64(), args.compile.timing);
    removed.map(|()| code)
}

/// The targets of each kernel, by the names of their folders.
fn targets_by_name(units: &[Unit]) -> BTreeMap<&str, BTreeSet<&'static str>> {
    let mut targets = BTreeMap::<&str, BTreeSet<&'static str>>::new();
    for unit in units {
        let of_name = targets.entry(&unit.name).or_default();
        of_name.insert(unit.options.target.name);
    }
    targets
}

/// The kernels of which a bundle could not be compiled.
fn failed_names<'u>(finished: &[Finished<'u>]) -> BTreeSet<&'u str> {
    let failed = finished
        .iter()
        .filter(|finished| matches!(finished.made, Made::Failed(_)));
    failed.map(|finished| finished.unit.name.as_str()).collect()
}

/// Removes the bundles of each kernel for targets that it has no more, unless the kernel is in `kept`.
fn remove_other_targets(
    root: &Path,
    targets: &BTreeMap<&str, BTreeSet<&'static str>>,
    kept: &BTreeSet<&str>,
) -> Result<()> {
    for (name, wanted) in targets.iter().filter(|(name, _)| !kept.contains(*name)) {
        let others = TARGETS.iter().filter(|target| !wanted.contains(target.name));
        let folders = others.map(|target| root.join(name).join(target.name));
        for folder in folders {
            if !retire(&folder)? {
                continue;
            }
            output::note(format_args!(
                "removed '{}': '{name}' is not compiled for this target any more",
                folder.display()
            ));
        }
    }
    Ok(())
}

/// Tells which folders have bundles of a catalog that the table has no kernel for.
fn tell_others(root: &Path, targets: &BTreeMap<&str, BTreeSet<&'static str>>) {
    let has_bundles = |folder: &Path| {
        let mut folders = TARGETS.iter().map(|target| folder.join(target.name));
        folders.any(|folder| folder.join(FILE_NAME).exists())
    };
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let others = entries.filter(|entry| has_bundles(&entry.path()));
    let names = others.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| !targets.contains_key(name.as_str()))
        .collect();
    names.sort();
    if !names.is_empty() {
        output::note(format_args!(
            "the table has no kernel for these bundles in '{}': {}",
            root.display(),
            names.join(", ")
        ));
    }
}

/// The folder of a bundle: a subfolder for its target in the folder of its name, where launchers look for their device's
/// target.
fn folder(root: &Path, unit: &Unit) -> PathBuf {
    root.join(&unit.name).join(unit.options.target.name)
}

fn finish<'u>(unit: &'u Unit, root: &Path, assemblies: &Assemblies) -> Finished<'u> {
    let mut outcome = Outcome::default();
    let made = make(unit, &folder(root, unit), assemblies, &mut outcome).unwrap_or_else(Made::Failed);
    Finished { unit, made, outcome }
}

fn make(unit: &Unit, folder: &Path, assemblies: &Assemblies, outcome: &mut Outcome) -> Result<Made> {
    let input = Input {
        name: &unit.source,
        text: &unit.text,
    };
    let of_name = folder.parent().unwrap_or(folder);
    let made = match is_up_to_date(input, unit, folder)? {
        true => Made::UpToDate,
        false => {
            check_place(of_name)?;
            check_place(folder)?;
            let bundle = compile::bundle(input, &unit.options, assemblies, outcome)?;
            outcome.timing.measure("write", || bundle.write(folder))?;
            Made::Compiled
        }
    };
    // A launcher would prefer a bundle for one target that an earlier run left here.
    retire(of_name)?;
    Ok(made)
}

/// Whether the folder holds the bundle that would be compiled: its provenance is the same, and all its files are complete.
fn is_up_to_date(input: Input, unit: &Unit, folder: &Path) -> Result<bool> {
    let Ok(manifest) = Manifest::load(folder) else {
        return Ok(false);
    };
    let provenance = provenance::of(input, &unit.options)?;
    let is_of_it =
        |function: &norma_bundle::manifest::Function| function.provenance.as_ref() == Some(&provenance);
    Ok(!manifest.functions.is_empty()
        && manifest.functions.iter().all(is_of_it)
        && norma_compiler::bundle::is_whole(folder, &manifest))
}

/// Reports diagnostics and failures, prints a summary, and returns the exit status of the worst failure.
fn conclude(finished: &[Finished], seconds: f64, tells_times: bool) -> ExitCode {
    let (mut compiled, mut up_to_date) = (0_usize, 0_usize);
    let mut failures = Vec::new();
    let mut timing = Timing::default();
    for Finished { unit, made, outcome } in finished {
        output::diagnostics(&outcome.diagnostics);
        timing.merge(&outcome.timing);
        match made {
            Made::Compiled => compiled += 1,
            Made::UpToDate => up_to_date += 1,
            Made::Failed(error) => {
                // The diagnostics of an op by name have places in a text that the compiler wrote.
                output::error(format_args!(
                    "{}: '{}' for {}: {error}",
                    unit.entry, unit.name, unit.options.target.name
                ));
                report::notes(error);
                failures.push(error);
            }
        }
    }
    if tells_times {
        report::timing(&timing);
    }
    output::message(format_args!(
        "{compiled} compiled, {up_to_date} up to date, {} failed in {seconds:.1} s\n",
        failures.len()
    ));
    match failures
        .iter()
        .max_by_key(|error| error.kind() == norma_compiler::Kind::Internal)
    {
        Some(worst) => report::exit_code(worst),
        None => ExitCode::SUCCESS,
    }
}
