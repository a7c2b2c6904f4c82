//! The options of a compilation.

use std::path::PathBuf;

use norma_passes::FpContract;

use crate::level::Level;
use crate::target::Target;

/// The options of one compilation, for one target.
#[derive(Debug, Clone)]
pub struct CompileOptions {
    /// The target to compile for.
    pub target: &'static Target,
    /// The level of the input.
    pub from: Level,
    /// Schedules in place of the compiler's choice, each as `norm-select-schedule` takes it: `#norm.schedule<...>` for every
    /// kernel that has none of its own here, `KERNEL=#norm.schedule<...>` for one.
    pub schedules: Vec<String>,
    /// Whether a function with dynamic sizes may get kernels for few points beside the one for many.
    pub by_size: bool,
    /// Whether a row's results must not depend on the number of rows, bit for bit.
    pub batch_invariant: bool,
    /// Whether clusters of more CTAs than every GPU of the architecture has room for are not chosen.
    pub portable_clusters: bool,
    /// The register counts of schedules that have been assembled, which replace the cost model's estimates.
    pub assembled: Vec<Assembled>,
    /// Which sums of products become fma.
    pub fp_contract: FpContract,
    /// Whether a bundle keeps the modules of level `nvvm` from which its cubins were generated, for a simulator.
    pub keep_nvvm: bool,
    /// Whether a bundle keeps the PTX from which its cubins were assembled, for devices that no cubin fits.
    pub keep_ptx: bool,
    /// Whether machine code carries the input's line number of each instruction.
    pub line_info: bool,
    /// Whether passes explain their choices in remarks among the diagnostics.
    pub explain: bool,
    /// The `ptxas` to assemble with, in place of the linked library or of the one found by search.
    pub ptxas: Option<PathBuf>,
}

/// How a kernel with a given schedule assembled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The kernel's name.
    pub kernel: String,
    /// The `#norm.schedule<...>`.
    pub schedule: String,
    /// Registers per thread; `None` if the kernel spills.
    pub registers: Option<u64>,
}

impl Assembled {
    /// Whether the kernel spills registers.
    pub fn spills(&self) -> bool {
        self.registers.is_none()
    }
}

impl CompileOptions {
    /// The options that influence the compiled code, as `normac` takes them. Options that only affect reports, the choice
    /// among assemblers of one release, and results collected during the compilation of a bundle are left out.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![format!("--target={}", self.target.name)];
        if self.from != Level::Tensor {
            arguments.push(format!("--from={}", self.from));
        }
        if self.fp_contract != FpContract::default() {
            arguments.push(format!("--fp-contract={}", self.fp_contract.name()));
        }
        arguments.extend(
            self.schedules
                .iter()
                .map(|schedule| format!("--schedule={schedule}")),
        );
        for (is_set, name) in [
            (self.by_size, "--by-size"),
            (self.batch_invariant, "--batch-invariant"),
            (self.portable_clusters, "--portable-clusters"),
            (self.keep_nvvm, "--keep-nvvm"),
            (self.keep_ptx, "--ptx-fallback"),
            (self.line_info, "--line-info"),
        ] {
            arguments.extend(is_set.then(|| name.to_owned()));
        }
        arguments
    }

    /// The defaults for a target: the input is of level `tensor`, and the compiler makes all choices.
    pub fn new(target: &'static Target) -> Self {
        Self {
            target,
            from: Level::Tensor,
            schedules: Vec::new(),
            by_size: false,
            batch_invariant: false,
            portable_clusters: false,
            assembled: Vec::new(),
            fp_contract: FpContract::default(),
            keep_nvvm: false,
            keep_ptx: false,
            line_info: false,
            explain: false,
            ptxas: None,
        }
    }
}
