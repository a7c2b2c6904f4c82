//! What passes ask of a `norm.kernel`: its iteration space, data flow and accesses, and how to give it another space.

pub mod reduced_dim;
pub mod space;
pub mod space_rewrite;
