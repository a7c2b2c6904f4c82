//! Analyses and rewrites of a `norm.kernel` or `norm.compute` that passes share: its iteration space, data flow and accesses, and how to
//! give it another space.

pub mod compute;
pub mod digits;
pub mod extremum;
#[cfg(test)]
pub(crate) mod first_kernel;
pub mod guards;
pub mod homomorphism;
pub mod indices;
pub mod launch_order;
pub mod named_combiner;
pub mod nests;
pub mod positions;
pub mod reductions;
pub mod rows;
pub mod scalar_ops;
pub mod scratch;
pub mod signature;
pub mod space;
pub mod space_rewrite;
