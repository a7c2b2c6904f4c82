//! Every pass of the compiler, one file each, declared in Passes.td.
//!
//! README.md says how a pass is written and added. `support` is what passes are written with; `table` is generated
//! from Passes.td.

pub mod support;

mod convert_gl_to_nvvm;
mod convert_math_to_nvvm_approx;
mod convert_norm_to_gl;
mod gl_allocate_shared;
mod gl_expand_reductions;
mod gl_insert_barriers;
mod gl_optimize_layouts;
mod gl_vectorize_access;
mod norm_cache_inputs;
mod norm_decompose;
mod norm_form_kernels;
mod norm_hoist_reads;
mod norm_normalize_space;
mod norm_persistent_reduction;
mod norm_select_schedule;
mod norm_tile;
mod nvvm_contract_sums;

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

pub use table::register_passes;
