//! Compiles, simulates and judges a case.

use std::collections::BTreeSet;

use std::collections::BTreeMap;

use norma_bundle::Manifest;
use norma_bundle::expression::Expression;
use norma_bundle::manifest::Function;
use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::target::SM_90A;
use norma_compiler::{CompileOptions, Kind, Level};
use norma_oracle::Problem;
use norma_sim::judge::judge;
use norma_sim::{Bundle, Error, Judgement};

use crate::case::{Layout, Program, Run};
use crate::trial::Trial;

/// Bytes of simulated memory: slightly more than the case with the largest offsets needs.
const MEMORY: u64 = 3 << 30;

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The stage it reached.
    pub stage: Stage,
    /// The description of what happened, one line or more.
    pub why: String,
}

/// Where a case stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The compiler reports the program as unsupported, which is not an error.
    Unsupported,
    /// The program does not compile.
    Compile,
    /// It compiled, but the launcher refuses the run.
    Refused,
    /// It ran.
    Run,
}

impl Failure {
    fn new(why: String) -> Self {
        Self {
            stage: Stage::Run,
            why,
        }
    }
}

/// The sizes and strides that a case ran with, for a command line that repeats it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bindings {
    /// The sizes, by name.
    pub sizes: BTreeMap<String, i64>,
    /// The strides, by name.
    pub strides: BTreeMap<String, i64>,
}

/// Compiles a trial's program.
///
/// # Errors
/// The compiler's diagnostics.
pub fn compile(trial: &Trial) -> Result<Bundle, Failure> {
    let mut outcome = Outcome::default();
    let text = trial.text();
    let input = Input {
        name: "case.mlir",
        text: &text,
    };
    Bundle::compile(input, &trial.options(), &mut outcome).map_err(|error| {
        let unsupported = match &error {
            Error::Compile(error) => {
                error.kind() == Kind::Unsupported || outcome.diagnostics.contains("error: unsupported: ")
            }
            _ => false,
        };
        Failure {
            stage: match unsupported {
                true => Stage::Unsupported,
                false => Stage::Compile,
            },
            why: format!("{}{error}", outcome.diagnostics),
        }
    })
}

/// A trial's module at level `nvvm`, and the manifest with the definitions of its functions.
///
/// # Errors
/// The compiler's diagnostics.
pub fn module(trial: &Trial) -> Result<(String, Manifest), Failure> {
    let definition = compile(trial)?.manifest;
    let text = trial.text();
    let input = Input {
        name: "case.mlir",
        text: &text,
    };
    let lowered = compile::lower(input, Level::Nvvm, &trial.options(), &mut Outcome::default());
    let lowered = lowered.map_err(|error| refused(error.into()))?;
    Ok((String::from_utf8_lossy(&lowered).into_owned(), definition))
}

/// A bundle from the text of a module at level `nvvm`, with the definitions of another manifest.
///
/// # Errors
/// The compiler's diagnostics.
pub fn from_module(text: &str, definition: &Manifest) -> Result<Bundle, Failure> {
    let input = Input {
        name: "case.mlir",
        text,
    };
    let options = CompileOptions {
        from: Level::Nvvm,
        ..CompileOptions::new(&SM_90A)
    };
    let mut bundle = Bundle::compile(input, &options, &mut Outcome::default()).map_err(refused)?;
    let functions = bundle.manifest.functions.iter();
    let names: Vec<String> = functions.map(|function| function.name.clone()).collect();
    for name in &names {
        bundle.define_by(name, definition).map_err(refused)?;
    }
    Ok(bundle)
}

/// The sizes and strides that a run over rows binds. A size that only outputs have and that is not a number of rows, as of
/// blocks of rows, is left open: it defaults to the least that the kernels accept.
pub fn bindings(function: &Function, program: &Program, run: &Run) -> Bindings {
    let inputs = function.inputs.iter().flat_map(|input| &input.shape);
    let of_inputs: BTreeSet<&str> = inputs.flat_map(Expression::symbols).collect();
    let least = function.least_sizes(&|name| of_inputs.contains(name).then_some(run.rows));
    let sizes = function.size_symbols().into_iter();
    let sizes = sizes.filter(|name| !least.contains_key(name));
    let mut bindings = Bindings {
        sizes: sizes.map(|name| (name.to_owned(), run.rows)).collect(),
        ..Bindings::default()
    };
    let row = program.row() * program.heads;
    let (axis, stride) = match program.layout {
        Layout::Dense | Layout::Broadcast => return bindings,
        Layout::Padded(gap) => (0, row + gap),
        Layout::Transposed => (1, run.rows + 1),
    };
    let strides = function
        .tensor("x")
        .map(|x| x.strides.as_slice())
        .unwrap_or_default();
    if let Some(Expression::Symbol(name)) = strides.get(axis) {
        bindings.strides.insert(name.clone(), stride);
    }
    bindings
}

/// Runs a compiled program.
///
/// # Errors
/// The findings of the simulator, or the description of wrong results.
pub fn run(bundle: &Bundle, trial: &Trial) -> Result<Judgement, Failure> {
    let options = norma_simulator::Options {
        byte_limit: MEMORY,
        ..norma_simulator::Options::default()
    };
    let (_, judgement) = judge_with(bundle, trial, options)?;
    match judgement.passed() {
        true => Ok(judgement),
        false => Err(Failure::new(describe(&judgement))),
    }
}

/// Runs a compiled program with the given options, and returns the result whether it is right or not.
///
/// # Errors
/// A program that cannot be run.
pub fn judge_with<'a>(
    bundle: &'a Bundle,
    trial: &Trial,
    options: norma_simulator::Options,
) -> Result<(Problem<'a>, Judgement), Failure> {
    let problem = problem(bundle, trial)?;
    let request = trial.request(options);
    let judgement = judge(bundle, &problem, &request, &mut |_, _| ()).map_err(refused)?;
    Ok((problem, judgement))
}

/// A compiled program with its sizes bound.
///
/// # Errors
/// A bundle that does not hold the case's function.
pub fn problem<'a>(bundle: &'a Bundle, trial: &Trial) -> Result<Problem<'a>, Failure> {
    let function = bundle
        .manifest
        .function(Some(&trial.function()))
        .map_err(|error| Failure::new(format!("cannot be run: {error}")))?;
    if function.definition.is_none() {
        return Err(Failure::new("the function has no definition".to_owned()));
    }
    let Bindings { sizes, strides } = trial.bindings(function);
    Problem::new(function, sizes, strides, BTreeMap::new()).map_err(|error| refused(error.into()))
}

/// The failure of a program that cannot be run.
pub fn refused(error: Error) -> Failure {
    Failure {
        stage: Stage::Refused,
        why: format!("cannot be run: {error}"),
    }
}

/// Compiles a trial and runs it.
///
/// # Errors
/// As [`compile`] and [`run`].
pub fn check(trial: &Trial) -> Result<(), Failure> {
    let bundle = compile(trial)?;
    run(&bundle, trial).map(drop)
}

fn describe(judgement: &Judgement) -> String {
    let mut lines: Vec<String> = judgement
        .findings
        .iter()
        .map(|(_, finding)| finding.to_string())
        .collect();
    lines.extend(judgement.difference.iter().map(ToString::to_string));
    if let Some(verification) = judgement.verification.iter().find(|found| !found.passed) {
        lines.push(verification.to_string());
    }
    lines.join("\n")
}
