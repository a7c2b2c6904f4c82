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
    /// The defaults for a target: from named ops, all choices the compiler's.
    pub fn new(target: &'static Target) -> Self {
        Self {
            target,
            from: Level::Tensor,
            schedules: Vec::new(),
            by_size: false,
            assembled: Vec::new(),
            keep_nvvm: false,
            explain: false,
            ptxas: None,
        }
    }
}
