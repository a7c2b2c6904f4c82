//! What a caller may ask of a compilation.

use std::path::PathBuf;

use crate::level::Level;
use crate::target::Target;

/// The options of one compilation, for one target.
#[derive(Debug, Clone)]
pub struct CompileOptions {
    /// What to compile for.
    pub target: &'static Target,
    /// The level that the input is of.
    pub from: Level,
    /// Schedules in place of the compiler's choice, each as `norm-select-schedule` takes it: `#norm.schedule<...>` for every
    /// kernel that has none of its own here, `KERNEL=#norm.schedule<...>` for one.
    pub schedules: Vec<String>,
    /// Whether a function whose sizes only the run knows may get a kernel for few points beside the one for many.
    pub by_size: bool,
    /// Schedules that have been assembled, whose registers the choice takes for what it had estimated.
    pub assembled: Vec<Assembled>,
    /// Whether a bundle keeps the modules of level `nvvm` that its cubins were made of, for a simulator.
    pub keep_nvvm: bool,
    /// Whether a bundle keeps the PTX that its cubins were assembled from, for devices that no cubin fits.
    pub keep_ptx: bool,
    /// Whether machine code says which line of the input each instruction is of.
    pub line_info: bool,
    /// Whether passes tell, as remarks among the diagnostics, why they chose what they chose.
    pub explain: bool,
    /// The `ptxas` to assemble with, in place of the linked library or of the one that is found.
    pub ptxas: Option<PathBuf>,
}

/// What the assembler made of a kernel with a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The kernel's name.
    pub kernel: String,
    /// The `#norm.schedule<...>`.
    pub schedule: String,
    /// Registers of a thread; `None` where some spilled.
    pub registers: Option<u64>,
}

impl Assembled {
    /// Whether some of the kernel's registers spilled.
    pub fn spills(&self) -> bool {
        self.registers.is_none()
    }
}

impl CompileOptions {
    /// The options that decide what is compiled, as `normac` takes them: not what is only told, nor which assembler of one release
    /// assembles, nor what is found out while a bundle is compiled.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![format!("--target={}", self.target.name)];
        if self.from != Level::Tensor {
            arguments.push(format!("--from={}", self.from));
        }
        arguments.extend(
            self.schedules
                .iter()
                .map(|schedule| format!("--schedule={schedule}")),
        );
        for (is_set, name) in [
            (self.by_size, "--by-size"),
            (self.keep_nvvm, "--keep-nvvm"),
            (self.keep_ptx, "--ptx-fallback"),
            (self.line_info, "--line-info"),
        ] {
            arguments.extend(is_set.then(|| name.to_owned()));
        }
        arguments
    }

    /// The defaults for a target: from named ops, all choices the compiler's.
    pub fn new(target: &'static Target) -> Self {
        Self {
            target,
            from: Level::Tensor,
            schedules: Vec::new(),
            by_size: false,
            assembled: Vec::new(),
            keep_nvvm: false,
            keep_ptx: false,
            line_info: false,
            explain: false,
            ptxas: None,
        }
    }
}
