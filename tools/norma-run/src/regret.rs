//! Measures by how much the compiler's choice of a schedule is slower than the best of a sweep.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use norma_bundle::candidates::Candidates;
use norma_oracle::memory;
use norma_runtime::{Bundle, Device, Driver};
use serde::Serialize;

use crate::call::Loaded;
use crate::failure::Failure;
use crate::options::Options;
use crate::session::bind;
use crate::timing::{Rotation, Timing};

/// The results of a sweep.
#[derive(Clone, Debug, Serialize)]
pub struct Regret {
    /// The function that ran.
    pub function: String,
    /// The device it ran on.
    pub device: String,
    /// The sizes it ran with.
    pub sizes: BTreeMap<String, i64>,
    /// The time of the compiler's choice, and the schedules of its kernels.
    pub chosen: Timing,
    /// See [`Regret::chosen`].
    pub chosen_schedules: Vec<String>,
    /// The other schedules, fastest first.
    pub candidates: Vec<Timed>,
    /// The time of the choice relative to the fastest of all, minus 1; 0 if the choice is the fastest.
    pub regret: f64,
}

/// A schedule other than the compiler's choice.
#[derive(Clone, Debug, Serialize)]
pub struct Timed {
    /// The kernel whose schedule differs from the compiler's choice.
    pub kernel: String,
    /// That schedule.
    pub schedule: String,
    /// The fraction of a copy's bandwidth that the cost model expects of the kernel.
    pub expected_share: f64,
    /// Registers per thread of that kernel, and the bytes that it spills.
    pub registers: Option<u32>,
    /// See [`Timed::registers`].
    pub spill_bytes: Option<u32>,
    /// The measured time of a call.
    pub timing: Timing,
}

/// Times the bundles in a folder's list, on the same tensors.
///
/// # Errors
/// See [`Failure`].
pub fn run(options: &Options) -> Result<Regret, Failure> {
    let folder = options.bundle.as_deref().unwrap_or(Path::new("."));
    let list = Candidates::load(folder)?;
    let device = Device::open(&Driver::open()?, options.device)?;
    let open = |name: &str| -> Result<Bundle, Failure> {
        let mut bundle = Bundle::open(&folder.join(name))?;
        bundle.allow_ptx(options.allow_ptx);
        Ok(bundle)
    };
    let bundle = open(&list.chosen)?;
    let problem = bind(bundle.select(&device)?.target, &options.run)?;
    memory::check_room(&problem, false)?;
    let chosen = Loaded::new(&device, &bundle, &problem)?;
    let inputs = memory::inputs(&problem, options.run.fill, options.run.seed);
    let rotation = Rotation::new(&device, &problem, &inputs, chosen.bytes_moved)?;
    // A device is slower at first, and may be slower for a second in between. So all are timed twice, the second time in the opposite order,
    // and the faster time counts.
    rotation.time(&device, &chosen)?;
    let mut timing = rotation.time(&device, &chosen)?;

    let bundles = list.candidates.iter().map(|candidate| open(&candidate.folder));
    let bundles = bundles.collect::<Result<Vec<_>, _>>()?;
    let bound = bundles
        .iter()
        .map(|bundle| bind(bundle.select(&device)?.target, &options.run));
    let problems = bound.collect::<Result<Vec<_>, Failure>>()?;
    let load = |(bundle, problem)| Loaded::new(&device, bundle, problem);
    let others = bundles
        .iter()
        .zip(&problems)
        .map(load)
        .collect::<Result<Vec<_>, _>>()?;
    let mut candidates = Vec::with_capacity(list.candidates.len());
    for ((candidate, problem), other) in list.candidates.into_iter().zip(&problems).zip(&others) {
        let mut kernels = problem.function.kernels.iter();
        let kernel = kernels.find(|kernel| kernel.symbol == candidate.kernel);
        candidates.push(Timed {
            registers: kernel.and_then(|kernel| kernel.registers),
            spill_bytes: kernel.and_then(|kernel| kernel.spill_bytes),
            kernel: candidate.kernel,
            schedule: candidate.schedule,
            expected_share: candidate.expected_share,
            timing: rotation.time(&device, other)?,
        });
    }
    let again = candidates.iter_mut().map(|candidate| &mut candidate.timing);
    for (timing, other) in again.zip(&others).rev().chain([(&mut timing, &chosen)]) {
        let second = rotation.time(&device, other)?;
        if second.microseconds < timing.microseconds {
            *timing = second;
        }
    }
    candidates.sort_by(|a, b| a.timing.microseconds.total_cmp(&b.timing.microseconds));
    let schedules = problem.function.kernels.iter();
    let schedules = schedules.filter_map(|kernel| kernel.schedule.clone());
    Ok(Regret {
        function: problem.function.name.clone(),
        device: device.name.clone(),
        sizes: problem.sizes.clone(),
        regret: regret(&timing, candidates.first()),
        chosen: timing,
        chosen_schedules: schedules.collect(),
        candidates,
    })
}

fn regret(chosen: &Timing, best: Option<&Timed>) -> f64 {
    let best = best.map_or(f64::INFINITY, |best| best.timing.microseconds);
    (chosen.microseconds / best - 1.0).max(0.0)
}

impl fmt::Display for Regret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {}", self.function, self.device)?;
        let sizes = self.sizes.iter().map(|(name, value)| format!(" {name}={value}"));
        writeln!(f, "sizes  {}", sizes.collect::<String>())?;
        writeln!(
            f,
            "{:>10} {:>6} {:>9} {:>9}  schedule",
            "us", "GB/s", "expected", "registers"
        )?;
        let time =
            |timing: &Timing| format!("{:10.2} {:6.0}", timing.microseconds, timing.gigabytes_per_second);
        let schedules = self.chosen_schedules.join(", then ");
        writeln!(
            f,
            "{} {:>9} {:>9}  chosen: {schedules}",
            time(&self.chosen),
            "",
            ""
        )?;
        for candidate in &self.candidates {
            let registers = match (candidate.registers, candidate.spill_bytes) {
                (Some(registers), None | Some(0)) => registers.to_string(),
                (Some(registers), Some(_)) => format!("{registers} spilt"),
                (None, _) => String::new(),
            };
            let (expected, schedule) = (100.0 * candidate.expected_share, &candidate.schedule);
            writeln!(
                f,
                "{} {expected:8.0}% {registers:>9}  {schedule}",
                time(&candidate.timing)
            )?;
        }
        writeln!(f, "regret  {:.1}%", 100.0 * self.regret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(microseconds: f64) -> Timed {
        Timed {
            kernel: "k".into(),
            schedule: "#norm.schedule<spread = []>".into(),
            expected_share: 0.97,
            registers: Some(40),
            spill_bytes: Some(0),
            timing: Timing {
                microseconds,
                bytes: 1 << 20,
                gigabytes_per_second: (1 << 20) as f64 / microseconds / 1e3,
                calls: 1,
                copy_microseconds: None,
            },
        }
    }

    #[test]
    fn the_regret_is_what_the_fastest_saves() {
        let chosen = timed(11.0).timing;
        assert!((regret(&chosen, Some(&timed(10.0))) - 0.1).abs() < 1e-9);
        assert_eq!(regret(&chosen, Some(&timed(12.0))), 0.0);
        assert_eq!(regret(&chosen, None), 0.0);
    }

    #[test]
    fn the_table_has_a_line_for_each_schedule() {
        let found = Regret {
            function: "f".into(),
            device: "a GPU".into(),
            sizes: BTreeMap::from([("m".into(), 8)]),
            chosen: timed(11.0).timing,
            chosen_schedules: vec!["#norm.schedule<spread = []>".into()],
            candidates: vec![timed(10.0)],
            regret: 0.1,
        };
        let text = found.to_string();
        assert!(text.contains("regret  10.0%"), "{text}");
        assert!(
            text.contains("10.00    105       97%        40  #norm.schedule<spread = []>"),
            "{text}"
        );
    }
}
