//! Executes a launch: clusters of CTAs of warps, instruction by instruction.
//!
//! A few clusters are resident at a time. Each turn one warp that can run is picked and executes instructions until it
//! waits, ends, or has had its share; between turns pieces of copies land. The seed decides everything that hardware
//! leaves open ([`schedule`]).

mod access;
mod atomic;
mod barrier;
mod cluster;
mod compute;
mod copies;
mod end;
mod exchange;
mod findings;
mod load_store;
mod mbarriers;
mod ordering;
mod report;
mod schedule;
mod start;
mod step;
mod thread;
mod undefined;
mod warp;

use std::collections::{HashMap, HashSet};

use crate::finding::Finding;
use crate::launch::Launch;
use crate::memory::Memory;
use crate::options::Options;
use crate::program::{Kernel, Program, Site, SiteId};
use crate::traffic::Traffic;
use cluster::Cluster;
use findings::Findings;
use ordering::Passed;
use schedule::{Landing, Schedule, WarpOrder};
pub use start::LaunchError;
use undefined::Flows;

/// The results of a run, besides the memory as the kernel left it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What is wrong with the kernel; empty for a right one.
    pub findings: Vec<Finding>,
    /// Executed instructions, counted once for each thread.
    pub thread_instructions: u64,
    /// Executed instructions, counted once for each group of converged threads.
    pub warp_instructions: u64,
    /// Bank conflicts and coalescing by site, if asked for.
    pub traffic: Traffic,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// CTAs that have ended.
    pub done: u64,
    /// CTAs of the grid.
    pub total: u64,
}

/// Executes `launch` on `memory`, calling `progress` each time a cluster has ended.
///
/// The run stops early once it cannot go on, or has [`Options::finding_limit`] distinct findings.
///
/// # Errors
/// A launch that a driver would refuse: no such kernel, a shape that the kernel was not compiled for, wrong arguments.
pub fn run(
    program: &Program,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, LaunchError> {
    let kernel = start::check(program, launch, memory, options)?;
    if launch.grid.contains(&0) {
        return Ok(Outcome::default());
    }
    let mut machine = Machine::new(kernel, &program.sites, launch, memory, options);
    machine.run(progress);
    Ok(Outcome {
        findings: machine.findings.into_vec(),
        thread_instructions: machine.thread_instructions,
        warp_instructions: machine.warp_instructions,
        traffic: machine.traffic,
    })
}

/// Number of warp instructions after which copies land although warps can still run, as these may be polling for them.
const LANDING_PATIENCE: u64 = 1 << 13;
/// Number of warp instructions after which any ready warp may be picked, whatever order the schedule prefers.
const FAIRNESS: u64 = 1 << 11;
/// The instruction limit divided by this is the number of warp instructions after which more clusters are admitted, as
/// the resident ones may be polling for what others do.
const ADMISSION_PATIENCE: u64 = 256;

/// A warp's place among the resident ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At {
    cluster: usize,
    cta: usize,
    warp: usize,
}

struct Machine<'a> {
    kernel: &'a Kernel,
    sites: &'a [Site],
    launch: &'a Launch,
    memory: &'a mut Memory,
    options: &'a Options,
    schedule: Schedule,
    findings: Findings,
    traffic: Traffic,
    flows: Flows,
    /// The `try_wait` instructions that have given up already: each does so once in every run.
    gave_up: HashSet<SiteId>,
    clusters: Vec<Cluster>,
    /// Clusters admitted so far, and `total`, the clusters of the grid.
    admitted: u64,
    total: u64,
    /// The number of the warp that ran last, behind which a round-robin search begins.
    cursor: usize,
    /// What strong operations have released at a memory location, by its (memory, offset).
    locations: HashMap<(u64, u64), Passed>,
    thread_instructions: u64,
    warp_instructions: u64,
    /// The value of `warp_instructions` when `lose_patience` last landed copies, and when it last admitted clusters.
    landed_at: u64,
    admitted_at: u64,
    /// The value of `warp_instructions` when a warp was last picked regardless of the order that the schedule prefers.
    fair_at: u64,
}

impl<'a> Machine<'a> {
    fn new(
        kernel: &'a Kernel,
        sites: &'a [Site],
        launch: &'a Launch,
        memory: &'a mut Memory,
        options: &'a Options,
    ) -> Self {
        let count = |shape: [u32; 3]| shape.iter().map(|extent| u64::from(*extent)).product::<u64>();
        let total = count(launch.grid) / count(launch.cluster);
        Self {
            kernel,
            sites,
            launch,
            memory,
            options,
            schedule: Schedule::new(options.seed, total),
            findings: Findings::new(options.finding_limit),
            traffic: Traffic::default(),
            flows: Flows::of(kernel),
            gave_up: HashSet::new(),
            clusters: Vec::new(),
            admitted: 0,
            total,
            cursor: 0,
            locations: HashMap::new(),
            thread_instructions: 0,
            warp_instructions: 0,
            landed_at: 0,
            admitted_at: 0,
            fair_at: 0,
        }
    }

    fn run(&mut self, progress: &mut dyn FnMut(Progress)) {
        let per_cluster = self
            .launch
            .cluster
            .iter()
            .map(|extent| u64::from(*extent))
            .product::<u64>();
        let resident = u64::from(self.options.resident_clusters.max(1)) as usize;
        while !self.findings.is_over() {
            while self.clusters.len() < resident && self.admitted < self.total {
                self.admit();
            }
            let before = self.clusters.len();
            self.clusters.retain(|cluster| !cluster.is_done());
            if self.clusters.len() < before {
                let done = (self.admitted - self.clusters.len() as u64) * per_cluster;
                let total = self.total * per_cluster;
                progress(Progress { done, total });
                continue;
            }
            if self.clusters.is_empty() {
                return;
            }
            if self.schedule.landing == Landing::Random && self.schedule.choices.once_in(3) {
                self.land_any();
            }
            self.lose_patience();
            match self.pick() {
                Some(at) => self.run_warp(at),
                None if self.land_any() => {}
                // Resident clusters may wait for others, which hardware would have made resident beside them.
                None if self.admitted < self.total => self.admit(),
                None => {
                    self.report_stuck();
                    return;
                }
            }
        }
    }

    /// Brings about, after a while, what warps may be polling for: lands copies, and admits more clusters, up to one
    /// for each multiprocessor.
    fn lose_patience(&mut self) {
        if self.warp_instructions - self.landed_at > LANDING_PATIENCE {
            self.landed_at = self.warp_instructions;
            (0..self.clusters.len()).for_each(|cluster| self.land_all(cluster));
        }
        let patience = self.options.instruction_limit / ADMISSION_PATIENCE;
        if self.warp_instructions - self.admitted_at > patience {
            self.admitted_at = self.warp_instructions;
            let room = (self.options.target.part.sms as usize).saturating_sub(self.clusters.len());
            let more = (self.total - self.admitted).min(self.clusters.len().min(room) as u64);
            (0..more).for_each(|_| self.admit());
        }
    }

    /// Picks the warp that runs next, if any is ready.
    fn pick(&mut self) -> Option<At> {
        let warps: usize = self
            .clusters
            .iter()
            .flat_map(|cluster| &cluster.ctas)
            .map(|cta| cta.warps.len())
            .sum();
        // Now and then a warp is picked out of order, so that a polling warp does not starve the one it waits for.
        let is_fair = self.warp_instructions - self.fair_at > FAIRNESS || self.schedule.choices.once_in(16);
        if is_fair {
            self.fair_at = self.warp_instructions;
        }
        let start = match self.schedule.order {
            WarpOrder::RoundRobin => self.cursor + 1,
            order if is_fair || order == WarpOrder::Random => {
                self.schedule.choices.below(warps as u64) as usize
            }
            WarpOrder::HighestFirst => warps - 1,
            _ => 0,
        };
        let step = if self.schedule.order == WarpOrder::HighestFirst {
            warps - 1
        } else {
            1
        };
        let mut index = start % warps;
        for _ in 0..warps {
            if let Some(at) = self
                .locate(index)
                .filter(|at| self.clusters[at.cluster].ctas[at.cta].warps[at.warp].is_ready())
            {
                self.cursor = index;
                return Some(at);
            }
            index = (index + step) % warps;
        }
        None
    }

    /// The place of a warp by its number among all resident ones.
    fn locate(&self, mut index: usize) -> Option<At> {
        for (c, cluster) in self.clusters.iter().enumerate() {
            for (k, cta) in cluster.ctas.iter().enumerate() {
                if index < cta.warps.len() {
                    return Some(At {
                        cluster: c,
                        cta: k,
                        warp: index,
                    });
                }
                index -= cta.warps.len();
            }
        }
        None
    }
}
