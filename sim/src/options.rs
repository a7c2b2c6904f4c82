//! How a run is scheduled, and how far it goes.

use norma_targets::{SM_90A, Target};

/// Options of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seeds every choice: equal seeds give equal runs.
    pub seed: u64,
    /// How approximate functions err.
    pub approximation: Approximation,
    /// The GPU that the kernels run on, whose resources are the limits.
    pub target: &'static Target,
    /// The number of clusters that are resident at once; more are admitted if these wait for others.
    pub resident_clusters: u32,
    /// Whether bank conflicts and coalescing are counted.
    pub traffic: bool,
    /// Number of warp instructions after which a CTA counts as endless.
    pub instruction_limit: u64,
    /// The most CTAs that a grid may have. A larger launch is refused, because its run would seem to hang.
    pub cta_limit: u64,
    /// The most bytes of buffers that callers should lay out; they refuse more. For each byte of a buffer that is
    /// written the simulator keeps some ten bytes of its own.
    pub byte_limit: u64,
    /// Number of distinct findings after which the run stops.
    pub finding_limit: usize,
}

/// How approximate functions err, within what the PTX ISA documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approximation {
    /// Not at all: the correctly rounded result.
    Exact,
    /// By close to the documented bound, up or down as a hash of the operand says: a kernel must not need more than is
    /// promised.
    #[default]
    Adversarial,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            approximation: Approximation::default(),
            target: &SM_90A,
            resident_clusters: 2,
            traffic: false,
            instruction_limit: 1 << 28,
            cta_limit: 1 << 20,
            byte_limit: 1 << 30,
            finding_limit: 16,
        }
    }
}
