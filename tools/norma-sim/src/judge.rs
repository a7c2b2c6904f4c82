//! Runs a function under several seeds and judges it: the simulator's findings, whether all runs gave the same bits, and
//! whether the results are those that the definition asks for.

use std::fmt;

use norma_oracle::memory::{self, Images};
use norma_oracle::problem::Problem;
use norma_oracle::sharded::ShardedProblem;
use norma_oracle::verify::{Run as Ran, Sampling, verify};
use norma_oracle::{Fill, Verification};
use norma_simulator::{Finding, Options, Progress};

use crate::bundle::Bundle;
use crate::error::Error;
use crate::run::{Run, fitting, run};
use crate::traffic::KernelTraffic;

/// The settings of the runs.
#[derive(Clone, Debug)]
pub struct Request {
    /// How the inputs are filled.
    pub fill: Fill,
    /// The seed of the inputs, and of the first run.
    pub seed: u64,
    /// The number of runs, under this and the following seeds.
    pub seeds: u64,
    /// The most rows of a large result that are compared; 0 for all.
    pub rows_checked: usize,
    /// The simulator's options; their seed is not used.
    pub options: Options,
}

impl Request {
    fn sampling(&self) -> Sampling {
        Sampling {
            rows: self.rows_checked,
            seed: self.seed,
        }
    }

    /// Whether the results of a run are compared with the definition: only those of the first run, and only if it has no
    /// findings.
    fn compares(&self, options: &Options, run: &Run) -> bool {
        options.seed == self.seed && run.findings.is_empty()
    }
}

/// An element whose bits differ between two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The tensor.
    pub tensor: String,
    /// The element's offset in the tensor's memory, in elements.
    pub element: usize,
    /// The seeds of the runs.
    pub seeds: [u64; 2],
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = self.seeds;
        write!(
            f,
            "element {} of '{}' has other bits under seed {other} than under seed {one}",
            self.element, self.tensor
        )
    }
}

/// The result of judging a function.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// The errors of the kernels, without duplicates, each with the seed that first showed it.
    pub findings: Vec<(u64, Finding)>,
    /// How the results of the first run compare with the definition; absent if the simulator has findings.
    pub verification: Option<Verification>,
    /// The first difference between the results of two runs.
    pub difference: Option<Difference>,
    /// All tensors after the first run.
    pub images: Images,
    /// The number of seeds that were run.
    pub seeds: u64,
    /// Instructions times the threads that executed them, summed over all runs.
    pub thread_instructions: u64,
    /// Bank conflicts and coalescing of each kernel in the first run, if asked for.
    pub traffic: Vec<KernelTraffic>,
}

impl Judgement {
    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        self.findings.is_empty()
            && self.difference.is_none()
            && self.verification.as_ref().is_none_or(|found| found.passed)
    }
}

/// Runs the function of `problem` under each seed, and reports to `progress` the seed's number and the progress of its run.
///
/// # Errors
/// A launch that a driver would refuse, or a definition that cannot be evaluated.
pub fn judge(
    bundle: &Bundle,
    problem: &Problem<'_>,
    request: &Request,
    progress: &mut dyn FnMut(u64, Progress),
) -> Result<Judgement, Error> {
    under_seeds(problem, request, progress, |inputs, options, tell| {
        let run = run(bundle, problem, inputs, options, tell)?;
        let judged = |run: &Run| {
            let ran = Ran {
                before: inputs,
                after: &run.images,
                again: None,
                workspaces: &run.workspaces,
            };
            Ok(verify(problem, ran, request.sampling())?)
        };
        let verification = request.compares(options, &run).then(|| judged(&run));
        Ok((run, verification))
    })
}

/// Runs a sharded function under each seed, like [`judge`]; its devices are simulated one after the other.
///
/// # Errors
/// As [`judge`].
pub fn judge_sharded(
    bundle: &Bundle,
    problem: &ShardedProblem<'_>,
    request: &Request,
    progress: &mut dyn FnMut(u64, Progress),
) -> Result<Judgement, Error> {
    under_seeds(&problem.whole, request, progress, |inputs, options, tell| {
        let mut all = Run::default();
        let mut dirty = Vec::new();
        // `None` as an error means that a device's run has findings, after which no other run follows.
        let left = problem.run(inputs, |own, before, device| {
            let run = run(bundle, own, before, options, tell).map_err(Some)?;
            all.thread_instructions += run.thread_instructions;
            all.traffic.extend(run.traffic);
            all.findings = run.findings;
            dirty.extend(run.workspaces.iter().filter_map(|(name, bytes)| {
                let function = &own.function.name;
                let is_dirty = bytes.iter().any(|byte| *byte != 0);
                is_dirty.then(|| {
                    format!("workspace '{name}' was not left zero by '{function}' on device {device}")
                })
            }));
            match all.findings.is_empty() {
                true => Ok(run.images),
                false => Err(None),
            }
        });
        match left {
            Ok(mut left) => {
                left.faults.extend(dirty);
                let judged = || Ok(problem.verify(inputs, &left, None, request.sampling())?);
                let verification = request.compares(options, &all).then(judged);
                all.images = left.images;
                Ok((all, verification))
            }
            Err(Some(error)) => Err(error),
            Err(None) => Ok((all, None)),
        }
    })
}

/// A run, and the comparison of its results with the definition, if they are compared.
type Judged = (Run, Option<Result<Verification, Error>>);

/// Calls `once` for each seed, on the inputs of `problem`, if its tensors fit in [`Options::byte_limit`].
fn under_seeds(
    problem: &Problem<'_>,
    request: &Request,
    progress: &mut dyn FnMut(u64, Progress),
    mut once: impl FnMut(&Images, &Options, &mut dyn FnMut(Progress)) -> Result<Judged, Error>,
) -> Result<Judgement, Error> {
    fitting(problem, &request.options)?;
    let inputs = memory::inputs(problem, request.fill, request.seed);
    let mut judgement = Judgement::default();
    for number in 0..request.seeds.max(1) {
        let seed = request.seed.wrapping_add(number);
        let options = Options {
            seed,
            ..request.options.clone()
        };
        let (run, verification) = once(&inputs, &options, &mut |at| progress(number, at))?;
        judgement.seeds += 1;
        judgement.thread_instructions += run.thread_instructions;
        for finding in run.findings {
            let known =
                |(_, other): &(u64, Finding)| other.kind == finding.kind && other.site == finding.site;
            if !judgement.findings.iter().any(known) {
                judgement.findings.push((seed, finding));
            }
        }
        match number {
            0 => {
                judgement.verification = verification.transpose()?;
                judgement.traffic = run.traffic;
                judgement.images = run.images;
            }
            _ if judgement.difference.is_none() && judgement.findings.is_empty() => {
                let seeds = [request.seed, seed];
                judgement.difference = difference(problem, &judgement.images, &run.images, seeds);
            }
            _ => {}
        }
    }
    // Sort by rank, because a later seed may have shown the root cause.
    judgement.findings.sort_by_key(|(_, finding)| finding.kind.rank());
    Ok(judgement)
}

/// The first element in which two runs differ.
pub(crate) fn difference(
    problem: &Problem<'_>,
    one: &Images,
    other: &Images,
    seeds: [u64; 2],
) -> Option<Difference> {
    problem.function.outputs.iter().find_map(|tensor| {
        let (one, other) = (one.get(&tensor.name)?.body(), other.get(&tensor.name)?.body());
        let byte = one.iter().zip(other).position(|(one, other)| one != other)?;
        Some(Difference {
            tensor: tensor.name.clone(),
            element: byte / tensor.dtype.bytes(),
            seeds,
        })
    })
}
