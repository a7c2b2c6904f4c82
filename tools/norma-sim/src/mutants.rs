//! Runs and judges every mutant of a function's kernels: which mutants are caught, and how.
//!
//! A mutant is caught by a finding of the simulator, by results that violate the definition, or by results that differ
//! between seeds. A mutant that survives is either equivalent to the original, or reveals a weakness of the simulator, of the
//! tolerance or of the inputs.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use norma_bundle::manifest::Kernel;
use norma_oracle::Fill;
use norma_oracle::memory::{self, Images};
use norma_oracle::problem::Problem;
use norma_oracle::verify::{Run as Ran, Sampling, Verification, verify};
use norma_simulator::mutation::{self, Concern, Mutation};
use norma_simulator::{Finding, Options};
use rayon::prelude::*;

use crate::bundle::Bundle;
use crate::error::Error;
use crate::judge::{Difference, Request, difference};
use crate::launch::launched;
use crate::run::{Run, fitting, run};

/// A mutant counts as endless after this many times the instructions of the original kernel.
const PATIENCE: u64 = 8;
/// The number of further seeds, for each fill, whose inputs surviving mutants run on: extremes and NaNs seldom lie where a
/// mutation matters.
const MORE_INPUTS: u64 = 12;
/// The minimum number of instructions after which a mutant counts as endless.
const FEWEST: u64 = 1 << 14;

/// How a mutant was caught.
#[derive(Clone, Debug, PartialEq)]
pub enum Caught {
    /// By an error of the simulator's.
    Finding(Box<Finding>),
    /// By its results; the text describes them.
    WrongResult(String),
    /// By results that differ between seeds.
    Difference(Difference),
}

/// How a mutant ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It was caught.
    Caught {
        /// The seed that showed it.
        seed: u64,
        /// How.
        how: Caught,
    },
    /// It was not caught.
    Survived {
        /// Whether all results equal the original's, bit for bit.
        same_bits: bool,
    },
}

/// A mutant and its verdict.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The kernel's symbol.
    pub kernel: String,
    /// The mutation.
    pub mutation: Mutation,
    /// How it ended.
    pub verdict: Verdict,
}

impl Mutant {
    /// Whether it was caught.
    pub fn is_caught(&self) -> bool {
        matches!(self.verdict, Verdict::Caught { .. })
    }
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finding(finding) => {
                write!(f, "{}: {}", finding.kind, finding.site)?;
                match &finding.site.location {
                    Some(location) => write!(f, " at {location}"),
                    None => Ok(()),
                }
            }
            Self::WrongResult(what) => f.write_str(what),
            Self::Difference(difference) => write!(f, "non-determinism: {difference}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught { how, .. } => how.fmt(f),
            Self::Survived { same_bits: true } => f.write_str("NOT CAUGHT, same results"),
            Self::Survived { same_bits: false } => {
                f.write_str("NOT CAUGHT, other results within the tolerance")
            }
        }
    }
}

/// Runs all mutants of the function of `problem` whose mutations belong to `concerns`, each until it is caught: under the
/// seeds of `request`, and then on inputs of all fills and of further seeds. `done` receives the number of finished mutants
/// and the total.
///
/// # Errors
/// A launch that a driver would refuse, a definition that cannot be evaluated, or a function that is wrong without mutation.
pub fn mutants(
    bundle: &Bundle,
    problem: &Problem<'_>,
    request: &Request,
    concerns: &[Concern],
    done: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<Mutant>, Error> {
    let first = Trial::new(bundle, problem, request)?.ok_or_else(|| {
        Error::Request(format!(
            "'{}' is wrong as it is: run it without --mutants",
            problem.function.name
        ))
    })?;
    let mut trials = vec![first];
    for number in 0..MORE_INPUTS {
        for fill in Fill::GENERAL {
            let request = Request {
                fill,
                seed: request.seed.wrapping_add(number),
                seeds: 1,
                ..request.clone()
            };
            // A function may legitimately fail on inputs that overflow; such inputs are skipped.
            trials.extend(Trial::new(bundle, problem, &request)?);
        }
    }
    let mut all: Vec<(&Kernel, Mutation)> = Vec::new();
    for kernel in launched(problem, bundle.target()?.part.sms)? {
        let program = bundle.program(kernel)?;
        if let Some(code) = program.kernel(&kernel.symbol) {
            let found = mutation::mutations(code, &program.sites).into_iter();
            let wanted = found.filter(|mutation| concerns.contains(&mutation.concern));
            all.extend(wanted.map(|mutation| (kernel, mutation)));
        }
    }
    let total = all.len() as u64;
    let ended = AtomicU64::new(0);
    all.into_par_iter()
        .map(|(kernel, mutation)| {
            let mutant = bundle.mutant(kernel, &mutation);
            let verdict = judge(&trials, &mutant)?;
            done(1 + ended.fetch_add(1, Ordering::Relaxed), total);
            Ok(Mutant {
                kernel: kernel.symbol.clone(),
                mutation,
                verdict,
            })
        })
        .collect()
}

/// Runs one trial after the other until the mutant is caught.
fn judge(trials: &[Trial<'_>], mutant: &Bundle) -> Result<Verdict, Error> {
    let mut same_bits = true;
    for trial in trials {
        match trial.judge(mutant)? {
            Verdict::Survived { same_bits: same } => same_bits &= same,
            caught @ Verdict::Caught { .. } => return Ok(caught),
        }
    }
    Ok(Verdict::Survived { same_bits })
}

/// Inputs for mutants, and the original function's results on them.
struct Trial<'a> {
    problem: &'a Problem<'a>,
    request: Request,
    inputs: Images,
    results: Images,
}

impl<'a> Trial<'a> {
    /// Runs the original function; returns `None` if it is wrong.
    fn new(bundle: &Bundle, problem: &'a Problem<'a>, request: &Request) -> Result<Option<Self>, Error> {
        fitting(problem, &request.options)?;
        let mut trial = Self {
            problem,
            request: request.clone(),
            inputs: memory::inputs(problem, request.fill, request.seed),
            results: Images::default(),
        };
        let run = trial.run(bundle, request.seed)?;
        if !run.findings.is_empty() || !trial.verify(&run)?.passed {
            return Ok(None);
        }
        trial.request.options.instruction_limit = (PATIENCE * run.thread_instructions).max(FEWEST);
        trial.results = run.images;
        Ok(Some(trial))
    }

    fn run(&self, bundle: &Bundle, seed: u64) -> Result<Run, Error> {
        let options = Options {
            seed,
            ..self.request.options.clone()
        };
        run(bundle, self.problem, &self.inputs, &options, &mut |_| ())
    }

    fn verify(&self, run: &Run) -> Result<Verification, Error> {
        let ran = Ran {
            before: &self.inputs,
            after: &run.images,
            again: None,
            workspaces: &run.workspaces,
        };
        let sampling = Sampling {
            rows: self.request.rows_checked,
            seed: self.request.seed,
        };
        Ok(verify(self.problem, ran, sampling)?)
    }

    fn judge(&self, mutant: &Bundle) -> Result<Verdict, Error> {
        let caught = |seed, how| Ok(Verdict::Caught { seed, how });
        let mut first: Option<Images> = None;
        for number in 0..self.request.seeds.max(1) {
            let seed = self.request.seed.wrapping_add(number);
            let mut run = self.run(mutant, seed)?;
            if !run.findings.is_empty() {
                return caught(seed, Caught::Finding(Box::new(run.findings.swap_remove(0))));
            }
            let Some(first) = &first else {
                let verification = self.verify(&run)?;
                if !verification.passed {
                    return caught(seed, Caught::WrongResult(describe(&verification)));
                }
                first = Some(run.images);
                continue;
            };
            let seeds = [self.request.seed, seed];
            if let Some(found) = difference(self.problem, first, &run.images, seeds) {
                return caught(seed, Caught::Difference(found));
            }
        }
        let same = |results: &Images| difference(self.problem, &self.results, results, [0, 0]).is_none();
        Ok(Verdict::Survived {
            same_bits: first.as_ref().is_some_and(same),
        })
    }
}

/// Describes the first error in the memory that a run left.
fn describe(verification: &Verification) -> String {
    let wrong = verification.outputs.iter().find(|output| output.wrong > 0);
    if let Some(output) = wrong {
        return format!(
            "wrong result: {} of {} of '{}'",
            output.wrong, output.checked, output.tensor
        );
    }
    let of = |tensors: &[String], what: &str| {
        tensors
            .first()
            .map(|tensor| format!("wrong result: '{tensor}' {what}"))
    };
    of(&verification.unwritten, "was not written everywhere")
        .or_else(|| of(&verification.stray_writes, "was written where it must not be"))
        .or_else(|| of(&verification.dirty_workspaces, "was not left zero"))
        .unwrap_or_else(|| "wrong result".to_owned())
}
