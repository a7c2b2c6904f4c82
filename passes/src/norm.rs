//! Passes on `norm`: from named ops to kernels, and the schedule applied to them. One file a pass, named after it.

pub(crate) mod cache_inputs;
pub(crate) mod decompose;
pub(crate) mod differentiate;
pub(crate) mod dispatch_schedules;
pub(crate) mod form_computes;
pub(crate) mod form_kernels;
mod function_scalars;
pub(crate) mod fuse_computes;
pub(crate) mod gather_one_hots;
pub(crate) mod hoist_reads;
mod host_function;
mod kernel_copy;
mod kernel_names;
mod launches;
pub(crate) mod merge_reductions;
pub(crate) mod name_sizes;
pub(crate) mod narrow_comparisons;
pub(crate) mod normalize_space;
pub(crate) mod persistent_reduction;
pub(crate) mod relax_divisions;
pub(crate) mod scale_exponents;
mod scratch_names;
pub(crate) mod select_schedule;
pub(crate) mod shard;
pub(crate) mod split_outputs;
pub(crate) mod split_reductions;
pub(crate) mod tile;
