//! How long each stage of a compilation took.

use std::time::{Duration, Instant};

/// Wall-clock times of stages, in the order they ran.
#[derive(Debug, Clone, Default)]
pub struct Timing {
    stages: Vec<(&'static str, Duration)>,
}

impl Timing {
    /// Runs a stage and adds its time to that of an earlier one of the same name.
    pub fn measure<T>(&mut self, stage: &'static str, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = run();
        self.add(stage, start.elapsed());
        result
    }

    /// Adds another compilation's times.
    pub fn merge(&mut self, other: &Self) {
        for (stage, time) in &other.stages {
            self.add(stage, *time);
        }
    }

    /// The stages, in order of their first run.
    pub fn stages(&self) -> &[(&'static str, Duration)] {
        &self.stages
    }

    fn add(&mut self, stage: &'static str, time: Duration) {
        match self.stages.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, total)) => *total += time,
            None => self.stages.push((stage, time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_runs_twice_is_listed_once() {
        let mut timing = Timing::default();
        timing.measure("parse", || ());
        timing.measure("assemble", || ());
        timing.measure("parse", || ());
        let names: Vec<_> = timing.stages().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["parse", "assemble"]);
    }
}
