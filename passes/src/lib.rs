//! Every pass of the compiler, one file each, declared in Passes.td.
//!
//! README.md says how a pass is written and added. `norm`, `gl`, `nvvm` and `convert` hold the passes by level; `kernel` and `mlir` hold
//! what they are built from; `schedule` holds what is known of schedules; `table` is generated from Passes.td.

pub mod kernel;
pub mod mlir;
pub mod schedule;

mod convert;
mod gcd;
mod gl;
mod memory_cycles;
mod norm;
mod nvvm;

/// The passes of Passes.td: for each one a type with its options and statistics.
#[allow(
    clippy::derivable_impls,
    reason = "generated alike for every pass, also where each default is its type's"
)]
pub mod table {
    include!(concat!(env!("OUT_DIR"), "/table.rs"));

    /// Adds every pass to MLIR's registry, once for a process: textual pipelines may name them from then on.
    pub fn register_passes() {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(register_each);
    }
}

pub use norm::form_kernels::launching::check as check_launching_functions;
pub use nvvm::contract_sums::FpContract;
pub use table::register_passes;
