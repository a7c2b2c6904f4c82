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
    /// Schedules that are not to be chosen, each with the kernel's name: what has been assembled and found to spill, or to
    /// leave an SM fewer CTAs than was expected.
    pub rejected: Vec<(String, String)>,
    /// Whether a bundle keeps the modules of level `nvvm` that its cubins were made of, for a simulator.
    pub keep_nvvm: bool,
    /// Whether passes tell, as remarks among the diagnostics, why they chose what they chose.
    pub explain: bool,
    /// The `ptxas` to assemble with, in place of the linked library or of the one that is found.
    pub ptxas: Option<PathBuf>,
}

impl CompileOptions {
    /// The defaults for a target: from named ops, all choices the compiler's.
    pub fn new(target: &'static Target) -> Self {
        Self {
            target,
            from: Level::Tensor,
            schedules: Vec::new(),
            by_size: false,
            rejected: Vec::new(),
            keep_nvvm: false,
            explain: false,
            ptxas: None,
        }
    }
}
