//! The start of a launch and of each cluster: checks for what a driver would refuse, and the initial state.

use std::collections::HashMap;

use norma_targets::{LARGEST_GRID, REGISTER_UNIT, THREADS_PER_CTA};
use thiserror::Error;

use super::Machine;
use super::cluster::{BARRIERS, Barrier, Cluster, ClusterBarrier, Cta};
use super::thread::Thread;
use super::undefined::Undefined;
use super::warp::{LANES, Warp};
use crate::address::{PARAMETER_STRIDE, PARAMETERS};
use crate::launch::{Argument, Launch};
use crate::mbarrier::Mbarriers;
use crate::memory::{Memory, SharedMemory};
use crate::options::Options;
use crate::program::{Kernel, ParameterKind, Program};
use crate::race::Clock;

/// The product of a shape's extents, or the largest number where it is beyond that.
fn count(shape: [u32; 3]) -> u64 {
    let extents = shape.iter().map(|extent| u64::from(*extent));
    extents.fold(1, u64::saturating_mul)
}

/// Why a launch is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LaunchError {
    /// There is no such kernel.
    #[error("no kernel is called '{0}'")]
    NoKernel(String),
    /// The kernel was compiled for another shape.
    #[error("expected {what} of {expected:?}, as kernel '{kernel}' was compiled for, got {actual:?}")]
    Shape {
        /// The kernel.
        kernel: String,
        /// Whether it is the shape of a block or of a cluster.
        what: &'static str,
        /// The shape that it was compiled for.
        expected: [u32; 3],
        /// The shape of the launch.
        actual: [u32; 3],
    },
    /// A shape or size that no device takes.
    #[error("{0}")]
    Limit(String),
    /// More CTAs than a run may have.
    #[error("expected at most {limit} CTAs in a run, got {ctas}")]
    Ctas {
        /// The CTAs of the grid.
        ctas: u64,
        /// [`Options::cta_limit`].
        limit: u64,
    },
    /// The arguments do not fit the parameters.
    #[error("argument {index} of kernel '{kernel}': {message}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// Which argument, from 0.
        index: usize,
        /// What was expected.
        message: String,
    },
}

/// Checks a launch as a driver does, and finds its kernel.
pub(super) fn check<'a>(
    program: &'a Program,
    launch: &Launch,
    memory: &Memory,
    options: &Options,
) -> Result<&'a Kernel, LaunchError> {
    let kernel = program
        .kernel(&launch.kernel)
        .ok_or_else(|| LaunchError::NoKernel(launch.kernel.clone()))?;
    for (what, compiled, actual) in [
        ("a block", kernel.required_block, launch.block),
        ("a cluster", kernel.required_cluster, launch.cluster),
    ] {
        if let Some(expected) = compiled.filter(|expected| *expected != actual) {
            let kernel = kernel.name.clone();
            return Err(LaunchError::Shape {
                kernel,
                what,
                expected,
                actual,
            });
        }
    }
    let target = options.target;
    let limit = |message: String| Err(LaunchError::Limit(message));
    let threads = THREADS_PER_CTA as u64;
    if !(1..=threads).contains(&count(launch.block)) {
        return limit(format!(
            "expected 1 to {threads} threads of a block, got {}",
            count(launch.block)
        ));
    }
    let ctas = u64::from(target.cluster_size_non_portable);
    if !(1..=ctas).contains(&count(launch.cluster)) {
        let got = count(launch.cluster);
        return limit(format!("expected 1 to {ctas} CTAs of a cluster, got {got}"));
    }
    if launch
        .grid
        .iter()
        .zip(LARGEST_GRID)
        .any(|(extent, most)| *extent > most)
    {
        return limit(format!(
            "expected a grid of at most {LARGEST_GRID:?} CTAs, got {:?}",
            launch.grid
        ));
    }
    if launch
        .grid
        .iter()
        .zip(launch.cluster)
        .any(|(grid, cluster)| grid % cluster != 0)
    {
        let (grid, cluster) = (launch.grid, launch.cluster);
        return limit(format!(
            "expected a grid that clusters of {cluster:?} divide, got {grid:?}"
        ));
    }
    let shared = u64::from(kernel.packed_shared_bytes) + u64::from(launch.shared_bytes);
    let most = u64::from(target.shared_per_cta);
    if shared > most {
        return limit(format!(
            "expected at most {most} bytes of shared memory, got {shared}"
        ));
    }
    if count(launch.grid) > options.cta_limit {
        return Err(LaunchError::Ctas {
            ctas: count(launch.grid),
            limit: options.cta_limit,
        });
    }
    check_arguments(kernel, launch, memory)?;
    Ok(kernel)
}

fn check_arguments(kernel: &Kernel, launch: &Launch, memory: &Memory) -> Result<(), LaunchError> {
    let fail = |index: usize, message: String| {
        let kernel = kernel.name.clone();
        Err(LaunchError::Argument {
            kernel,
            index,
            message,
        })
    };
    let (expected, got) = (kernel.parameters.len(), launch.arguments.len());
    if expected != got {
        return fail(
            got.min(expected),
            format!("expected {expected} arguments, got {got}"),
        );
    }
    for (index, (parameter, argument)) in kernel.parameters.iter().zip(&launch.arguments).enumerate() {
        match (parameter.kind, argument) {
            (ParameterKind::Pointer { align }, Argument::Buffer(buffer)) => {
                let address = memory.address(*buffer);
                if !address.is_multiple_of(u64::from(align.max(1))) {
                    let name = memory.name(*buffer);
                    return fail(index, format!("expected '{name}' to be aligned to {align} bytes"));
                }
            }
            (ParameterKind::Scalar { bits }, Argument::Scalar(value)) => {
                if bits < 64 && value >> bits != 0 {
                    return fail(index, format!("expected a value of {bits} bits, got {value:#x}"));
                }
            }
            (ParameterKind::TensorMap, Argument::TensorMap(map)) => {
                if let Err(fault) = crate::copy::check_map(map, memory.address(map.buffer)) {
                    return fail(index, fault.to_string());
                }
            }
            (kind, _) => return fail(index, format!("expected {}", describe(kind))),
        }
    }
    Ok(())
}

fn describe(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Pointer { .. } => "a buffer".to_owned(),
        ParameterKind::Scalar { bits } => format!("a number of {bits} bits"),
        ParameterKind::TensorMap => "a tensor map".to_owned(),
    }
}

impl Machine<'_> {
    /// Admits the next cluster, which is resident from now on.
    pub(super) fn admit(&mut self) {
        let id = self.schedule.cluster(self.admitted, self.total);
        self.admitted += 1;
        let shape = self.launch.cluster;
        let ctas: u32 = shape.iter().product();
        let threads = ctas * self.block_threads();
        let cluster = Cluster {
            id,
            tag: id as u32,
            ctas: (0..ctas).map(|rank| self.new_cta(id, rank)).collect(),
            threads: (0..threads).map(|agent| Thread::new(id as u32, agent)).collect(),
            agents: HashMap::new(),
            barrier: ClusterBarrier::new(threads as usize),
            copies: Vec::new(),
        };
        self.clusters.push(cluster);
    }

    pub(super) fn block_threads(&self) -> u32 {
        self.launch.block.iter().product()
    }

    /// The grid coordinates of a CTA.
    pub(super) fn cta_place(&self, cluster: u64, rank: u32) -> [u32; 3] {
        let (grid, shape) = (self.launch.grid, self.launch.cluster);
        let clusters: [u64; 3] = std::array::from_fn(|axis| u64::from(grid[axis] / shape[axis]));
        let outer = [
            cluster % clusters[0],
            cluster / clusters[0] % clusters[1],
            cluster / clusters[0] / clusters[1],
        ];
        let inner = [
            rank % shape[0],
            rank / shape[0] % shape[1],
            rank / shape[0] / shape[1],
        ];
        std::array::from_fn(|axis| outer[axis] as u32 * shape[axis] + inner[axis])
    }

    fn new_cta(&mut self, cluster: u64, rank: u32) -> Cta {
        let target = self.options.target;
        let threads = self.block_threads();
        let warps = threads.div_ceil(LANES as u32);
        let unit = REGISTER_UNIT as u32;
        let fair = target.registers_per_sm / (warps * LANES as u32) / unit * unit;
        let registers = self
            .kernel
            .entry_registers
            .unwrap_or(fair)
            .min(target.registers_per_thread);
        let seed = self.schedule.choices.next();
        let mut cta = Cta {
            place: self.cta_place(cluster, rank),
            rank,
            shared: SharedMemory::new(self.kernel, self.launch.shared_bytes, seed),
            warps: Vec::with_capacity(warps as usize),
            barriers: vec![Barrier::default(); BARRIERS as usize],
            mbarriers: Mbarriers::default(),
            ended_phases: HashMap::new(),
            visits: HashMap::new(),
            ended: Clock::new(cluster as u32),
            free_registers: 0,
            warp_instructions: 0,
        };
        for warp in 0..warps {
            let lanes = (threads - warp * LANES as u32).min(LANES as u32);
            let launched = u32::MAX >> (LANES as u32 - lanes);
            let mut warp = Warp::new(self.kernel.registers, launched, registers);
            if self.flows.any() {
                warp.undefined = vec![Undefined::default(); self.kernel.registers as usize];
            }
            for (index, (parameter, argument)) in self
                .kernel
                .parameters
                .iter()
                .zip(&self.launch.arguments)
                .enumerate()
            {
                let value = match argument {
                    Argument::Buffer(buffer) => self.memory.address(*buffer),
                    Argument::Scalar(value) => *value,
                    Argument::TensorMap(_) => PARAMETERS + index as u64 * PARAMETER_STRIDE,
                };
                warp.registers[parameter.register as usize] = [value; LANES];
            }
            cta.warps.push(warp);
        }
        cta
    }
}
